import { Empty, PageFrame } from '../ui/ui'

export default function CapacityPage() {
  return (
    <PageFrame title="Capacity">
      <Empty icon="capacity" title="Nothing here yet" />
    </PageFrame>
  )
}
