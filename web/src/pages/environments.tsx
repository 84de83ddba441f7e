import { Empty, PageFrame } from '../ui/ui'

export default function EnvironmentsPage() {
  return (
    <PageFrame title="Environments">
      <Empty icon="environments" title="Nothing here yet" />
    </PageFrame>
  )
}
