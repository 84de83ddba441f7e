// What can go wrong, one class each. Whatever this package throws is one of these, or the reason of
// the caller's own AbortSignal.
import type { KnownSlug, Message, Problem } from './schema.js'

export class SluiceError extends Error {
  override name = 'SluiceError'
}

/** The last part of a problem's type; a server that is newer than this package may have others. */
export type Slug = KnownSlug | (string & {})

/** The server, or something before it, refused: nothing was begun by this call. */
export class ProblemError extends SluiceError {
  override name = 'ProblemError'
  readonly status: number
  /** Absent when the answer was no problem of a Sluice server, as a proxy's error page. */
  readonly slug: Slug | undefined
  /** With whatever members the problem has besides those of every problem. */
  readonly problem: Problem & Record<string, unknown>
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(problem: Problem & Record<string, unknown>, about: { slug?: string; requestId?: string; retryAfterSeconds?: number }) {
    super(`${problem.status} ${problem.title}${problem.detail ? `: ${problem.detail}` : ''}`)
    this.status = problem.status
    this.slug = about.slug
    this.problem = problem
    this.requestId = about.requestId ?? problem.request_id
    this.retryAfterSeconds = about.retryAfterSeconds
  }
}

/** The message was taken, and its run failed, was denied, expired or was cancelled. */
export class RunFailedError extends SluiceError {
  override name = 'RunFailedError'
  readonly slug: Slug | undefined

  /** `problem` is null where only the history could be read: it keeps the message, not the reason. */
  constructor(
    readonly problem: Problem | null,
    readonly failedMessage: Message | null,
  ) {
    super(problem ? `${problem.title}${problem.detail ? `: ${problem.detail}` : ''}` : 'the run failed; the history does not say why')
    this.slug = problem ? slugOf(problem.type) : undefined
  }
}

/** The server could not be reached, or not again. What was sent may have been taken, and its run may go on. */
export class OutcomeUnknownError extends SluiceError {
  override name = 'OutcomeUnknownError'

  constructor(
    why: string,
    readonly messageId: string | undefined,
    options?: ErrorOptions,
  ) {
    super(why, options)
  }
}

/** What came is not what was asked for, however often one asks: perhaps the address is not a Sluice server's. */
export class UnexpectedAnswerError extends SluiceError {
  override name = 'UnexpectedAnswerError'
}

/** A gap, a line that is not an event, anything after the terminal event. The stream counts as cut. */
export class CorruptStreamError extends SluiceError {
  override name = 'CorruptStreamError'
}

/** No answer came, or it broke off. Told to callers only as the cause of an OutcomeUnknownError. */
export class ConnectionLostError extends SluiceError {
  override name = 'ConnectionLostError'
}

export function slugOf(type: string): string | undefined {
  return /\/problems\/([a-z0-9-]+)$/.exec(type)?.[1]
}
