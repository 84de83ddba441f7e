// Data that a page shows: loaded when it opens, again when the server has come back, and on demand.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { Problem } from './api'
import { recoveries } from './reach'

export interface Loaded<T> {
  data: T | undefined
  error: Problem | Error | undefined
  loading: boolean
  reload: () => void
  set: (data: T) => void
}

// `fetcher` is called anew whenever one of `deps` changes; what an older call brings is dropped. Data stays on show while
// it is loaded again.
export function useLoad<T>(fetcher: (stop: AbortSignal) => Promise<T>, deps: unknown[] = []): Loaded<T> {
  const [state, setState] = useState<{ data?: T; error?: Error; loading: boolean }>({ loading: true })
  const [turn, setTurn] = useState(0)
  const recovered = recoveries.value
  useEffect(() => {
    const stop = new AbortController()
    setState((old) => ({ ...old, loading: true }))
    fetcher(stop.signal).then(
      (data) => { if (!stop.signal.aborted) setState({ data, loading: false }) },
      (error: Error) => { if (!stop.signal.aborted) setState((old) => ({ data: old.data, error, loading: false })) },
    )
    return () => stop.abort()
  }, [...deps, turn, recovered])
  const reload = useCallback(() => setTurn((n) => n + 1), [])
  const set = useCallback((data: T) => setState({ data, loading: false }), [])
  return { data: state.data, error: state.error, loading: state.loading, reload, set }
}

// Calls `again` every so often while the page can be seen.
export function useEvery(ms: number | null, again: () => void): void {
  const latest = useRef(again)
  latest.current = again
  useEffect(() => {
    if (ms === null) return
    const timer = setInterval(() => { if (document.visibilityState === 'visible') latest.current() }, ms)
    return () => clearInterval(timer)
  }, [ms])
}
