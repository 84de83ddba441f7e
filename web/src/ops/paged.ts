// Lists that come in pages: the next is loaded when the end of the last comes into view, and the newest is asked for
// again and again without losing the others.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Options, type Page } from '../api'
import { recoveries } from '../reach'

export const pageRows = 100

// The rows with the newest page laid over them: rows that are known are replaced, others come first. Where the page and
// the rows do not meet there may be rows between, and the page is where the list begins anew: null.
export function mergeNewest<T>(rows: T[], newest: T[], idOf: (row: T) => string): { rows: T[]; added: number } | null {
  const fresh = new Map(newest.map((row) => [idOf(row), row]))
  const known = new Set(rows.map(idOf))
  const added = newest.filter((row) => !known.has(idOf(row)))
  if (rows.length > 0 && newest.length > 0 && added.length === newest.length) return null
  return { rows: [...added, ...rows.map((row) => fresh.get(idOf(row)) ?? row)], added: added.length }
}

export interface Paged<T> {
  rows: T[] | undefined // before the first page has come: undefined
  error: Error | undefined
  hasMore: boolean
  loading: boolean
  more: () => void
  reload: () => void
  setRows: (change: (rows: T[]) => T[]) => void
  restart: (page: Page<T>) => void
}

interface State<T> { rows?: T[]; error?: Error; hasMore: boolean; loading: boolean }

export function usePaged<T extends object>(path: string, query: Options['query'] = {}, idOf: (row: T) => string = (row) => (row as { id: string }).id): Paged<T> {
  const [state, setState] = useState<State<T>>({ hasMore: false, loading: true })
  const [turn, setTurn] = useState(0)
  const stop = useRef(new AbortController())
  const key = path + JSON.stringify(query)
  const shown = useRef('')
  const recovered = recoveries.value
  const load = async (after: string | undefined) => {
    const mine = stop.current
    setState((old) => ({ ...old, loading: true }))
    try {
      const page = await api.get<Page<T>>(path, { limit: pageRows, ...query, starting_after: after }, mine.signal)
      if (mine.signal.aborted) return
      setState((old) => ({ rows: after ? [...(old.rows ?? []), ...page.data] : page.data, hasMore: page.has_more, loading: false }))
    } catch (error) {
      if (!mine.signal.aborted) setState((old) => ({ ...old, error: error as Error, loading: false }))
    }
  }
  useEffect(() => {
    stop.current = new AbortController()
    if (shown.current !== key) setState({ hasMore: false, loading: true }) // another list: not the old one's rows
    shown.current = key
    void load(undefined)
    return () => stop.current.abort()
  }, [key, turn, recovered])
  return {
    rows: state.rows, error: state.error, hasMore: state.hasMore, loading: state.loading,
    more: () => { if (state.hasMore && !state.loading && !state.error && state.rows?.length) void load(idOf(state.rows.at(-1)!)) },
    reload: () => setTurn((n) => n + 1),
    setRows: (change) => setState((old) => ({ ...old, rows: change(old.rows ?? []) })),
    restart: (page) => setState({ rows: page.data, hasMore: page.has_more, loading: false }),
  }
}
