// The list of chats, latest first.
import { computed, effect, signal } from '@preact/signals'
import { api, session, type Page } from '../api'
import type { Chat } from './types'

export const chats = signal<Chat[] | null>(null) // null: not loaded yet
export const chatsFailure = signal<unknown>(null)
export const moreChats = signal(false)
const pageSize = 50
let moreAfter: string | null = null // where the next page of the list begins

export type Wait = 'approval' | 'slot'
export const waits = signal<ReadonlyMap<string, Wait>>(new Map()) // by chat: what its run waits for, if it does not work
const waitOfState: Record<string, Wait> = { parked: 'approval', held: 'slot' }

// Another tenant, or another person, has other chats.
const whose = computed(() => session.value?.tenant?.id ?? '')
effect(() => {
  void whose.value
  chats.value = null
  waits.value = new Map()
})

export async function loadChats(): Promise<void> {
  try {
    const page = await api.get<Page<Chat>>('/api/assistant/chats', { limit: Math.min(100, Math.max(pageSize, chats.value?.length ?? 0)) })
    chats.value = page.data
    moreChats.value = page.has_more
    moreAfter = page.next_cursor
    chatsFailure.value = null
    await loadWaits()
  } catch (error) {
    chatsFailure.value = error
  }
}

// The list of chats says which of them have a run; the runs say which of those wait.
async function loadWaits(): Promise<void> {
  if (!chats.value?.some((chat) => chat.running)) {
    waits.value = new Map()
    return
  }
  const runs = await api.get<Page<{ conversation_id: string; state: string }>>('/v1/runs', { state: Object.keys(waitOfState).join(','), limit: 100 })
  waits.value = new Map(runs.data.flatMap((run) => { const wait = waitOfState[run.state]; return wait ? [[run.conversation_id, wait]] : [] }))
}

// A stream knows it sooner than the next request.
export function noteWait(id: string, wait: Wait | null): void {
  if ((waits.value.get(id) ?? null) === wait) return
  const next = new Map(waits.value)
  if (wait) next.set(id, wait)
  else next.delete(id)
  waits.value = next
}

export async function loadMoreChats(): Promise<void> {
  if (!moreAfter || !moreChats.value) return
  moreChats.value = false // until it is known: the end of the list is seen more than once
  const page = await api.get<Page<Chat>>('/api/assistant/chats', { limit: pageSize, starting_after: moreAfter }).catch(() => null)
  if (!page) return
  chats.value = [...(chats.value ?? []), ...page.data]
  moreChats.value = page.has_more
  moreAfter = page.next_cursor
}

// Whether a conversation is a chat. A request for a chat that does not exist is an error in the browser's eyes, so the list
// is read at the place of the conversation, which may be a cursor whatever it is: first the chat before it, then the chat
// that follows that one.
export async function isChat(id: string, stop: AbortSignal): Promise<boolean> {
  if (chats.value?.some((chat) => chat.id === id)) return true
  const page = (query: { ending_before?: string; starting_after?: string }) => api.get<Page<Chat>>('/api/assistant/chats', { limit: 1, ...query }, stop)
  const before = await page({ ending_before: id })
  const previous = before.data[0]
  const found = await page(previous ? { starting_after: before.next_cursor ?? previous.id } : {})
  return found.data[0]?.id === id
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
