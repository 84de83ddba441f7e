// Capacity: how many places there are and who has them, now and over the last hour.
import { useState } from 'preact/hooks'
import { api } from '../api'
import { useEvery, useLoad } from '../load'
import { joinSamples } from '../ops/chart'
import { ChartView } from '../ops/chart-view'
import { spanText } from '../ops/scale'
import type { Capacity, CapacityHistory, Sample } from '../ops/types'
import { Shown } from '../ops/words'
import { Badge, Empty, PageFrame, Time } from '../ui/ui'

const everyMs = 2000

const sampleOf = (now: Capacity): Sample => ({
  at_ms: Date.parse(now.checked_at), running: now.running, held: now.held, parked: now.parked, sticky: now.sticky_active, warm: now.warm_available, pool_size: now.pool_size,
})

export default function CapacityPage() {
  const history = useLoad((stop) => api.get<CapacityHistory>('/v1/capacity/history', {}, stop))
  const [since, setSince] = useState<Sample[]>([])
  const now = useLoad(async (stop) => {
    const told = await api.get<Capacity>('/v1/capacity', {}, stop)
    setSince((had) => (had.at(-1)?.at_ms === Date.parse(told.checked_at) ? had : [...had, sampleOf(told)].slice(-720)))
    return told
  })
  useEvery(everyMs, now.reload)
  return (
    <PageFrame title="Capacity" about="Places for runs on this server. A run that finds none waits in line, or is refused with a hint when to come again.">
      <Shown of={now}>{(told) => <Now told={told} />}</Shown>
      <section aria-label="Over time">
        <h2 class="section-title">Over time</h2>
        <Shown of={history}>{(told) => {
          const samples = joinSamples(told.samples, since)
          return samples.length > 1 ? <ChartView samples={samples} intervalMs={told.interval_seconds * 1000} /> : <Empty icon="capacity" title="Nothing was measured yet">The server remembers the last hour of its own life; the first points come within seconds.</Empty>
        }}</Shown>
      </section>
    </PageFrame>
  )
}

function Now({ told }: { told: Capacity }) {
  const share = told.pool_size ? Math.min(1, told.running / told.pool_size) : 0
  return (
    <>
      <dl class="figures">
        <div class="figure wide">
          <dt>Running</dt>
          <dd><b>{told.running}</b> <span class="muted">of {told.pool_size} places</span> {told.at_capacity ? <Badge tone="warn" dot>full</Badge> : <Badge tone="ok" dot>free</Badge>}</dd>
          <dd class="meter" aria-hidden="true"><span class={told.at_capacity ? 'full' : ''} style={{ width: `${share * 100}%` }} /></dd>
        </div>
        <Figure name="Held" value={told.held} about={`wait for a place, at most ${spanText(told.max_hold_seconds * 1000)}`} tone={told.held > 0 ? 'warn' : ''} />
        <Figure name="Parked" value={told.parked} about="wait for a person" tone={told.parked > 0 ? 'warn' : ''} />
        <Figure name="Sticky" value={told.sticky_active} about={`pinned, of at most ${told.max_sticky}`} />
        <Figure name="Warm" value={told.warm_available} about="sandboxes ready" />
      </dl>
      <p class="faint">Measured at <Time at={told.checked_at} />. Retry-After is currently {told.retry_hint_seconds} s.</p>
    </>
  )
}

function Figure({ name, value, about, tone = '' }: { name: string; value: number; about: string; tone?: string }) {
  return <div class="figure"><dt>{name}</dt><dd><b class={tone}>{value}</b></dd><dd class="faint">{about}</dd></div>
}
