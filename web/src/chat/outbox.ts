// Messages that were written while an answer is still coming. They stay in this tab, are sent one after another when the
// answer has ended, and are gone when the tab is. A tab that was loaded again still has them, but sends none before a
// person says so: a tab that was duplicated has them too.
import { signal } from '@preact/signals'
import type { Attachment } from './attachments'
import type { BagFile } from './types'

export interface Waiting { key: number; text: string; attachments: Attachment[]; failure: string } // failure: why sending it was refused

export const waitingMax = 10

const kept = new Map<string, Waiting[]>() // by chat: what waits while another page is open
const seen = new Set<string>() // chats of which this page knows better than the tab's storage what waits
const storageKey = 'sluice.waiting'
const reloaded = 'The page was loaded again.'
let next = 1
let nextRestored = -1 // of a file that another page load has numbered

interface Stored { text: string; files: BagFile[] }

// Storage may be forbidden, full, or have what another version wrote: then what waits is as lasting as the page.
function readStored(): Record<string, Stored[]> {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey) ?? '{}') as Record<string, Stored[]>
  } catch {
    return {}
  }
}

function store(chatId: string, all: Waiting[]): void {
  try {
    const { [chatId]: before, ...others } = readStored()
    if (!all.length && !before) return
    const files = (one: Waiting) => one.attachments.flatMap((attachment) => attachment.file ?? [])
    const chats = all.length ? { ...others, [chatId]: all.map((one) => ({ text: one.text, files: files(one) })) } : others
    if (Object.keys(chats).length) sessionStorage.setItem(storageKey, JSON.stringify(chats))
    else sessionStorage.removeItem(storageKey)
  } catch { /* as above */ }
}

function restored(chatId: string): Waiting[] {
  if (seen.has(chatId)) return []
  const found = readStored()[chatId]
  if (!Array.isArray(found)) return []
  return found.slice(0, waitingMax).map(({ text, files }, i) => ({
    key: next++, text: String(text), failure: i === 0 ? reloaded : '',
    attachments: (Array.isArray(files) ? files : []).map((file) => ({ key: nextRestored--, name: file.name, size: file.size, progress: 1, file, failure: '', cancel: () => {} })),
  }))
}

// Signing out removes everything from the tab.
export function forgetWaiting(): void {
  kept.clear()
  try {
    sessionStorage.removeItem(storageKey)
  } catch { /* there is none */ }
}

export class Outbox {
  readonly all = signal<Waiting[]>([])
  private isLeft = false

  constructor(private chatId: string | null) {
    if (!chatId) return
    this.all.value = kept.get(chatId) ?? restored(chatId)
    seen.add(chatId)
    kept.delete(chatId)
  }

  // A new chat got its id.
  name(chatId: string): void {
    this.chatId = chatId
    seen.add(chatId)
    this.set(this.all.peek())
  }

  // The chat is left: what waits is there again when it is opened the next time.
  leave(): void {
    this.isLeft = true
    this.set(this.all.peek())
  }

  get hasRoom(): boolean { return this.all.peek().length < waitingMax }

  add(text: string, attachments: Attachment[]): void {
    this.set([...this.all.peek(), { key: next++, text, attachments, failure: '' }])
  }

  // The first message, which leaves the list; nothing when a person has to decide about it.
  takeNext(): Waiting | null {
    const first = this.all.peek()[0]
    return first && !first.failure ? this.take(first.key) : null
  }

  take(key: number): Waiting | null {
    const found = this.all.peek().find((one) => one.key === key) ?? null
    this.set(this.all.peek().filter((one) => one.key !== key))
    return found
  }

  putBack(one: Waiting, failure: string): void { this.set([{ ...one, failure }, ...this.all.peek()]) }

  // Nothing is sent before a person says so.
  hold(reason: string): void { this.set(this.all.peek().map((one, i) => (i === 0 ? { ...one, failure: reason } : one))) }

  release(): void { this.hold('') }

  private set(all: Waiting[]): void {
    this.all.value = all
    if (!this.chatId) return
    store(this.chatId, all)
    if (!this.isLeft) return
    if (all.length) kept.set(this.chatId, all)
    else kept.delete(this.chatId)
  }
}
