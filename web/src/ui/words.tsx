// Small things that are read: badges, times, empty and error states, loading.
import type { ComponentChildren } from 'preact'
import { signal } from '@preact/signals'
import { Problem, wordsOf } from '../api'
import { reachable } from '../reach'
import { Button } from './controls'
import { Icon, type IconName } from './icon'
import { sentenceParts } from './text'

export type Tone = 'neutral' | 'accent' | 'ok' | 'warn' | 'danger'

export function Badge({ tone = 'neutral', dot, children }: { tone?: Tone; dot?: boolean; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{dot && <span class="dot" aria-hidden="true" />}{children}</span>
}

// A sentence of the server: what it puts between backticks is shown as code.
export function Sentence({ text }: { text: string }) {
  return <>{sentenceParts(text).map((part, i) => (part.isCode ? <code key={i}>{part.text}</code> : part.text))}</>
}

const now = signal(Date.now())
setInterval(() => { now.value = Date.now() }, 20_000)

const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const dayAndYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })

export function ago(at: number, from = Date.now()): string {
  const seconds = Math.round((from - at) / 1000)
  if (Math.abs(seconds) < 45) return seconds < -5 ? 'in a moment' : 'just now'
  const [amount, unit] = Math.abs(seconds) < 3570 ? [seconds / 60, 'min'] : [seconds / 3600, 'h']
  if (Math.abs(seconds) < 20 * 3600) return seconds > 0 ? `${Math.round(amount)} ${unit} ago` : `in ${Math.round(-amount)} ${unit}`
  const date = new Date(at)
  return date.getFullYear() === new Date(from).getFullYear() ? day.format(date) : dayAndYear.format(date)
}

// A moment, given in epoch ms or RFC 3339: in words, with the exact time on hover.
export function Time({ at, exact }: { at: number | string; exact?: boolean }) {
  const ms = typeof at === 'number' ? at : Date.parse(at)
  if (!Number.isFinite(ms)) return <span>–</span>
  const date = new Date(ms)
  void now.value // drawn again as time goes by
  return <time dateTime={date.toISOString()} title={whole.format(date)}>{exact ? clock.format(date) : ago(ms)}</time>
}

export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 999_500) return `${(bytes / 1000).toFixed(bytes < 9950 ? 1 : 0)} kB`
  if (bytes < 999_500_000) return `${(bytes / 1e6).toFixed(1)} MB`
  return `${(bytes / 1e9).toFixed(1)} GB`
}

interface EmptyProps { icon?: IconName; title: string; children?: ComponentChildren; action?: ComponentChildren }

export function Empty({ icon = 'info', title, children, action }: EmptyProps) {
  return (
    <div class="empty">
      <span class="empty-icon"><Icon name={icon} size={24} /></span>
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action && <div class="empty-action">{action}</div>}
    </div>
  )
}

// What went wrong, in the server's words, with the number that finds it in the log.
export function Trouble({ error, retry, title }: { error: unknown; retry?: () => void; title?: string }) {
  if (error instanceof Problem && error.unreachable && !reachable.value) {
    return <div class="trouble waiting" role="status"><span class="spinner" aria-hidden="true" /> Waiting for the server…</div>
  }
  return (
    <div class="trouble" role="alert">
      <Icon name="alert" />
      <div>
        {title && <strong>{title}</strong>}
        <p>{wordsOf(error)}</p>
        {error instanceof Problem && error.requestId && <p class="faint">Request <code>{error.requestId}</code></p>}
      </div>
      {retry && <Button small icon="refresh" onClick={retry}>Try again</Button>}
    </div>
  )
}

export function Loading({ what = 'Loading' }: { what?: string }) {
  return <div class="loading" role="status"><span class="spinner" aria-hidden="true" /> {what}…</div>
}
