// Short notices at the edge of the page, read aloud when they come.
import { signal } from '@preact/signals'
import { wordsOf } from '../api'
import { IconButton } from './controls'
import { Icon } from './icon'
import { Sentence } from './words'

interface Notice { id: number; tone: 'ok' | 'danger'; text: string }

const notices = signal<Notice[]>([])
const shownMs = { ok: 4000, danger: 9000 }
let next = 1

export function toast(text: string, tone: Notice['tone'] = 'ok'): void {
  const id = next++
  notices.value = [...notices.value.slice(-3), { id, tone, text }]
  setTimeout(() => dismiss(id), shownMs[tone])
}

export const toastError = (error: unknown): void => toast(wordsOf(error), 'danger')

function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {notices.value.map((notice) => (
        <div key={notice.id} class={`toast ${notice.tone}`}>
          <Icon name={notice.tone === 'ok' ? 'check' : 'alert'} />
          <span><Sentence text={notice.text} /></span>
          <IconButton icon="close" label="Dismiss" onClick={() => dismiss(notice.id)} />
        </div>
      ))}
    </div>
  )
}
