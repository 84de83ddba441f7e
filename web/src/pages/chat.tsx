import { Empty, PageFrame } from '../ui/ui'

export default function ChatPage() {
  return (
    <PageFrame title="Chat">
      <Empty icon="chat" title="Nothing here yet" />
    </PageFrame>
  )
}
