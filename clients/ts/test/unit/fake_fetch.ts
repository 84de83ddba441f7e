// A server of the tests' own: it answers what it was told to, in that order, with the faults it was told to have.
import assert from 'node:assert/strict'
import type { Clock, ClientOptions } from '@sluice/client'
import { SluiceClient } from '@sluice/client'

export interface Recorded {
  method: string
  /** With its query. */
  path: string
  headers: Record<string, string>
  body: string | FormData | undefined
}

export interface Faults {
  /** Pieces of this many bytes; absent, everything at once. */
  piece?: number
  /** After this many bytes the connection breaks. */
  cutAt?: number
  /** After this many bytes the body ends, as if it were whole. */
  endAt?: number
  /** After everything, nothing more comes, and no end either. */
  hang?: boolean
}

type Answer = (request: Recorded, signal: AbortSignal | undefined) => Response

export class FakeFetch {
  readonly requests: Recorded[] = []
  readonly #answers: Answer[] = []

  then(...answers: Answer[]): this {
    this.#answers.push(...answers)
    return this
  }

  readonly fetch: typeof fetch = async (input, init) => {
    init?.signal?.throwIfAborted()
    const url = new URL(String(input))
    const request: Recorded = {
      method: init?.method ?? 'GET',
      path: url.pathname + url.search,
      headers: Object.fromEntries(new Headers(init?.headers)),
      body: init?.body as string | FormData | undefined,
    }
    this.requests.push(request)
    const answer = this.#answers.shift()
    if (!answer) throw new Error(`nobody expected ${request.method} ${request.path}`)
    return answer(request, init?.signal ?? undefined)
  }

  /** All that was to be asked for was asked for. */
  assertDone(): void {
    assert.equal(this.#answers.length, 0, `${this.#answers.length} answers were never asked for`)
  }

  /** METHOD path of each request. */
  get asked(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`)
  }
}

export function body(text: string, faults: Faults = {}, headers: Record<string, string> = {}): Answer {
  return (_, signal) => {
    const bytes = new TextEncoder().encode(text)
    const end = Math.min(faults.cutAt ?? bytes.length, faults.endAt ?? bytes.length)
    let at = 0
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        signal?.addEventListener('abort', () => controller.error(signal.reason), { once: true })
      },
      pull(controller) {
        if (at < end) {
          const next = Math.min(end, at + (faults.piece ?? bytes.length))
          controller.enqueue(bytes.slice(at, next))
          at = next
          return undefined
        }
        if (faults.hang) return new Promise<void>(() => {})
        if (faults.cutAt !== undefined) controller.error(new TypeError('terminated'))
        else controller.close()
        return undefined
      },
    })
    return new Response(stream, { status: 200, headers })
  }
}

export const ndjson = (text: string, faults: Faults = {}, headers: Record<string, string> = {}): Answer =>
  body(text, faults, { 'content-type': 'application/x-ndjson', 'x-message-id': 'msg_1', 'x-run-id': 'run_1', ...headers })

export const sse = (text: string, faults: Faults = {}, headers: Record<string, string> = {}): Answer =>
  body(text, faults, { 'content-type': 'text/event-stream', ...headers })

export const json = (value: unknown, status = 200): Answer => () => Response.json(value, { status })

export const noAnswer = (): Answer => () => {
  throw new TypeError('fetch failed')
}

export const page = (status: number): Answer => () => new Response('<html>Bad gateway</html>', { status, headers: { 'content-type': 'text/html' } })

export const problem = (status: number, slug: string, headers: Record<string, string> = {}, more: object = {}): Answer => () =>
  new Response(JSON.stringify({ type: `http://x/problems/${slug}`, title: slug, status, request_id: 'req_1', ...more }), {
    status,
    headers: { 'content-type': 'application/problem+json', 'x-request-id': 'req_1', ...headers },
  })

/** Sleeps take no time, and are written down; alarms ring when they are told to. */
export class FakeClock implements Clock {
  readonly slept: number[] = []
  readonly #alarms = new Set<() => void>()
  #now = 0

  now(): number {
    return this.#now
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    this.slept.push(ms)
    this.#now += ms
  }

  after(_: number, what: () => void): () => void {
    this.#alarms.add(what)
    return () => void this.#alarms.delete(what)
  }

  ring(): void {
    for (const alarm of [...this.#alarms]) alarm()
  }
}

export function clientOf(server: FakeFetch, options: Partial<ClientOptions> = {}): { client: SluiceClient; clock: FakeClock } {
  const clock = new FakeClock()
  return { clock, client: new SluiceClient({ baseUrl: 'http://sluice.test/', key: 'sk_int_test', fetch: server.fetch, clock, ...options }) }
}

/** What an asynchronous iteration gives, until it ends. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
