// Requests to the server: JSON in and out, the CSRF token of the session, and problems as errors with words.
import { signal } from '@preact/signals'
import { isGatewayFailure, lostServer } from './reach'

export interface Session {
  kind: 'admin' | 'service'
  tenant: { id: string; name: string } | null
  workspaceId: string | null
  csrfToken: string
  expiresAt: number
}

// undefined: not requested yet; null: not signed in.
export const session = signal<Session | null | undefined>(undefined)

export interface FieldError { pointer: string; message: string }

// What the server said was wrong (application/problem+json), or that it said nothing (status 0).
export class Problem extends Error {
  readonly status: number
  readonly slug: string
  readonly title: string
  readonly requestId: string | null
  readonly errors: FieldError[]
  readonly body: Record<string, unknown>

  constructor(status: number, body: Record<string, unknown>) {
    const title = typeof body.title === 'string' ? body.title : status ? `The server answered ${status}` : 'The server is not reachable'
    const detail = typeof body.detail === 'string' ? body.detail : ''
    super(detail || title)
    this.name = 'Problem'
    this.status = status
    this.title = title
    this.slug = typeof body.type === 'string' ? body.type.split(/[/#]/).pop() ?? '' : ''
    this.requestId = typeof body.request_id === 'string' ? body.request_id : null
    this.errors = Array.isArray(body.errors) ? (body.errors as FieldError[]) : []
    this.body = body
  }

  get unreachable(): boolean { return this.status === 0 }
}

export function wordsOf(error: unknown): string {
  if (error instanceof Problem) {
    const fields = error.errors.map((field) => `${field.pointer || 'body'}: ${field.message}`).join('; ')
    return fields && !error.message.includes(fields) ? `${error.message} (${fields})` : error.message
  }
  return error instanceof Error ? error.message : String(error)
}

export interface Options {
  method?: string
  body?: unknown // sent as JSON, unless it is FormData
  query?: Record<string, string | number | null | undefined>
  headers?: Record<string, string>
  signal?: AbortSignal
}

export function urlOf(path: string, query: Options['query'] = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString()
  return text ? `${path}?${text}` : path
}

export function headersFor(options: Options): Record<string, string> {
  const headers: Record<string, string> = { Accept: 'application/json', ...options.headers }
  const method = options.method ?? 'GET'
  if (method !== 'GET' && method !== 'HEAD' && session.value) headers['X-CSRF-Token'] = session.value.csrfToken
  if (options.body !== undefined && !(options.body instanceof FormData)) headers['Content-Type'] = 'application/json'
  return headers
}

// A sign-in in another tab replaces the session, and its token with it: the token is asked for, and the call made, once
// more.
export async function withToken<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof Problem) || error.slug !== 'csrf') throw error
    session.value = await json<Session>('/console/session', {})
    return call()
  }
}

// The answer when its status is 2xx; a Problem is thrown otherwise. Aborting throws the AbortError as it is.
export function request(path: string, options: Options = {}): Promise<Response> {
  return withToken(() => once(path, options))
}

async function once(path: string, options: Options): Promise<Response> {
  const body = options.body === undefined ? null : options.body instanceof FormData ? options.body : JSON.stringify(options.body)
  let answer: Response
  try {
    answer = await fetch(urlOf(path, options.query), {
      method: options.method ?? 'GET', headers: headersFor(options), body,
      signal: options.signal ?? null, credentials: 'same-origin', cache: 'no-store',
    })
  } catch (error) {
    if (options.signal?.aborted) throw error
    lostServer()
    throw new Problem(0, { title: 'The server is not reachable' })
  }
  if (answer.ok) return answer
  throw await problemOf(answer)
}

export async function problemOf(answer: Response): Promise<Problem> {
  const body = await answer.json().catch(() => ({}))
  if (isGatewayFailure(answer.status) && !body.type) {
    lostServer()
    return new Problem(0, { title: 'The server is not reachable' })
  }
  if (answer.status === 401) session.value = null
  return new Problem(answer.status, body)
}

async function json<T>(path: string, options: Options): Promise<T> {
  const answer = await request(path, options)
  return (answer.status === 204 ? undefined : await answer.json()) as T
}

export const api = {
  get: <T>(path: string, query?: Options['query'], signal?: AbortSignal) => json<T>(path, { query, signal }),
  post: <T>(path: string, body?: unknown, options: Options = {}) => json<T>(path, { ...options, method: 'POST', body: body ?? {} }),
  put: <T>(path: string, body: unknown) => json<T>(path, { method: 'PUT', body }),
  patch: <T>(path: string, body: unknown) => json<T>(path, { method: 'PATCH', body }),
  delete: <T>(path: string) => json<T>(path, { method: 'DELETE' }),
}

// What lists answer with, everywhere.
export interface Page<T> { object: 'list'; data: T[]; has_more: boolean; next_cursor: string | null }
