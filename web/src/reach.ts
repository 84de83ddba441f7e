// Whether the server can be reached. Failed requests are reported here; from then on this asks until it answers,
// and everything that was loaded from it is loaded again.
import { signal } from '@preact/signals'

export const reachable = signal(true)
export const recoveries = signal(0) // how often it has come back: a dependency of whatever loads

const firstWaitMs = 500
const longestWaitMs = 5000
let probing = false

export function lostServer(): void {
  reachable.value = false
  if (probing) return
  probing = true
  void probe(firstWaitMs)
}

async function probe(waitMs: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, waitMs))
  if (await answers()) {
    probing = false
    reachable.value = true
    recoveries.value++
    return
  }
  void probe(Math.min(waitMs * 2, longestWaitMs))
}

// A gateway in front of a stopped server answers 502 to 504 in its place.
export function isGatewayFailure(status: number): boolean {
  return status >= 502 && status <= 504
}

async function answers(): Promise<boolean> {
  try {
    const answer = await fetch('/console/session', { cache: 'no-store', signal: AbortSignal.timeout(4000) })
    return !isGatewayFailure(answer.status)
  } catch {
    return false
  }
}

// Resolves when the server can be reached, or when `stop` is aborted.
export function untilReachable(stop?: AbortSignal): Promise<void> {
  if (reachable.value) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => { unsubscribe(); resolve() }
    const unsubscribe = reachable.subscribe((is) => { if (is) queueMicrotask(done) })
    stop?.addEventListener('abort', done, { once: true })
  })
}
