import { Empty, PageFrame } from '../ui/ui'

export default function TenantsPage() {
  return (
    <PageFrame title="Tenants & keys">
      <Empty icon="tenants" title="Nothing here yet" />
    </PageFrame>
  )
}
