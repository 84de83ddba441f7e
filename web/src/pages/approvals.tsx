import { Empty, PageFrame } from '../ui/ui'

export default function ApprovalsPage() {
  return (
    <PageFrame title="Approvals">
      <Empty icon="approvals" title="Nothing here yet" />
    </PageFrame>
  )
}
