import { Empty, PageFrame } from '../ui/ui'

export default function WorkflowsPage() {
  return (
    <PageFrame title="Workflows">
      <Empty icon="workflows" title="Nothing here yet" />
    </PageFrame>
  )
}
