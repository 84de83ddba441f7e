// The lines of a workflow run, gathered by block.
import type { Block, BlockStatus, WorkflowLine, WorkflowRun } from './types'
import type { Line } from './lines'

export interface BlockView {
  id: string
  kind: Block['type'] | undefined
  status: BlockStatus
  runId: string | undefined
  lines: Line[]
  outputs: Record<string, unknown> | undefined
  error: { code: string; message: string } | undefined
  startedAt: string | undefined
  endedAt: string | undefined
}
export interface RunView {
  run: WorkflowRun | undefined
  blocks: BlockView[] // in the order in which they began
  status: WorkflowRun['status']
  outputs: Record<string, unknown>
  error: { code: string; message: string } | undefined
}

export const noLines: RunView = { run: undefined, blocks: [], status: 'running', outputs: {}, error: undefined }

export function foldLines(view: RunView, lines: WorkflowLine[]): RunView {
  const blocks = [...view.blocks]
  const next = { ...view, blocks }
  const own = new Set<string>() // blocks that were copied for this batch
  const change = (id: string): BlockView => {
    let at = blocks.findIndex((block) => block.id === id)
    if (at < 0) at = blocks.push({ id, kind: undefined, status: 'pending', runId: undefined, lines: [], outputs: undefined, error: undefined, startedAt: undefined, endedAt: undefined }) - 1
    if (!own.has(id)) blocks[at] = { ...blocks[at]!, lines: [...blocks[at]!.lines] }
    own.add(id)
    return blocks[at]!
  }
  for (const line of lines) {
    if (line.type === 'run.started') next.run = line.run
    else if (line.type === 'run.finished') Object.assign(next, { status: line.status, outputs: line.outputs ?? {}, error: line.error })
    else if (line.block === undefined) continue
    else if (line.type === 'block.started') Object.assign(change(line.block), { kind: line.kind, status: 'running', runId: line.run_id, startedAt: line.ts })
    else if (line.type === 'block.line') change(line.block).lines.push(line.line as Line)
    else if (line.type === 'block.finished') Object.assign(change(line.block), { status: line.status, outputs: line.outputs, error: line.error, endedAt: line.ts })
  }
  return next
}
