// Follows a turn from its first frame to `done`, through lost connections: after each it attaches again where it was.
import { headersFor, Problem, problemOf, urlOf, withToken } from '../api'
import { lostServer, untilReachable } from '../reach'
import { SseParser } from './sse'
import type { Frame } from './types'

export interface Follower {
  onFrames: (frames: Frame[]) => boolean // false: one is missing, and the rest was not taken
  onLink: (link: 'live' | 'lost') => void
  lastId: () => number // of the last frame that was taken
  stop: AbortSignal
}

const streamPath = '/api/assistant/chat/stream'
const waitsMs = [0, 250, 500, 1000, 2000, 4000]

export interface TurnRequest {
  message: string
  chatId?: string
  agentId?: string
  attachmentIds?: string[]
  onDisconnect: 'keep'
}

// Starts a turn and follows it. Throws a Problem when the server refuses it: nothing has been started then, unless the
// server could not be reached (`unreachable`), when the outcome is unknown.
export async function startTurn(body: TurnRequest, follower: Follower): Promise<void> {
  const options = { method: 'POST', body, headers: { Accept: 'text/event-stream' } }
  const answer = await withToken(() =>
    open(streamPath, { method: 'POST', headers: headersFor(options), body: JSON.stringify(body) }, follower.stop))
  const streamId = answer.headers.get('X-Stream-Id')
  const whole = await read(answer, follower)
  if (whole) return
  if (!streamId) throw new Error('The answer broke off before it began.')
  await attachTurn(streamId, follower)
}

export async function attachTurn(streamId: string, follower: Follower): Promise<void> {
  for (let tries = 0; !follower.stop.aborted; tries++) {
    const before = follower.lastId()
    try {
      const after = before >= 0 ? before : null
      const answer = await open(urlOf(streamPath, { streamId, after }), { headers: { Accept: 'text/event-stream' } }, follower.stop)
      if (await read(answer, follower)) return
    } catch (error) {
      if (follower.stop.aborted) return
      if (error instanceof Problem && !error.unreachable && error.status < 500 && error.status !== 429) throw error
    }
    if (follower.lastId() > before) tries = 0
    follower.onLink('lost')
    await pause(waitsMs[Math.min(tries, waitsMs.length - 1)]!, follower.stop)
    await untilReachable(follower.stop)
  }
}

async function open(url: string, init: RequestInit, stop: AbortSignal): Promise<Response> {
  let answer: Response
  try {
    answer = await fetch(url, { ...init, signal: stop, credentials: 'same-origin', cache: 'no-store' })
  } catch (error) {
    if (stop.aborted) throw error
    lostServer()
    throw new Problem(0, {})
  }
  if (!answer.ok) throw await problemOf(answer)
  return answer
}

// True when the stream was read to its end; false when it broke off, or a frame was missing.
async function read(answer: Response, follower: Follower): Promise<boolean> {
  if (answer.status === 204) throw new Problem(410, { title: 'The answer is over.' }) // nothing comes after what was taken
  follower.onLink('live')
  const parser = new SseParser()
  const reader = answer.body!.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done || follower.stop.aborted) return follower.stop.aborted
      const frames = parser.push(value)
      if (!frames.length) continue
      if (!follower.onFrames(frames)) return false
      if (frames[frames.length - 1]!.event === 'done') return true
    }
  } catch {
    return follower.stop.aborted
  } finally {
    reader.cancel().catch(() => {})
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    stop.addEventListener('abort', () => { clearTimeout(timer); resolve() }, { once: true })
  })
}
