import { Empty, PageFrame } from '../ui/ui'

export default function RunsPage() {
  return (
    <PageFrame title="Runs">
      <Empty icon="runs" title="Nothing here yet" />
    </PageFrame>
  )
}
