// One message on its way to its end: live, and after any cut until the end is known.
//
// The message is sent once. It is sent again only under its Idempotency-Key, and only while the
// server has not named it: that is the same message to the server, not a second one. Once it has a
// name, the stream is read on (GET …/events?after=), or, where that cannot be, the message is asked
// for until it is over.
import { Connection } from './connection.js'
import { ConnectionLostError, CorruptStreamError, OutcomeUnknownError, UnexpectedAnswerError } from './errors.js'
import { EventStream, isTerminal } from './event_stream.js'
import type { DetailEvent, TerminalEvent } from './event_stream.js'
import { Attempts } from './patience.js'
import type { Approval, ApprovalList, ConversationEvent, Message, Problem } from './schema.js'
import { isLost, isUnwell, optional, problemOf } from './transport.js'
import type { CallOptions, Transport } from './transport.js'

export interface FollowOptions extends CallOptions {
  /** False: after a cut only ask for the message, as the contract has it for servers that cannot read on. */
  reattach?: boolean
  /** Hear of steps, files and the rest, in their order between the events. `seq` counts them too, then. */
  onDetail?: (event: DetailEvent) => void
  /** A gate that is found waiting while there is no stream to tell of it. */
  onApproval?: (approval: Approval) => void
}

export type Target =
  | { send: string; body: string; idempotencyKey: string | null }
  | { messageId: string; after: number }

export type Outcome =
  | { kind: 'completed'; message: Message }
  /** The problem is not known when only the history could be read, the message not when only the stream was. */
  | { kind: 'failed'; problem: Problem | null; message: Message | null }

const ndjson = { accept: 'application/x-ndjson' }

type Step = 'send' | 'attach' | 'poll'

export class Follow {
  messageId: string | undefined
  runId: string | undefined
  replayed = false
  outcome: Outcome | undefined

  readonly #transport: Transport
  readonly #target: Target
  readonly #options: FollowOptions
  readonly #attempts: Attempts
  readonly #approvalsTold = new Set<string>()
  #lastSeq = -1
  #step: Step
  #mayAttach: boolean
  #sentBefore = false
  #open: { connection: Connection; stream: EventStream } | undefined

  constructor(transport: Transport, target: Target, options: FollowOptions) {
    this.#transport = transport
    this.#target = target
    this.#options = options
    this.#attempts = new Attempts(transport.patience, transport.clock)
    this.#mayAttach = options.reattach ?? true
    this.#step = 'send'
    if ('messageId' in target) {
      this.messageId = target.messageId
      this.#lastSeq = target.after
      this.#step = this.#mayAttach ? 'attach' : 'poll'
    }
  }

  /** Until there is a stream to read or the outcome is known. */
  async begin(): Promise<void> {
    while (!this.#open && !this.outcome) {
      try {
        await this.#take(this.#step)
      } catch (error) {
        await this.#recover(error)
      }
    }
  }

  /** Each event once, in order. May be left at any time, and called again to go on. */
  async *events(): AsyncGenerator<ConversationEvent> {
    try {
      while (!this.outcome) {
        await this.begin()
        try {
          yield* this.#read()
        } catch (error) {
          await this.#recover(error)
        }
      }
    } finally {
      this.#leave()
    }
  }

  async #take(step: Step): Promise<void> {
    switch (step) {
      case 'send': return this.#send()
      case 'attach': return this.#attach()
      case 'poll': return this.#poll()
    }
  }

  async #send(): Promise<void> {
    if (!('send' in this.#target)) throw new Error('there is nothing to send')
    const { send, body, idempotencyKey } = this.#target
    const again = this.#sentBefore
    if (again && !idempotencyKey) throw notKnown(undefined)
    this.#sentBefore = true
    const connection = new Connection(this.#transport, this.#options.signal)
    try {
      const call = { method: 'POST', path: send, query: this.#detail(), body, idempotencyKey, headers: ndjson }
      const response = await connection.open((signal) =>
        this.#transport.admitted({ ...call, signal, ...optional('retryAtCapacity', this.#options.retryAtCapacity) }))
      if (!isEventStream(response)) throw new UnexpectedAnswerError(`POST ${send}: the answer is not an event stream`)
      this.#opened(connection, response, 0)
    } catch (error) {
      connection.close()
      // Only the repetition of a request may find a server that is still getting up.
      if (again && isUnwell(error)) throw new ConnectionLostError('the server is not well', { cause: error })
      throw error
    }
  }

  async #attach(): Promise<void> {
    const path = `/v1/messages/${this.messageId}/events`
    const query = { ...this.#detail(), ...optional('after', this.#lastSeq >= 0 ? this.#lastSeq : undefined) }
    const connection = new Connection(this.#transport, this.#options.signal)
    try {
      const response = await connection.open((signal) => this.#transport.ask({ method: 'GET', path, query, headers: ndjson, signal }))
      if (response.ok && isEventStream(response)) return this.#opened(connection, response, this.#lastSeq + 1)
      const problem = await problemOf(response)
      if (problem.status === 401 || problem.status === 403) throw problem
      // A server without re-attach, a message without events, or a power cut that took events we have
      // seen: the history knows.
      if (!isUnwell(problem)) this.#mayAttach = false
      throw new ConnectionLostError(`reading on was answered ${problem.status}`, { cause: problem })
    } catch (error) {
      connection.close()
      throw error
    }
  }

  async #poll(): Promise<void> {
    const { signal } = this.#options
    let message: Message
    try {
      message = await this.#transport.json<Message>({ method: 'GET', path: `/v1/messages/${this.messageId}`, ...optional('signal', signal), retryAtCapacity: false })
    } catch (error) {
      if (isUnwell(error)) throw new ConnectionLostError('the history cannot be read', { cause: error })
      throw error
    }
    this.#attempts.reached()
    if (message.status === 'completed') this.outcome = { kind: 'completed', message }
    else if (message.status === 'failed') this.outcome = { kind: 'failed', problem: null, message }
    else {
      if (message.status === 'awaiting_approval') await this.#tellApprovals(message)
      await this.#attempts.pause(`the message is ${message.status}`, this.messageId, signal)
    }
  }

  async #tellApprovals(message: Message): Promise<void> {
    if (!this.#options.onApproval) return
    const query = { conversation_id: message.conversation_id, status: 'pending' }
    const list = await this.#transport
      .json<ApprovalList>({ method: 'GET', path: '/v1/approvals', query, ...optional('signal', this.#options.signal), retryAtCapacity: false })
      .catch(() => undefined) // asked again with the next look at the message
    this.#options.signal?.throwIfAborted()
    for (const approval of list?.data ?? []) {
      if (approval.message_id !== this.messageId || this.#approvalsTold.has(approval.id)) continue
      this.#approvalsTold.add(approval.id)
      this.#options.onApproval(approval)
    }
  }

  #opened(connection: Connection, response: Response, firstSeq: number): void {
    this.messageId ??= response.headers.get('x-message-id') ?? undefined
    this.runId ??= response.headers.get('x-run-id') ?? undefined
    this.replayed ||= this.#step === 'send' && response.headers.get('idempotency-replayed') === 'true'
    this.#open = { connection, stream: new EventStream(firstSeq) }
    this.#attempts.reached()
  }

  async *#read(): AsyncGenerator<ConversationEvent> {
    if (!this.#open) return
    const { connection, stream } = this.#open
    for await (const bytes of connection.read()) {
      this.#attempts.reached()
      for (const { known, event } of stream.feed(bytes)) {
        if (event.message_id) this.messageId = event.message_id
        // A repeated request is told from its beginning; what was told before is left out.
        if (event.seq <= this.#lastSeq) continue
        this.#lastSeq = event.seq
        this.#attempts.progressed()
        if (!known) {
          this.#options.onDetail?.(event)
          continue
        }
        if (event.type === 'approval_required') this.#approvalsTold.add(event.data.id)
        if (isTerminal(event)) this.#settle(event)
        yield event
        if (this.outcome) return
      }
    }
    throw new ConnectionLostError('the stream ended without its terminal event')
  }

  #settle(event: TerminalEvent): void {
    this.outcome = event.type === 'message_end'
      ? { kind: 'completed', message: event.data.message }
      : { kind: 'failed', problem: event.data, message: null }
  }

  // Decides what comes after a cut, and waits for it to be time. Throws what is no cut.
  async #recover(error: unknown): Promise<void> {
    const step = this.#step
    this.#leave()
    this.#options.signal?.throwIfAborted()
    const corrupt = error instanceof CorruptStreamError
    if (!corrupt && !isLost(error)) throw error
    if (corrupt && step === 'attach') this.#mayAttach = false // the same bytes would come again
    this.#step = this.#stepAfterCut(error)
    await this.#attempts.pause(error, this.messageId, this.#options.signal)
  }

  #stepAfterCut(error: unknown): Step {
    if (this.messageId) return this.#mayAttach ? 'attach' : 'poll'
    if ('send' in this.#target && this.#target.idempotencyKey) return 'send'
    throw notKnown(error)
  }

  #leave(): void {
    this.#open?.connection.close()
    this.#open = undefined
    if (this.messageId && this.#step === 'send') this.#step = this.#mayAttach ? 'attach' : 'poll'
  }

  #detail(): { detail?: string } {
    return this.#options.onDetail ? { detail: 'full' } : {}
  }
}

// To send again could send twice, and the latest message of the history could be another one.
function notKnown(cause: unknown): OutcomeUnknownError {
  return new OutcomeUnknownError('no answer came; the message may or may not have been accepted', undefined, { cause })
}

function isEventStream(response: Response): boolean {
  return response.headers.get('content-type')?.includes('application/x-ndjson') ?? false
}
