// The blocks of a message as rows on the screen. Files and differences have a place of their own below; text that goes
// on after one of them is one text.
import { isOfChanges } from './tree'
import type { Block } from './types'

export interface Row { at: number; block: Block } // at: of its first block

const known = new WeakMap<Block, Row>()

function rowFor(block: Block, at: number): Row {
  let row = known.get(block)
  if (!row || row.at !== at) known.set(block, (row = { at, block }))
  return row
}

interface Join { parts: Block[]; block: Block }
const joins = new WeakMap<Block, Join>() // by the first part

export function rowsOf(blocks: Block[]): Row[] {
  const rows: Row[] = []
  let texts: Block[] = []
  let from = 0
  const flush = () => {
    if (texts.length) rows.push(rowFor(texts.length === 1 ? texts[0]! : joined(texts), from))
    texts = []
  }
  blocks.forEach((block, at) => {
    if (isOfChanges(block)) return
    if (block.type === 'text') {
      if (!texts.length) from = at
      texts.push(block)
      return
    }
    flush()
    rows.push(rowFor(block, at))
  })
  flush()
  return rows
}

function joined(parts: Block[]): Block {
  const kept = joins.get(parts[0]!)
  if (kept && kept.parts.length === parts.length && kept.parts.every((part, i) => part === parts[i])) return kept.block
  const block: Block = { type: 'text', text: textOf(parts) }
  joins.set(parts[0]!, { parts, block })
  return block
}

export function textOf(blocks: Block[]): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

// Rows in slabs of equal number.
export function slabsOf(rows: Row[], size: number): Row[][] {
  const slabs: Row[][] = []
  for (let i = 0; i < rows.length; i += size) slabs.push(rows.slice(i, i + size))
  return slabs
}
