// The list of chats, latest first.
import { computed, effect, signal } from '@preact/signals'
import { api, session, type Page } from '../api'
import type { Chat } from './types'

export const chats = signal<Chat[] | null>(null) // null: not loaded yet
export const chatsFailure = signal<unknown>(null)
export const moreChats = signal(false)
const pageSize = 50

// Another tenant, or another person, has other chats.
const whose = computed(() => session.value?.tenant?.id ?? '')
effect(() => {
  void whose.value
  chats.value = null
})

export async function loadChats(): Promise<void> {
  try {
    const page = await api.get<Page<Chat>>('/api/assistant/chats', { limit: Math.min(100, Math.max(pageSize, chats.value?.length ?? 0)) })
    chats.value = page.data
    moreChats.value = page.has_more
    chatsFailure.value = null
  } catch (error) {
    chatsFailure.value = error
  }
}

export async function loadMoreChats(): Promise<void> {
  const last = chats.value?.at(-1)
  if (!last || !moreChats.value) return
  moreChats.value = false // until it is known: the end of the list is seen more than once
  const page = await api.get<Page<Chat>>('/api/assistant/chats', { limit: pageSize, starting_after: last.id }).catch(() => null)
  if (!page) return
  chats.value = [...(chats.value ?? []), ...page.data]
  moreChats.value = page.has_more
}

// What a page learnt about a chat; one that has just begun, or went on, comes first.
export function noteChat(news: Partial<Chat> & { id: string }): void {
  const known = chats.value?.find((chat) => chat.id === news.id)
  const now = Date.now()
  const next: Chat = { object: 'chat', title: '', agentId: '', createdAt: now, running: null, ...known, ...news, updatedAt: news.running === undefined ? known?.updatedAt ?? now : now }
  const others = (chats.value ?? []).filter((chat) => chat.id !== news.id)
  chats.value = news.running === undefined && known ? (chats.value ?? []).map((chat) => (chat.id === news.id ? next : chat)) : [next, ...others]
}

export function forgetChat(id: string): void {
  chats.value = (chats.value ?? []).filter((chat) => chat.id !== id)
}
