// The lines of a run, as they are: any number, live, one row each; a row opens to the whole line.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button, Code, jsonText, useWindow } from '../ui/ui'
import { useKeys } from '../keys'
import { sayingOf, type Line } from './lines'

const rowHeight = 26

export function Trace({ lines, live, started }: { lines: Line[]; live: boolean; started: number }) {
  const box = useRef<HTMLDivElement>(null)
  const seen = useWindow(box, lines.length, rowHeight)
  const [at, setAt] = useState(-1)
  const [follows, setFollows] = useState(true)
  useEffect(() => {
    const element = box.current
    if (element && live && follows) element.scrollTop = element.scrollHeight
  }, [lines.length, live, follows])
  const scrolled = () => {
    const element = box.current
    if (element && live) setFollows(element.scrollHeight - element.scrollTop - element.clientHeight < rowHeight * 2)
  }
  const walk = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -lines.length, End: lines.length }[event.key]
    if (!by) return
    event.preventDefault()
    const next = Math.max(0, Math.min(lines.length - 1, at + by))
    setAt(next)
    setFollows(false)
    const element = box.current!
    if (next * rowHeight < element.scrollTop) element.scrollTop = next * rowHeight
    if ((next + 1) * rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = (next + 1) * rowHeight - element.clientHeight
  }
  useKeys({ Escape: () => setAt(-1) })
  const chosen = lines[at]
  return (
    <div class={`trace card${chosen ? ' with-line' : ''}`}>
      <div class="trace-lines" ref={box} tabIndex={0} role="listbox" aria-label={`${lines.length} lines of the trace`} aria-activedescendant={at >= seen.from && at < seen.to ? `trace-${at}` : undefined} onKeyDown={walk} onScroll={scrolled}>
        <div style={{ height: `${seen.before}px` }} role="presentation" />
        {lines.slice(seen.from, seen.to).map((line, i) => (
          <div key={seen.from + i} id={`trace-${seen.from + i}`} role="option" aria-selected={seen.from + i === at} aria-posinset={seen.from + i + 1} aria-setsize={lines.length}
            class={`trace-line line-${line.type}${seen.from + i === at ? ' chosen' : ''}`} onClick={() => setAt(seen.from + i)}>
            <span class="trace-time">{line.ts ? `+${((line.ts - started) / 1000).toFixed(2)}` : ''}</span>
            <span class="trace-type">{line.type}</span>
            <span class="trace-text">{sayingOf(line)}</span>
          </div>
        ))}
        <div style={{ height: `${seen.after}px` }} role="presentation" />
      </div>
      {live && !follows && <Button small class="trace-follow" onClick={() => setFollows(true)}>Follow the end</Button>}
      {chosen && (
        <div class="trace-whole" role="region" aria-label={`Line ${at + 1}`}>
          <header><strong>Line {at + 1}</strong><Button small kind="quiet" onClick={() => setAt(-1)}>Close</Button></header>
          <Code text={jsonText(chosen)} label={`Line ${at + 1}`} />
        </div>
      )}
    </div>
  )
}
