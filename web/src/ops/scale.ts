// Round numbers for the axes of pictures.

// From 0 up to `max` or just over it, in steps of 1, 2 or 5 times a power of ten; whole numbers only.
export function countTicks(max: number, wanted = 4): number[] {
  const rough = Math.max(1, max) / wanted
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? power)
  const ticks = [0]
  while (ticks.at(-1)! < Math.max(1, max)) ticks.push(ticks.at(-1)! + step)
  return ticks
}

const spans = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000]

export function spanStep(ms: number, wanted: number): number {
  return spans.find((span) => ms / span <= wanted) ?? Math.ceil(ms / wanted / 86_400_000) * 86_400_000
}

// Offsets within `total` milliseconds, from 0.
export function spanTicks(total: number, wanted: number): number[] {
  const step = spanStep(total, wanted)
  return Array.from({ length: Math.floor(total / step) + 1 }, (_, i) => i * step)
}

// Moments between two, on round times of the clock.
export function clockTicks(from: number, to: number, wanted: number): number[] {
  const step = spanStep(Math.max(1, to - from), wanted)
  const first = Math.ceil(from / step) * step
  return first > to ? [] : Array.from({ length: Math.floor((to - first) / step) + 1 }, (_, i) => first + i * step)
}

export function spanText(ms: number): string {
  if (ms === 0) return '0'
  if (ms < 1000) return `${ms} ms`
  if (ms < 60_000) return `${ms / 1000} s`
  if (ms < 3_600_000) return `${ms / 60_000} min`
  return `${ms / 3_600_000} h`
}

// How long something took, for a narrow column.
export function briefText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  return minutes < 60 ? `${minutes}m ${Math.floor((ms % 60_000) / 1000)}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`
}

export function linear(from: number, to: number, width: number): (value: number) => number {
  const span = Math.max(1e-9, to - from)
  return (value) => ((value - from) / span) * width
}
