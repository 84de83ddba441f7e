// Messages that were written while an answer is still coming. They stay in this tab, are sent one after another when the
// answer has ended, and are gone when the tab is.
import { signal } from '@preact/signals'
import type { Attachment } from './attachments'

export interface Waiting { key: number; text: string; attachments: Attachment[]; failure: string } // failure: why sending it was refused

export const waitingMax = 10

const kept = new Map<string, Waiting[]>() // by chat: what waits while another page is open
let next = 1

export class Outbox {
  readonly all = signal<Waiting[]>([])
  private keptUnder: string | null = null

  constructor(chatId: string | null) {
    if (!chatId) return
    this.all.value = kept.get(chatId) ?? []
    kept.delete(chatId)
  }

  // The chat is left: what waits is there again when it is opened the next time.
  keep(chatId: string | null): void {
    this.keptUnder = chatId
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
    if (!this.keptUnder) return
    if (all.length) kept.set(this.keptUnder, all)
    else kept.delete(this.keptUnder)
  }
}
