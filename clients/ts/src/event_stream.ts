// The parsing recipe of the streaming contract: partial reads, blank lines, unknown types, seq, the
// terminal rule. Pure: bytes in, events out; where they come from is follow.ts.
import { CorruptStreamError } from './errors.js'
import { LineSplitter } from './lines.js'
import { conversationEventTypes } from './schema.js'
import type { ConversationEvent, ErrorEvent, MessageEndEvent } from './schema.js'

/** What an agent does besides talking; see docs/formats/events.md for the types and their data. */
export interface DetailEvent {
  type: string
  conversation_id: string
  message_id: string | null
  seq: number
  data: Record<string, unknown>
  created_at: string
}

export type TerminalEvent = MessageEndEvent | ErrorEvent

export type Line =
  | { known: true; event: ConversationEvent }
  /** A type that is not in the contract. To be skipped, unless details were asked for. */
  | { known: false; event: DetailEvent }

const knownTypes: ReadonlySet<string> = new Set(conversationEventTypes)

export function isTerminal(event: ConversationEvent): event is TerminalEvent {
  return event.type === 'message_end' || event.type === 'error'
}

export class EventStream {
  readonly #lines = new LineSplitter()
  #expectedSeq: number
  #terminalSeen = false

  constructor(firstSeq = 0) {
    this.#expectedSeq = firstSeq
  }

  /** True once the terminal event has come. A stream that closes before was cut. */
  get complete(): boolean {
    return this.#terminalSeen
  }

  /**
   * The events completed by these bytes. Throws CorruptStreamError where the stream cannot be believed any
   * more; what was told before stands, and is the same however the bytes were split.
   */
  *feed(bytes: Uint8Array): Generator<Line> {
    for (const line of this.#lines.feed(bytes)) {
      if (line.trim() !== '') yield this.#read(line)
    }
  }

  #read(text: string): Line {
    if (this.#terminalSeen) throw new CorruptStreamError('a line follows the terminal event')
    const event = parseObject(text)
    const { type, seq, data } = event
    if (typeof type !== 'string' || typeof seq !== 'number' || !isObject(data)) {
      throw new CorruptStreamError('a line has no type, no seq or no data')
    }
    if (seq !== this.#expectedSeq) throw new CorruptStreamError(`expected seq ${this.#expectedSeq}, got ${seq}`)
    this.#expectedSeq += 1
    if (!knownTypes.has(type)) return { known: false, event: event as unknown as DetailEvent }
    const known = event as unknown as ConversationEvent
    if (known.type === 'message_end' && !isObject(known.data.message)) throw new CorruptStreamError('message_end has no message')
    this.#terminalSeen = isTerminal(known)
    return { known: true, event: known }
  }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Said below.
  }
  throw new CorruptStreamError('a line is not a JSON object')
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
