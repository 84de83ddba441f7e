// How long to wait for a server that is away, and when to believe that it stays away.
import { OutcomeUnknownError } from './errors.js'

export interface Patience {
  /** Between two attempts after a cut: doubled each time, up to retryMaxMs, and anew after every event. */
  retryFirstMs: number
  retryMaxMs: number
  /** Of not reaching the server at all, in the first place. */
  reachMs: number
  /** Of not reaching it again. */
  giveUpMs: number
  /** Of silence in a stream, after which it counts as cut and is attached anew. */
  idleMs: number
  /** Of waiting for a place, where a call asks to be tried again at capacity. */
  capacityMs: number
}

export const defaultPatience: Patience = {
  retryFirstMs: 250,
  retryMaxMs: 5_000,
  reachMs: 15_000,
  giveUpMs: 600_000,
  idleMs: 300_000,
  capacityMs: 120_000,
}

/** Time, so that tests need not wait for it. */
export interface Clock {
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Runs `what` later unless the returned function is called before. */
  after(ms: number, what: () => void): () => void
}

export const realClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal!.reason)
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }, ms)
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
  after: (ms, what) => {
    const timer = setTimeout(what, ms)
    return () => clearTimeout(timer)
  },
}

/** The waits between the attempts of one undertaking. */
export class Attempts {
  #waitMs: number
  #reachedAt: number
  #reachedOnce = false

  constructor(
    private readonly patience: Patience,
    private readonly clock: Clock,
  ) {
    this.#waitMs = patience.retryFirstMs
    this.#reachedAt = clock.now()
  }

  /** The server made sense. */
  reached(): void {
    this.#reachedAt = this.clock.now()
    this.#reachedOnce = true
  }

  /** Something came of it: the next cut is a first one again. */
  progressed(): void {
    this.reached()
    this.#waitMs = this.patience.retryFirstMs
  }

  /** Waits before the next attempt, or throws when it has been long enough. */
  async pause(why: unknown, messageId: string | undefined, signal?: AbortSignal): Promise<void> {
    const awayMs = this.clock.now() - this.#reachedAt
    if (awayMs >= (this.#reachedOnce ? this.patience.giveUpMs : this.patience.reachMs)) {
      const reason = why instanceof Error ? why.message : String(why)
      throw new OutcomeUnknownError(`${reason}; gave up after ${Math.round(awayMs / 1000)} s`, messageId, { cause: why })
    }
    // Half of it by chance: a server that was restarted is not to meet all its clients at once.
    const waitMs = this.#waitMs * (0.5 + Math.random() / 2)
    this.#waitMs = Math.min(this.#waitMs * 2, this.patience.retryMaxMs)
    await this.clock.sleep(waitMs, signal)
  }
}
