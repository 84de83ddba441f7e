// How many places were taken, over time. Arrow keys move through it; a table says the lowest and the highest.
import { useState } from 'preact/hooks'
import { areaPath, nearest, reachOf, series, stepPath, summary, type SeriesName } from './chart'
import { clockTicks, countTicks, linear } from './scale'
import type { Sample } from './types'
import { useWidth } from './width'

const height = 280
const left = 34
const right = 12
const bottom = 24
const top = 10
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const exact = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })

export function ChartView({ samples, intervalMs }: { samples: Sample[]; intervalMs: number }) {
  const [box, width] = useWidth()
  const [hidden, setHidden] = useState<SeriesName[]>([])
  const [at, setAt] = useState<number | null>(null) // a moment, not a place: samples come and go
  const shown = series.filter((one) => !hidden.includes(one.name))
  const index = at === null ? samples.length - 1 : nearest(samples, at)
  const sample = samples[index]
  const walk = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -12, PageDown: 12, Home: -samples.length, End: samples.length }[event.key]
    if (!by) return
    event.preventDefault()
    setAt(samples[Math.max(0, Math.min(samples.length - 1, index + by))]?.at_ms ?? null)
  }
  const from = samples[0]?.at_ms ?? 0
  const to = samples.at(-1)?.at_ms ?? 1
  const point = (event: MouseEvent) => {
    const area = (event.currentTarget as HTMLElement).getBoundingClientRect()
    const share = (event.clientX - area.left - left) / Math.max(1, width - left - right)
    setAt(from + share * (to - from))
  }
  return (
    <div class="chart card">
      <div class="legend" role="group" aria-label="Which lines are shown">
        {series.map((one) => (
          <button key={one.name} type="button" title={one.about} aria-pressed={!hidden.includes(one.name)} class={`legend-entry ${one.name}`}
            onClick={() => setHidden((had) => (had.includes(one.name) ? had.filter((name) => name !== one.name) : [...had, one.name]))}>
            <svg width="22" height="8" aria-hidden="true" class={`line ${one.name}`}><path d="M1 4H21" stroke-dasharray={one.dash} /></svg>
            <span>{one.label}</span><b>{sample?.[one.name] ?? '–'}</b>
          </button>
        ))}
        <span class="faint legend-time" role="status">{sample && (at === null ? 'now' : exact.format(sample.at_ms))}</span>
      </div>
      <div ref={box} class="chart-picture" tabIndex={0} role="group" aria-label="Places over time. The left and right arrow keys move through it; the legend says the numbers."
        onKeyDown={walk} onMouseMove={point} onMouseLeave={() => setAt(null)} onBlur={() => setAt(null)}>
        {width > 0 && samples.length > 0 && <Picture samples={samples} shown={shown.map((one) => one.name)} width={width} intervalMs={intervalMs} cursor={at === null ? null : sample!} />}
      </div>
      <AsTable samples={samples} />
    </div>
  )
}

interface PictureProps { samples: Sample[]; shown: SeriesName[]; width: number; intervalMs: number; cursor: Sample | null }

function Picture({ samples, shown, width, intervalMs, cursor }: PictureProps) {
  const inner = { width: Math.max(40, width - left - right), height: height - top - bottom }
  const ticks = countTicks(reachOf(samples, shown))
  const drawn = shown.filter((name) => name !== 'pool_size' || samples.some((sample) => sample.pool_size <= ticks.at(-1)!))
  const from = samples[0]!.at_ms
  const to = Math.max(from + 60_000, samples.at(-1)!.at_ms)
  const x = linear(from, to, inner.width)
  const up = linear(0, ticks.at(-1)!, inner.height)
  const y = (value: number) => inner.height - up(value)
  const moments = clockTicks(from, to, Math.max(2, Math.floor(inner.width / 110)))
  const words = moments.length > 1 && moments[1]! - moments[0]! < 60_000 ? exact : clock
  return (
    <svg width={width} height={height} aria-hidden="true" focusable="false">
      <g transform={`translate(${left} ${top})`}>
        <g class="grid">
          {ticks.map((tick) => <g key={tick} transform={`translate(0 ${y(tick)})`}><line x2={inner.width} /><text x={-8} y={4} text-anchor="end">{tick}</text></g>)}
          {moments.map((at) => <text key={at} x={x(at)} y={inner.height + 18} text-anchor={x(at) < 16 ? 'start' : x(at) > inner.width - 16 ? 'end' : 'middle'}>{words.format(at)}</text>)}
        </g>
        {[...series].reverse().filter((one) => drawn.includes(one.name)).map((one) => (
          <g key={one.name} class={`line ${one.name}`}>
            {one.name === 'running' && <path class="area" d={areaPath(stepPath(samples, 'running', x, y, intervalMs * 4), inner.height)} />}
            <path d={stepPath(samples, one.name, x, y, intervalMs * 4)} stroke-dasharray={one.dash} />
          </g>
        ))}
        {cursor && (
          <g class="cursor" transform={`translate(${x(cursor.at_ms)} 0)`}>
            <line y2={inner.height} />
            {drawn.map((name) => <circle key={name} class={`line ${name}`} cy={y(cursor[name])} r={3.5} />)}
          </g>
        )}
      </g>
    </svg>
  )
}

function AsTable({ samples }: { samples: Sample[] }) {
  return (
    <details class="as-table">
      <summary>Lowest, average and highest as a table</summary>
      <div class="table-box" tabIndex={0} role="region" aria-label="Lowest, average and highest">
        <table>
          <thead><tr><th scope="col">Of</th><th scope="col" class="end">Now</th><th scope="col" class="end">Lowest</th><th scope="col" class="end">Average</th><th scope="col" class="end">Highest</th></tr></thead>
          <tbody>
            {samples.length > 0 && series.map((one) => {
              const { lowest, average, highest } = summary(samples, one.name)
              return <tr key={one.name}><td>{one.label}</td><td class="end">{samples.at(-1)![one.name]}</td><td class="end">{lowest}</td><td class="end">{average.toFixed(1)}</td><td class="end">{highest}</td></tr>
            })}
          </tbody>
        </table>
      </div>
    </details>
  )
}
