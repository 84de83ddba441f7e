// Lines over time: the path of a series, and which sample is nearest to a place.
import type { Sample } from './types'

export type SeriesName = Exclude<keyof Sample, 'at_ms'>
export const series: { name: SeriesName; label: string; about: string; dash: string }[] = [
  { name: 'running', label: 'Running', about: 'Runs that have a place', dash: '' },
  { name: 'held', label: 'Held', about: 'Runs that wait for a place', dash: '6 3' },
  { name: 'parked', label: 'Parked', about: 'Runs that wait for a person', dash: '2 3' },
  { name: 'sticky', label: 'Sticky', about: 'Places pinned to a conversation', dash: '9 3 2 3' },
  { name: 'warm', label: 'Warm', about: 'Sandboxes that wait for work', dash: '1 3' },
  { name: 'pool_size', label: 'Pool', about: 'Places for runs', dash: '4 4' },
]

// A number holds until the next sample: steps, not slopes. A gap of several intervals is left open.
export function stepPath(samples: Sample[], of: SeriesName, x: (at: number) => number, y: (value: number) => number, gapMs: number): string {
  let path = ''
  samples.forEach((sample, i) => {
    const before = samples[i - 1]
    const at = x(sample.at_ms).toFixed(1)
    const high = y(sample[of]).toFixed(1)
    path += before && sample.at_ms - before.at_ms <= gapMs ? `H${at}V${high}` : `M${at} ${high}`
  })
  return path
}

// The same, filled down to the floor: one piece for each that has no gap.
export function areaPath(line: string, floor: number): string {
  return line.split('M').filter(Boolean).map((piece) => `M${piece}V${floor}H${piece.split(' ')[0]}Z`).join('')
}

export function nearest(samples: Sample[], at: number): number {
  let low = 0
  let high = samples.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (samples[middle]!.at_ms < at) low = middle + 1
    else high = middle
  }
  return low > 0 && at - samples[low - 1]!.at_ms <= samples[low]!.at_ms - at ? low - 1 : low
}

export function summary(samples: Sample[], of: SeriesName): { lowest: number; average: number; highest: number } {
  const values = samples.map((sample) => sample[of])
  const sum = values.reduce((total, value) => total + value, 0)
  return { lowest: Math.min(...values), average: sum / Math.max(1, values.length), highest: Math.max(...values) }
}

// How high the picture must reach. A pool that is far larger than what goes on would press everything else to the floor,
// and is left out of it.
export function reachOf(samples: Sample[], shown: SeriesName[]): number {
  const highest = (names: SeriesName[]) => samples.reduce((most, sample) => names.reduce((high, name) => Math.max(high, sample[name]), most), 0)
  const others = Math.max(1, highest(shown.filter((name) => name !== 'pool_size')))
  const pool = shown.includes('pool_size') ? highest(['pool_size']) : 0
  return pool <= Math.max(10, others * 4) || shown.length === 1 ? Math.max(others, pool) : others
}

// The history with what was seen since; what it has itself is not there twice. As long as the server's own memory.
export function joinSamples(history: Sample[], since: Sample[], most = 720): Sample[] {
  const last = history.at(-1)?.at_ms ?? 0
  return [...history, ...since.filter((sample) => sample.at_ms > last)].slice(-most)
}
