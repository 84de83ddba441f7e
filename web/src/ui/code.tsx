// Code, and differences between two versions of it.
import { useState } from 'preact/hooks'
import { Button, CopyButton } from './controls'
import type { DiffLine, FileDiff } from './diff'

const linesMax = 400

export function Code({ text, label }: { text: string; label?: string }) {
  const [all, setAll] = useState(false)
  const lines = text.split('\n')
  const cut = !all && lines.length > linesMax
  return (
    <div class="code">
      <div class="code-tools"><CopyButton text={text} /></div>
      <pre tabIndex={0} aria-label={label}><code>{cut ? lines.slice(0, linesMax).join('\n') : text}</code></pre>
      {cut && <Button small kind="quiet" onClick={() => setAll(true)}>Show all {lines.length} lines</Button>}
    </div>
  )
}

// A JSON value, indented. Text that is JSON is read first; text that is not is shown as it is.
export function Json({ value, label }: { value: unknown; label?: string }) {
  return <Code text={jsonText(value)} label={label ?? 'JSON'} />
}

export function jsonText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2) ?? ''
  try {
    return JSON.stringify(JSON.parse(value), null, 2)
  } catch {
    return value
  }
}

const signs: Record<DiffLine['kind'], string> = { add: '+', remove: '−', same: ' ', hunk: '', note: '' }

export function Diff({ file }: { file: FileDiff }) {
  const [all, setAll] = useState(false)
  const shown = all ? file.lines : file.lines.slice(0, linesMax)
  if (!file.lines.length) return <p class="diff-none">No lines differ{file.kind === 'rename' ? `; it was ${file.from}` : ''}.</p>
  return (
    <div class="diff" role="group" aria-label={`Changes of ${file.path}`} tabIndex={0}>
      <table>
        <tbody>
          {shown.map((line, i) => (
            <tr key={i} class={line.kind}>
              <td class="number">{line.before ?? ''}</td>
              <td class="number">{line.after ?? ''}</td>
              <td class="sign">{signs[line.kind]}</td>
              <td class="line">{line.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < file.lines.length &&
        <Button small kind="quiet" onClick={() => setAll(true)}>Show all {file.lines.length} lines</Button>}
    </div>
  )
}

export function DiffCount({ file }: { file: { added: number; removed: number; binary?: boolean } }) {
  if (file.binary) return <span class="diff-count">binary</span>
  return (
    <span class="diff-count" aria-label={`${file.added} lines added, ${file.removed} removed`}>
      <span class="plus">+{file.added}</span> <span class="minus">−{file.removed}</span>
    </span>
  )
}
