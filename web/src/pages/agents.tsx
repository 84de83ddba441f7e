import { Empty, PageFrame } from '../ui/ui'

export default function AgentsPage() {
  return (
    <PageFrame title="Agents">
      <Empty icon="agents" title="Nothing here yet" />
    </PageFrame>
  )
}
