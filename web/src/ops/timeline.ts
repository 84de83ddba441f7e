// Where the phases of a run are drawn: one lane for each kind, more where phases of a kind overlap.
import { linear } from './scale'
import type { Phase, PhaseKind, RunTimeline } from './types'

export const kinds: { kind: PhaseKind; label: string }[] = [
  { kind: 'queue', label: 'Queue' }, { kind: 'box', label: 'Sandbox' }, { kind: 'first_token', label: 'First token' },
  { kind: 'step', label: 'Steps' }, { kind: 'gate', label: 'Gates' }, { kind: 'text', label: 'Text' },
]
const lanesMax = 6 // of one kind; what overlaps more is drawn over the last
const barWidthMin = 3

export interface Bar { phase: Phase; index: number; x: number; width: number; lane: number }
export interface Lane { kind: PhaseKind; label: string; first: number; count: number }
export interface Layout { bars: Bar[]; lanes: Lane[]; laneCount: number; totalMs: number }

export function totalOf(timeline: RunTimeline, now: number): number {
  const until = (timeline.ended_at_ms ?? now) - timeline.started_at_ms
  return Math.max(1, until, ...timeline.phases.map((phase) => phase.to_ms ?? phase.from_ms))
}

export function durationOf(phase: Phase, totalMs: number): number {
  return Math.max(0, (phase.to_ms ?? totalMs) - phase.from_ms)
}

export function layOut(timeline: RunTimeline, width: number, now: number): Layout {
  const totalMs = totalOf(timeline, now)
  const x = linear(0, totalMs, width)
  const bars: Bar[] = []
  const lanes: Lane[] = []
  let first = 0
  for (const { kind, label } of kinds) {
    const ends: number[] = []
    timeline.phases.forEach((phase, index) => {
      if (phase.phase !== kind) return
      const end = phase.to_ms ?? totalMs
      let lane = ends.findIndex((taken) => taken <= phase.from_ms)
      if (lane < 0) lane = ends.length < lanesMax ? ends.length : lanesMax - 1
      ends[lane] = Math.max(end, ends[lane] ?? 0)
      const from = Math.min(x(phase.from_ms), width - barWidthMin)
      bars.push({ phase, index, x: from, width: Math.max(barWidthMin, x(end) - from), lane: first + lane })
    })
    if (!ends.length) continue
    lanes.push({ kind, label, first, count: ends.length })
    first += ends.length
  }
  return { bars, lanes, laneCount: first, totalMs }
}
