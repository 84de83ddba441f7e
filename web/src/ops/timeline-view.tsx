// The phases of a run, drawn to the millisecond. Arrow keys walk them; the same is there as a table.
import { useState } from 'preact/hooks'
import { durationText } from '../ui/ui'
import { linear, spanText, spanTicks } from './scale'
import { durationOf, kinds, layOut, type Bar, type Layout } from './timeline'
import type { Phase, RunTimeline } from './types'
import { useWidth } from './width'

const laneHeight = 22
const barHeight = 14
const axisHeight = 24

export function TimelineView({ timeline, now }: { timeline: RunTimeline; now: number }) {
  const [box, width] = useWidth()
  const [at, setAt] = useState<number | null>(null)
  const labelWidth = width < 520 ? 76 : 96
  const layout = layOut(timeline, Math.max(40, width - labelWidth - 16), now)
  const chosen = at === null ? undefined : layout.bars.find((bar) => bar.index === at)
  const walk = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowRight' || event.key === 'ArrowDown' ? 1 : event.key === 'ArrowLeft' || event.key === 'ArrowUp' ? -1 : 0
    if (!by || !timeline.phases.length) return
    event.preventDefault()
    setAt((old) => (old === null ? (by > 0 ? 0 : timeline.phases.length - 1) : Math.max(0, Math.min(timeline.phases.length - 1, old + by))))
  }
  return (
    <div class="timeline card">
      <div ref={box} class="timeline-picture" tabIndex={0} role="group" aria-label="Timeline of the run. The arrow keys go from phase to phase." onKeyDown={walk} onMouseLeave={() => setAt(null)} onBlur={() => setAt(null)}>
        {width > 0 && <Picture layout={layout} labelWidth={labelWidth} width={width} at={at} onAt={setAt} />}
      </div>
      <p class="timeline-told" role="status">{chosen ? <Told phase={chosen.phase} totalMs={layout.totalMs} /> : <span class="faint">{durationText(layout.totalMs)} in all. Point at a phase, or walk them with the arrow keys.</span>}</p>
      <AsTable phases={timeline.phases} totalMs={layout.totalMs} />
    </div>
  )
}

function Told({ phase, totalMs }: { phase: Phase; totalMs: number }) {
  const kind = kinds.find((one) => one.kind === phase.phase)?.label
  return (
    <>
      <span class={`swatch phase-${phase.phase}`} aria-hidden="true" />
      <strong>{phase.label || kind}</strong> <span>{durationText(durationOf(phase, totalMs))}{phase.to_ms === null && ' so far'}</span>
      <span class="faint">{kind}, from {durationText(phase.from_ms)}{phase.to_ms !== null && ` to ${durationText(phase.to_ms)}`}{phase.status && `, ${phase.status}`}</span>
    </>
  )
}

interface PictureProps { layout: Layout; labelWidth: number; width: number; at: number | null; onAt: (index: number | null) => void }

function Picture({ layout, labelWidth, width, at, onAt }: PictureProps) {
  const inner = Math.max(40, width - labelWidth - 16)
  const height = layout.laneCount * laneHeight + axisHeight
  const x = linear(0, layout.totalMs, inner)
  return (
    <svg width={width} height={height} aria-hidden="true" focusable="false">
      <g transform={`translate(${labelWidth} 0)`} class="grid">
        {spanTicks(layout.totalMs, Math.max(2, Math.floor(inner / 90))).map((ms) => (
          <g key={ms} transform={`translate(${x(ms)} 0)`}>
            <line y2={height - axisHeight + 4} />
            <text y={height - 6} text-anchor={x(ms) > inner - 24 ? 'end' : x(ms) < 12 ? 'start' : 'middle'}>{spanText(ms)}</text>
          </g>
        ))}
      </g>
      {layout.lanes.map((lane) => (
        <g key={lane.kind} class="lane">
          <text x={4} y={lane.first * laneHeight + laneHeight / 2 + 4}>{lane.label}</text>
          {lane.first > 0 && <line x2={width} y1={lane.first * laneHeight} y2={lane.first * laneHeight} />}
        </g>
      ))}
      <g transform={`translate(${labelWidth} 0)`}>
        {layout.bars.map((bar) => <Drawn key={bar.index} bar={bar} chosen={bar.index === at} onAt={onAt} />)}
      </g>
    </svg>
  )
}

const letterWidth = 6.5

function Drawn({ bar, chosen, onAt }: { bar: Bar; chosen: boolean; onAt: (index: number) => void }) {
  const y = bar.lane * laneHeight + (laneHeight - barHeight) / 2
  const { phase } = bar
  const bad = phase.status === 'failed' || phase.status === 'denied' || phase.status === 'expired'
  const fits = phase.label.length * letterWidth + 10 < bar.width
  return (
    <g class={`bar phase-${phase.phase}${bad ? ' bad' : ''}${phase.to_ms === null ? ' open' : ''}${chosen ? ' chosen' : ''}`} onMouseEnter={() => onAt(bar.index)} onClick={() => onAt(bar.index)}>
      <rect x={bar.x} y={y} width={bar.width} height={barHeight} rx={3} />
      {fits && <text x={bar.x + 5} y={y + barHeight - 3.5}>{phase.label}</text>}
    </g>
  )
}

function AsTable({ phases, totalMs }: { phases: Phase[]; totalMs: number }) {
  return (
    <details class="as-table">
      <summary>The phases as a table</summary>
      <div class="table-box" tabIndex={0} role="region" aria-label="Phases">
        <table>
          <thead><tr><th scope="col">Phase</th><th scope="col">What</th><th scope="col" class="end">From</th><th scope="col" class="end">Took</th><th scope="col" class="wide-only">Status</th></tr></thead>
          <tbody>
            {phases.map((phase, i) => (
              <tr key={i}>
                <td>{kinds.find((one) => one.kind === phase.phase)?.label ?? phase.phase}</td>
                <td title={phase.label}>{phase.label}</td>
                <td class="end">{durationText(phase.from_ms)}</td>
                <td class="end">{durationText(durationOf(phase, totalMs))}{phase.to_ms === null && ' …'}</td>
                <td class="wide-only">{phase.status ?? ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
