// A text field for JSON with numbered lines, and what is wrong with it, each mistake leading to its place.
import { useRef } from 'preact/hooks'
import type { FieldError } from '../api'
import { Icon } from '../ui/ui'
import { lineOf, rangeOf } from './pointer'

interface EditorProps { label: string; text: string; onText: (text: string) => void; errors: FieldError[]; rows?: number }

export function JsonEditor({ label, text, onText, errors, rows = 26 }: EditorProps) {
  const area = useRef<HTMLTextAreaElement>(null)
  const gutter = useRef<HTMLPreElement>(null)
  const show = (range: [number, number]) => {
    const element = area.current!
    element.focus()
    element.setSelectionRange(range[0], range[1])
    const lineHeight = element.scrollHeight / Math.max(1, text.split('\n').length)
    element.scrollTop = Math.max(0, (lineOf(text, range[0]) - 5) * lineHeight)
  }
  return (
    <div class="json-editor">
      <div class="json-editor-box">
        <pre ref={gutter} aria-hidden="true">{text.split('\n').map((_, i) => i + 1).join('\n')}{'\n\n'}</pre>
        <textarea ref={area} class="mono" aria-label={label} aria-invalid={errors.length ? 'true' : undefined} aria-describedby="json-mistakes" rows={rows} wrap="off" spellcheck={false} value={text}
          onInput={(event) => onText(event.currentTarget.value)} onScroll={(event) => { gutter.current!.scrollTop = event.currentTarget.scrollTop }} />
      </div>
      <ul id="json-mistakes" class="mistakes" aria-live="polite">
        {errors.map((error, i) => {
          const range = rangeOf(text, error.pointer)
          return (
            <li key={i}>
              <Icon name="alert" />
              {range ? <button type="button" class="link" onClick={() => show(range)}>Line {lineOf(text, range[0])}</button> : null}
              <span>{error.pointer && <code>{error.pointer}</code>} {error.message}</span>
            </li>
          )
        })}
      </ul>
    </div>
  )
}
