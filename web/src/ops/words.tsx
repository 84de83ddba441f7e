// Small things that several operations pages show.
import type { ComponentChildren } from 'preact'
import { Problem } from '../api'
import { Link } from '../router'
import { Badge, CopyButton, Loading, Trouble, type Tone } from '../ui/ui'
import type { BlockStatus, RunState } from './types'

const stateTones: Record<RunState, Tone> = {
  accepted: 'neutral', held: 'warn', starting: 'accent', streaming: 'accent', parked: 'warn', finishing: 'accent', completed: 'ok', failed: 'danger', cancelled: 'neutral',
}
export const stateWords: Record<RunState, string> = {
  accepted: 'Accepted', held: 'Held', starting: 'Starting', streaming: 'Streaming', parked: 'Parked', finishing: 'Finishing', completed: 'Completed', failed: 'Failed', cancelled: 'Cancelled',
}
const stateMeanings: Partial<Record<RunState, string>> = { held: 'Waits for a place', parked: 'Waits for a person', streaming: 'The agent is at work' }

export function StateBadge({ state }: { state: RunState }) {
  return <span title={stateMeanings[state]}><Badge tone={stateTones[state] ?? 'neutral'} dot>{stateWords[state] ?? state}</Badge></span>
}

const blockTones: Record<BlockStatus, Tone> = { pending: 'neutral', running: 'accent', succeeded: 'ok', failed: 'danger', skipped: 'neutral', cancelled: 'neutral' }

export function StatusBadge({ status }: { status: BlockStatus }) {
  return <Badge tone={blockTones[status] ?? 'neutral'} dot>{status}</Badge>
}

// The distinctive ends of an id; the whole id on hover and in the clipboard.
export const shortId = (id: string): string => (id.length > 18 ? `${id.slice(0, 8)}…${id.slice(-5)}` : id)

export function Id({ id, to, copy }: { id: string; to?: string; copy?: boolean }) {
  return (
    <span class="id">
      {to ? <Link to={to} class="mono" title={id}>{shortId(id)}</Link> : <span class="mono" title={id}>{shortId(id)}</span>}
      {copy && <CopyButton text={id} label={`Copy ${id}`} />}
    </span>
  )
}

export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>
}

interface SectionProps { title: string; actions?: ComponentChildren; about?: ComponentChildren; children: ComponentChildren }

export function Section({ title, actions, about, children }: SectionProps) {
  return (
    <section class="section">
      <header><div><h2>{title}</h2>{about && <p class="faint">{about}</p>}</div>{actions && <div class="page-actions">{actions}</div>}</header>
      {children}
    </section>
  )
}

// A page's data or, while there is none, why.
export function Shown<T>({ of, children }: { of: { data?: T | undefined; error?: Error | undefined; reload: () => void }; children: (data: T) => ComponentChildren }) {
  if (of.data === undefined) return of.error ? <Trouble error={of.error} retry={of.reload} /> : <Loading />
  return <><Stale error={of.error} retry={of.reload} />{children(of.data)}</>
}

// Why what is shown may be old. That the server is gone is said once, above every page.
export function Stale({ error, retry }: { error: unknown; retry: () => void }) {
  return !error || (error instanceof Problem && error.unreachable) ? null : <Trouble error={error} retry={retry} />
}

export interface Tab { id: string; label: ComponentChildren }

export function Tabs({ label, tabs, value, onChoose }: { label: string; tabs: Tab[]; value: string; onChoose: (id: string) => void }) {
  return (
    <div class="tabs" role="group" aria-label={label}>
      {tabs.map((tab) => <button key={tab.id} type="button" aria-pressed={tab.id === value} onClick={() => onChoose(tab.id)}>{tab.label}</button>)}
    </div>
  )
}
