import { Empty, PageFrame } from '../ui/ui'

export default function SecretsPage() {
  return (
    <PageFrame title="Secrets">
      <Empty icon="secrets" title="Nothing here yet" />
    </PageFrame>
  )
}
