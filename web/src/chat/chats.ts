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

const lookedThroughMax = 10 // pages of the list

// Whether a conversation is a chat. The list is looked through, because asking for a chat that is none is an error in the
// browser's eyes; one that is further down than this has no link.
export async function isChat(id: string, stop: AbortSignal): Promise<boolean> {
  if (chats.value?.some((chat) => chat.id === id)) return true
  let after: string | null = null
  for (let i = 0; i < lookedThroughMax; i++) {
    const page: Page<Chat> = await api.get<Page<Chat>>('/api/assistant/chats', { limit: 100, starting_after: after }, stop)
    if (page.data.some((chat) => chat.id === id)) return true
    after = page.next_cursor
    if (!page.has_more || !after) return false
  }
  return false
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
