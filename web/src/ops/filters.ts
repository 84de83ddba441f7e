// From what somebody chose to what the server is asked.
import type { ColumnType, RunState, TableColumn } from './types'

export const liveStates: RunState[] = ['accepted', 'held', 'starting', 'streaming', 'parked', 'finishing']
export const states: RunState[] = [...liveStates, 'completed', 'failed', 'cancelled']

export const ranges: { value: string; label: string; ms: number | null }[] = [
  { value: '', label: 'Any time', ms: null }, { value: '1h', label: 'Last hour', ms: 3_600_000 }, { value: '24h', label: 'Last 24 hours', ms: 86_400_000 },
  { value: '7d', label: 'Last 7 days', ms: 7 * 86_400_000 }, { value: '30d', label: 'Last 30 days', ms: 30 * 86_400_000 }, { value: 'custom', label: 'From … to …', ms: null },
]

const instant = (local: string | null): string | undefined => {
  const at = local ? new Date(local).getTime() : NaN
  return Number.isFinite(at) ? new Date(at).toISOString() : undefined
}

// The address of the page holds what is chosen: state, agent, conversation, range, from, to.
export function runQuery(chosen: URLSearchParams, now: number): Record<string, string | undefined> {
  const state = chosen.get('state') ?? ''
  const range = chosen.get('range') ?? ''
  const ms = ranges.find((one) => one.value === range)?.ms
  const minute = Math.floor(now / 60_000) * 60_000 // the same question for a while, so that its answers can be laid over each other
  return {
    state: state === 'live' ? liveStates.join(',') : state || undefined,
    agent_id: chosen.get('agent') ?? undefined,
    conversation_id: chosen.get('conversation') ?? undefined,
    created_after: range === 'custom' ? instant(chosen.get('from')) : ms ? new Date(minute - ms).toISOString() : undefined,
    created_before: range === 'custom' ? instant(chosen.get('to')) : undefined,
  }
}

export interface Condition { column: string; op: string; value: string }
export type Filter = { column: string; op: string; value?: unknown } | { and: Filter[] } | { or: Filter[] }

export const operators: { value: string; label: string; types: ColumnType[] }[] = [
  { value: 'eq', label: 'is', types: ['text', 'number', 'boolean', 'timestamp'] },
  { value: 'ne', label: 'is not', types: ['text', 'number', 'boolean', 'timestamp'] },
  { value: 'contains', label: 'contains', types: ['text'] },
  { value: 'starts_with', label: 'begins with', types: ['text'] },
  { value: 'lt', label: 'is less than', types: ['number', 'timestamp', 'text'] },
  { value: 'lte', label: 'is at most', types: ['number', 'timestamp', 'text'] },
  { value: 'gt', label: 'is more than', types: ['number', 'timestamp', 'text'] },
  { value: 'gte', label: 'is at least', types: ['number', 'timestamp', 'text'] },
  { value: 'in', label: 'is one of', types: ['text', 'number'] },
  { value: 'is_null', label: 'is empty', types: ['text', 'number', 'boolean', 'timestamp', 'json'] },
]

// The value that a text stands for in a column; what is no such value is sent as it is, and the server says so.
export function valueOf(type: ColumnType, text: string): unknown {
  if (type === 'number') return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  if (type === 'timestamp') return instant(text) ?? text
  if (type === 'json') {
    try {
      return JSON.parse(text)
    } catch {
      return text
    }
  }
  return text
}

export function tableFilter(columns: TableColumn[], conditions: Condition[], any: boolean): Filter | undefined {
  const told = conditions.filter((one) => one.op === 'is_null' || one.value !== '').map((one): Filter => {
    const type = columns.find((column) => column.name === one.column)?.type ?? 'text'
    if (one.op === 'is_null') return { column: one.column, op: 'is_null' }
    if (one.op === 'in') return { column: one.column, op: 'in', value: one.value.split(',').map((part) => valueOf(type, part.trim())) }
    return { column: one.column, op: one.op, value: valueOf(type, one.value) }
  })
  if (told.length < 2) return told[0]
  return any ? { or: told } : { and: told }
}
