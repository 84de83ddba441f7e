// Where the blocks of a workflow are drawn: each below everything it follows.
import type { FieldError } from '../api'
import type { Block, Definition, Edge } from './types'

export const node = { width: 164, height: 46, gapX: 28, gapY: 42 }

export interface Placed { block: Block; x: number; y: number }
export interface Drawn { edge: Edge; path: string; labelX: number; labelY: number }
export interface Graph { blocks: Placed[]; edges: Drawn[]; width: number; height: number }

// The longest way to each block; blocks of a cycle stay where the walk left them; the cycle is reported elsewhere.
export function ranksOf(blocks: Block[], edges: Edge[]): Map<string, number> {
  const ranks = new Map(blocks.map((block) => [block.id, 0]))
  for (let round = 0; round < blocks.length; round++) {
    let moved = false
    for (const { from, to } of edges) {
      const next = (ranks.get(from) ?? 0) + 1
      if (!ranks.has(from) || !ranks.has(to) || next >= blocks.length + 1 || ranks.get(to)! >= next) continue
      ranks.set(to, next)
      moved = true
    }
    if (!moved) break
  }
  return ranks
}

export function layOutGraph(definition: Pick<Definition, 'blocks' | 'edges'>): Graph {
  const edges = (definition.edges ?? []).filter((edge) => definition.blocks.some((block) => block.id === edge.from) && definition.blocks.some((block) => block.id === edge.to))
  const ranks = ranksOf(definition.blocks, edges)
  const rows: Block[][] = []
  for (const block of definition.blocks) (rows[ranks.get(block.id)!] ??= []).push(block)
  const widest = Math.max(1, ...rows.map((row) => row?.length ?? 0))
  const side = edges.some((edge) => ranks.get(edge.to)! - ranks.get(edge.from)! !== 1) ? 36 : 0
  const width = widest * node.width + (widest - 1) * node.gapX + side * 2
  const places = new Map<string, Placed>()
  rows.forEach((row, rank) => {
    const rowWidth = row.length * node.width + (row.length - 1) * node.gapX
    row.forEach((block, i) => places.set(block.id, { block, x: (width - rowWidth) / 2 + i * (node.width + node.gapX), y: rank * (node.height + node.gapY) }))
  })
  return {
    blocks: definition.blocks.map((block) => places.get(block.id)!),
    edges: edges.map((edge) => drawEdge(edge, places.get(edge.from)!, places.get(edge.to)!, ranks.get(edge.to)! - ranks.get(edge.from)!, width)),
    width, height: rows.length * node.height + Math.max(0, rows.length - 1) * node.gapY,
  }
}

// An edge over several rows goes round the side, so that it crosses no block.
function drawEdge(edge: Edge, from: Placed, to: Placed, rows: number, width: number): Drawn {
  const x1 = from.x + node.width / 2
  const y1 = from.y + node.height
  const x2 = to.x + node.width / 2
  const y2 = to.y
  if (rows === 1) {
    const middle = (y1 + y2) / 2
    return { edge, path: `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2 - 2}`, labelX: (x1 + x2) / 2, labelY: middle }
  }
  const right = x1 + x2 >= width - 1
  const startX = right ? from.x + node.width : from.x
  const endX = right ? to.x + node.width : to.x
  const startY = from.y + node.height / 2
  const endY = to.y + node.height / 2
  const out = right ? width - 6 : 6
  return { edge, path: `M${startX} ${startY}C${out} ${startY} ${out} ${startY} ${out} ${startY + 20}V${endY - 20}C${out} ${endY} ${out} ${endY} ${endX + (right ? 2 : -2)} ${endY}`, labelX: right ? out - 14 : out + 14, labelY: (startY + endY) / 2 }
}

// What can be seen without the server; it has the last word when the workflow is saved.
export function checkDefinition(value: unknown): FieldError[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ pointer: '', message: 'must be an object' }]
  const { blocks, edges } = value as Partial<Definition>
  if (!Array.isArray(blocks) || !blocks.length) return [{ pointer: '/blocks', message: 'must be a list of at least one block' }]
  const errors: FieldError[] = []
  const ids = new Set<string>()
  blocks.forEach((block, i) => {
    if (typeof block?.id !== 'string') errors.push({ pointer: `/blocks/${i}`, message: 'needs an id' })
    else if (ids.has(block.id)) errors.push({ pointer: `/blocks/${i}/id`, message: `${block.id} is there twice` })
    else ids.add(block.id)
    if (!['agents', 'inference', 'http', 'condition'].includes(block?.type)) errors.push({ pointer: `/blocks/${i}`, message: 'type must be agents, inference, http or condition' })
  })
  if (edges && !Array.isArray(edges)) errors.push({ pointer: '/edges', message: 'must be a list' })
  else edges?.forEach((edge, i) => {
    for (const end of ['from', 'to'] as const) if (!ids.has(edge?.[end])) errors.push({ pointer: `/edges/${i}/${end}`, message: `there is no block ${JSON.stringify(edge?.[end] ?? '')}` })
  })
  return errors
}

export const isDrawable = (value: unknown): value is Definition =>
  Array.isArray((value as Definition | null)?.blocks) && (value as Definition).blocks.every((block) => typeof block?.id === 'string') && new Set((value as Definition).blocks.map((block) => block.id)).size === (value as Definition).blocks.length
