// Streams of lines (application/x-ndjson): what there is, then live to the end; taken up again where they broke off.
import { headersFor, problemOf, Problem, urlOf, type Options } from '../api'
import { lostServer, untilReachable } from '../reach'

// Whole lines of what has come so far; `rest` is the beginning of the next.
export function splitLines<T>(text: string): { values: T[]; rest: string } {
  const end = text.lastIndexOf('\n') + 1
  const values = text.slice(0, end).split('\n').filter((line) => line.trim()).map((line) => JSON.parse(line) as T)
  return { values, rest: text.slice(end) }
}

interface Following<T> {
  path: string
  query?: Options['query']
  stop: AbortSignal
  onLines: (lines: T[]) => void // once per picture at most
  isLast: (line: T) => boolean
}

// Resolves at the last line, or when the server ends the stream without one and has nothing more.
export async function follow<T>({ path, query, stop, onLines, isLast }: Following<T>): Promise<void> {
  let count = 0
  let over = false
  let waiting: T[] = []
  let frame = 0
  const flush = () => {
    frame = 0
    const lines = waiting
    waiting = []
    if (lines.length && !stop.aborted) onLines(lines)
  }
  const take = (lines: T[]) => {
    count += lines.length
    over ||= lines.some(isLast)
    waiting.push(...lines)
    frame ||= requestAnimationFrame(flush)
  }
  for (let tries = 0; !over && !stop.aborted; tries++) {
    const before = count
    try {
      await readOnce({ path, query: { ...query, after: count ? count - 1 : undefined }, stop }, take)
      if (count === before && tries > 0) break
    } catch (error) {
      if (stop.aborted) return
      if (error instanceof SyntaxError || (error instanceof Problem && !error.unreachable)) throw error
      lostServer()
      await untilReachable(stop)
    }
  }
  cancelAnimationFrame(frame)
  flush()
}

async function readOnce<T>({ path, query, stop }: { path: string; query: Options['query']; stop: AbortSignal }, take: (lines: T[]) => void): Promise<void> {
  const answer = await fetch(urlOf(path, query), { headers: headersFor({ headers: { Accept: 'application/x-ndjson' } }), signal: stop, credentials: 'same-origin', cache: 'no-store' })
  if (!answer.ok || !answer.body) throw await problemOf(answer)
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    const split = splitLines<T>(rest + (value ?? '') + (done && rest ? '\n' : ''))
    rest = split.rest
    if (split.values.length) take(split.values)
    if (done) return
  }
}
