// What the model thought: closed, with a glimpse of its last line while it thinks.
import { Icon } from '../ui/icon'
import { memo } from '../ui/memo'
import { LiveText } from './live-text'
import { openedSignal } from './opened'

const liveMax = 12_000 // while it grows; then all of it

export const Reasoning = memo(function Reasoning({ text, id, live }: { text: string; id: string; live: boolean }) {
  const open = openedSignal(id)
  return (
    <div class={`reasoning${open.value ? ' open' : ''}${live ? ' live' : ''}`}>
      <button type="button" class="reasoning-head" aria-expanded={open.value} onClick={() => { open.value = !open.value }}>
        <Icon name="thought" size={14} />
        <span class="reasoning-title">{live ? 'Thinking' : 'Thought'}</span>
        {!open.value && <span class="reasoning-glimpse">{glimpse(text)}</span>}
        <span class="step-chevron"><Icon name="chevron" size={14} /></span>
      </button>
      {open.value && <LiveText text={live && text.length > liveMax ? `…${text.slice(-liveMax)}` : text} label="Reasoning" class="reasoning-text" />}
    </div>
  )
})

function glimpse(text: string): string {
  const line = text.trimEnd().slice(-1000).split('\n').pop()!
  return line.length > 160 ? `…${line.slice(-160)}` : line
}
