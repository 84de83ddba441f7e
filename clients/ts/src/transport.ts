// One request, one answer. Knows the server's address and key, problems, and when a request may be
// made again; streams are read in follow.ts.
import { ConnectionLostError, ProblemError, UnexpectedAnswerError, slugOf } from './errors.js'
import { isObject } from './event_stream.js'
import { Attempts } from './patience.js'
import type { Clock, Patience } from './patience.js'
import type { Problem } from './schema.js'

export interface CallOptions {
  signal?: AbortSignal
  /** At 429 and 503 with Retry-After: wait as long as it says, and try again. Absent, as the client was told. */
  retryAtCapacity?: boolean
}

export interface CreateOptions extends CallOptions {
  /**
   * Makes it safe to ask again when the answer was lost. Made by the client unless given; give your own to
   * be safe across restarts of your program. `null` sends none, and nothing is ever asked twice.
   */
  idempotencyKey?: string | null
}

export interface Call extends CallOptions {
  method: string
  path: string
  query?: object | undefined
  /** Sent as JSON. */
  body?: unknown
  form?: FormData
  headers?: Record<string, string>
  /** Repeated as it is when no answer came. */
  idempotencyKey?: string | null | undefined
}

export interface TransportOptions {
  baseUrl: string
  key?: string | (() => string | Promise<string>) | undefined
  headers?: Record<string, string> | undefined
  credentials?: RequestCredentials | undefined
  fetch: typeof fetch
  clock: Clock
  patience: Patience
  retryAtCapacity: boolean
}

export class Transport {
  readonly #options: TransportOptions
  readonly #baseUrl: string

  constructor(options: TransportOptions) {
    this.#options = options
    this.#baseUrl = options.baseUrl.replace(/\/+$/, '')
  }

  get clock(): Clock {
    return this.#options.clock
  }

  get patience(): Patience {
    return this.#options.patience
  }

  /** Asks once. An answer of any status; ConnectionLostError when there was none. */
  async ask(call: Call): Promise<Response> {
    const { fetch, key, headers, credentials } = this.#options
    const bearer = typeof key === 'function' ? await key() : key
    const init: RequestInit = {
      method: call.method,
      headers: {
        ...headers,
        ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
        ...(call.body !== undefined ? { 'content-type': 'application/json' } : {}),
        ...(call.idempotencyKey ? { 'idempotency-key': call.idempotencyKey } : {}),
        ...call.headers,
      },
      // A string is sent as it stands: a retry under the same key must have the same bytes.
      ...(call.body !== undefined ? { body: typeof call.body === 'string' ? call.body : JSON.stringify(call.body) } : {}),
      ...(call.form ? { body: call.form } : {}),
      ...(credentials ? { credentials } : {}),
      ...(call.signal ? { signal: call.signal } : {}),
    }
    try {
      return await fetch(this.#baseUrl + call.path + queryOf(call.query), init)
    } catch (error) {
      call.signal?.throwIfAborted()
      throw new ConnectionLostError(`${call.method} ${call.path}: no answer`, { cause: error })
    }
  }

  /** An answer that is not an error; waits out a full server where that is asked for. */
  async admitted(call: Call): Promise<Response> {
    const until = this.clock.now() + this.patience.capacityMs
    for (;;) {
      const response = await this.ask(call)
      if (response.ok) return response
      const problem = await problemOf(response)
      const waitMs = (problem.retryAfterSeconds ?? 0) * 1000
      const mayWait = (call.retryAtCapacity ?? this.#options.retryAtCapacity) && (problem.status === 429 || problem.status === 503)
      if (!mayWait || waitMs === 0 || this.clock.now() + waitMs > until) throw problem
      await this.clock.sleep(waitMs, call.signal)
    }
  }

  /** What `read` makes of the answer; with an idempotency key, asked again until there is one. */
  async answer<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    const attempts = new Attempts(this.patience, this.clock)
    for (;;) {
      try {
        return await read(await this.admitted(call))
      } catch (error) {
        if (!call.idempotencyKey || !isLost(error)) throw error
        await attempts.pause(error, undefined, call.signal)
      }
    }
  }

  async json<T>(call: Call): Promise<T> {
    const text = await this.answer(call, async (response) => {
      try {
        return await response.text()
      } catch (error) {
        call.signal?.throwIfAborted()
        throw new ConnectionLostError(`${call.method} ${call.path}: the answer broke off`, { cause: error })
      }
    })
    try {
      return JSON.parse(text) as T
    } catch (error) {
      throw new UnexpectedAnswerError(`${call.method} ${call.path}: the answer is not JSON`, { cause: error })
    }
  }

  async done(call: Call): Promise<void> {
    await this.answer(call, async (response) => response.body?.cancel())
  }
}

/** Whether there was no answer of the server itself: a broken connection, or the error page of something before it. */
export function isLost(error: unknown): boolean {
  if (error instanceof ProblemError) return error.slug === undefined && error.status >= 500
  return error instanceof ConnectionLostError
}

/** Whether it may be otherwise in a while. */
export function isUnwell(error: unknown): boolean {
  return isLost(error) || (error instanceof ProblemError && (error.status >= 500 || error.status === 429))
}

export async function problemOf(response: Response): Promise<ProblemError> {
  const about = {
    ...optional('requestId', response.headers.get('x-request-id') ?? undefined),
    ...optional('retryAfterSeconds', secondsOf(response.headers.get('retry-after'))),
  }
  const text = await response.text().catch(() => '')
  if (response.headers.get('content-type')?.includes('application/problem+json')) {
    try {
      const value: unknown = JSON.parse(text)
      if (isObject(value) && typeof value['type'] === 'string') {
        return new ProblemError({ ...(value as unknown as Problem), status: response.status }, { ...about, ...optional('slug', slugOf(value['type'])) })
      }
    } catch {
      // Told as what it is, below.
    }
  }
  const title = response.statusText || 'an answer that is no problem of a Sluice server'
  return new ProblemError({ type: 'about:blank', title, status: response.status }, about)
}

function secondsOf(retryAfter: string | null): number | undefined {
  if (!retryAfter) return undefined
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000)
  return Number.isFinite(seconds) ? Math.max(1, seconds) : undefined
}

function queryOf(query: object | undefined): string {
  const words = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null) words.set(name, String(value))
  }
  const text = words.toString()
  return text ? `?${text}` : ''
}

/** An object with that member, or without it when there is no value. */
export function optional<Name extends string, Value>(name: Name, value: Value | undefined): { [K in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { [K in Name]?: Value }
}
