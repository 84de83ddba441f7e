import { Empty, PageFrame } from '../ui/ui'

export default function TablesPage() {
  return (
    <PageFrame title="Tables">
      <Empty icon="tables" title="Nothing here yet" />
    </PageFrame>
  )
}
