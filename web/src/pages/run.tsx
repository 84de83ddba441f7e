import { Empty, PageFrame } from '../ui/ui'

export default function RunPage() {
  return (
    <PageFrame title="Run">
      <Empty icon="runs" title="Nothing here yet" />
    </PageFrame>
  )
}
