// Tells the other tabs of this browser that a turn began or ended, so that they show it too.
export interface TabNews { chatId: string; streamId: string | null }

const channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('sluice-chats')

export function tellTabs(news: TabNews): void {
  channel?.postMessage(news)
}

export function onTabs(heard: (news: TabNews) => void): () => void {
  const listen = (event: MessageEvent<TabNews>) => heard(event.data)
  channel?.addEventListener('message', listen)
  return () => channel?.removeEventListener('message', listen)
}
