// One turn of a chat: its frames once each and in order, through any number of cuts, to `done`.
//
// A turn is begun once. The Assistant takes no idempotency key, so a turn whose answer was lost before
// it had a name is not begun again: look at the chat.
import type { AssistantData, AssistantEvent, AssistantEventType, AssistantMessage, AssistantTurn } from './assistant_types.js'
import { Connection } from './connection.js'
import { ConnectionLostError, CorruptStreamError, OutcomeUnknownError, RunFailedError, UnexpectedAnswerError } from './errors.js'
import { Attempts } from './patience.js'
import { FrameStream } from './sse.js'
import type { Frame } from './sse.js'
import { isLost, isUnwell, optional } from './transport.js'
import type { Call, CallOptions, Transport } from './transport.js'

const path = '/api/assistant/chat/stream'
const sse = { accept: 'text/event-stream' }
const knownTypes: Record<AssistantEventType, true> = {
  chat: true, queued: true, delta: true, replace: true, reasoning: true, filler: true, step: true, output: true, file: true,
  diff: true, approval: true, custom: true, subagent: true, result: true, error: true, done: true,
}

export type TurnTarget = { request: AssistantTurn } | { streamId: string; after: number }

export class TurnStream implements AsyncIterable<AssistantEvent> {
  chatId: string | undefined
  streamId: string | undefined
  readonly #transport: Transport
  readonly #options: CallOptions
  readonly #attempts: Attempts
  #lastId = -1
  #connection: Connection | undefined
  #result: AssistantMessage | undefined
  #error: AssistantData['error'] | undefined
  #isDone = false

  private constructor(transport: Transport, options: CallOptions) {
    this.#transport = transport
    this.#options = options
    this.#attempts = new Attempts(transport.patience, transport.clock)
  }

  static async open(transport: Transport, target: TurnTarget, options: CallOptions): Promise<TurnStream> {
    const turn = new TurnStream(transport, options)
    if ('request' in target) {
      await turn.#begin(target.request)
    } else {
      turn.streamId = target.streamId
      turn.#lastId = target.after
      await turn.#attach()
    }
    return turn
  }

  /** The answer as it is kept. Rejects with RunFailedError when the turn failed or was stopped. */
  async result(): Promise<AssistantMessage> {
    for await (const _ of this) void _
    if (this.#result) return this.#result
    const { code = 'internal', message = 'the turn ended without a result', status = 500 } = this.#error ?? {}
    throw new RunFailedError({ type: `/problems/${code}`, title: message, status }, null)
  }

  /** May be left and called again to go on. With `onDisconnect: 'cancel'` the server ends a turn that nobody reads. */
  async *[Symbol.asyncIterator](): AsyncGenerator<AssistantEvent> {
    try {
      while (!this.#isDone) {
        try {
          if (!this.#connection) await this.#attach()
          yield* this.#read(this.#connection!)
        } catch (error) {
          await this.#recover(error)
        }
      }
    } finally {
      this.#leave()
    }
  }

  async #begin(request: AssistantTurn): Promise<void> {
    try {
      await this.#open({ method: 'POST', path, body: request, headers: sse, ...optional('retryAtCapacity', this.#options.retryAtCapacity) })
    } catch (error) {
      this.#options.signal?.throwIfAborted()
      if (!isLost(error)) throw error
      throw new OutcomeUnknownError('no answer came; the turn may or may not have been begun', undefined, { cause: error })
    }
  }

  async #attach(): Promise<void> {
    if (!this.streamId) throw new OutcomeUnknownError('the turn was cut before it had a name', undefined)
    const query = { streamId: this.streamId, ...optional('after', this.#lastId >= 0 ? this.#lastId : undefined) }
    try {
      await this.#open({ method: 'GET', path, query, headers: sse, retryAtCapacity: false })
    } catch (error) {
      if (isUnwell(error)) throw new ConnectionLostError('the stream cannot be read on', { cause: error })
      throw error
    }
  }

  async #open(call: Call): Promise<void> {
    const connection = new Connection(this.#transport, this.#options.signal)
    try {
      const response = await connection.open((signal) => this.#transport.admitted({ ...call, signal }))
      if (!response.headers.get('content-type')?.includes('text/event-stream')) {
        throw new UnexpectedAnswerError(`${call.method} ${path}: the answer is not an event stream`)
      }
      this.chatId ??= response.headers.get('x-chat-id') ?? undefined
      this.streamId ??= response.headers.get('x-stream-id') ?? undefined
      this.#connection = connection
      this.#attempts.reached()
    } catch (error) {
      connection.close()
      throw error
    }
  }

  async *#read(connection: Connection): AsyncGenerator<AssistantEvent> {
    const frames = new FrameStream()
    for await (const bytes of connection.read()) {
      this.#attempts.reached()
      for (const frame of frames.feed(bytes)) {
        const event = this.#take(frame)
        if (event) yield event
        if (this.#isDone) return
      }
    }
    throw new ConnectionLostError('the stream ended without its last frame')
  }

  #take(frame: Frame): AssistantEvent | undefined {
    const id = Number(frame.id)
    if (id !== this.#lastId + 1) throw new CorruptStreamError(`expected frame ${this.#lastId + 1}, got ${frame.id}`)
    const data = parse(frame.data)
    this.#lastId = id
    this.#attempts.progressed()
    if (!Object.hasOwn(knownTypes, frame.event)) return undefined
    const event = { id, type: frame.event, data } as AssistantEvent
    if (event.type === 'chat') {
      this.chatId = event.data.chatId
      this.streamId = event.data.streamId
    }
    if (event.type === 'result') this.#result = event.data.message
    if (event.type === 'error') this.#error = event.data
    this.#isDone = event.type === 'done'
    return event
  }

  async #recover(error: unknown): Promise<void> {
    this.#leave()
    this.#options.signal?.throwIfAborted()
    if (!(error instanceof CorruptStreamError) && !isLost(error)) throw error
    await this.#attempts.pause(error, undefined, this.#options.signal)
  }

  #leave(): void {
    this.#connection?.close()
    this.#connection = undefined
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    throw new CorruptStreamError('a frame is not JSON')
  }
}
