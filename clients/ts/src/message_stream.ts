// What a caller holds of a message that was sent: its events while they come, and its end.
import { RunFailedError } from './errors.js'
import { Follow } from './follow.js'
import type { FollowOptions, Target } from './follow.js'
import type { ConversationEvent, Message } from './schema.js'
import type { Transport } from './transport.js'

/**
 * The answer to a message. Iterate it for the events, once each and in order, through any number of
 * cuts; await `message()` for the end. Leaving the loop lets go of the connection and changes nothing on
 * the server: the run goes on, and both may be called again to go on reading. (`runs.cancel` ends a run.)
 */
export class MessageStream implements AsyncIterable<ConversationEvent> {
  readonly #follow: Follow
  #reading: Promise<void> | undefined
  #failure: { error: unknown } | undefined

  private constructor(follow: Follow) {
    this.#follow = follow
  }

  /** Resolves once the server has taken the message; rejects with ProblemError when it refuses. */
  static async open(transport: Transport, target: Target, options: FollowOptions): Promise<MessageStream> {
    const follow = new Follow(transport, target, options)
    await follow.begin()
    return new MessageStream(follow)
  }

  /** Of the assistant's message. Where X-Message-Id is hidden (by CORS), known from `message_start` on. */
  get messageId(): string | undefined {
    return this.#follow.messageId
  }

  get runId(): string | undefined {
    return this.#follow.runId
  }

  /** Whether the server knew the idempotency key: this is the stream of a message that was there before. */
  get replayed(): boolean {
    return this.#follow.replayed
  }

  /** The message as it is kept. Rejects with RunFailedError when the run failed. */
  async message(): Promise<Message> {
    while (!this.#follow.outcome) {
      if (this.#failure) throw this.#failure.error
      if (this.#reading) await this.#reading
      else for await (const _ of this) void _
    }
    const outcome = this.#follow.outcome
    if (outcome.kind === 'completed') return outcome.message
    throw new RunFailedError(outcome.problem, outcome.message)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ConversationEvent> {
    if (this.#reading) throw new Error('this stream is being read already')
    if (this.#failure) throw this.#failure.error
    let over = () => {}
    this.#reading = new Promise((resolve) => (over = resolve))
    try {
      yield* this.#follow.events()
    } catch (error) {
      this.#failure = { error }
      throw error
    } finally {
      this.#reading = undefined
      over()
    }
  }
}
