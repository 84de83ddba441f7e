// Turns the frames of a stream into the message that the server persists: folding all frames of a turn, and loading its
// message, show the same. Blocks are never changed in place: a block that is another object has changed.
import type {
  ApprovalBlock, BagFile, Block, FileChange, FilesBlock, Frame, Message, StepBlock, SubagentBlock, TextBlock,
} from './types'

export interface Turn {
  chatId: string
  streamId: string
  userMessageId: string
  title: string
  message: Message // as far as it has come
  over: boolean
  lastId: number // of the last frame that was folded; -1 before the first
  filler: string | null // bridges dead air, and is gone with the next thing that happens
  queued: { position: number; retryHintSeconds: number } | null
  tails: Map<string, string> // what a running step printed last; the message keeps what it printed first
  full: Set<string> // steps and sub-agents of which the message keeps no more
}

export const outputBytesMax = 16 * 1024 // of a step or a sub-agent, in the message
export const cutNote = '\n… (cut here; the run\'s trace has all of it)'
const assetsName = 'sluice.assets' // the custom event that tells which files were handed back
const runDiffName = 'sluice.run-diff' // the one that tells what the turn alone changed
const tailCharsMax = 24 * 1024 // of a step, on show while it runs

export function emptyTurn(streamId = '', createdAt = 0): Turn {
  return {
    chatId: '', streamId, userMessageId: '', title: '', over: false, lastId: -1, filler: null, queued: null, tails: new Map(), full: new Set(),
    message: { id: '', role: 'assistant', content: [], fileAttachments: [], createdAt, status: 'completed' },
  }
}

// Folds one frame into the turn. Frames that were folded before are passed over; false means that one is missing in
// between, and that the reader must ask again after `lastId`.
export function applyFrame(turn: Turn, frame: Frame): boolean {
  if (frame.id <= turn.lastId) return true
  if (frame.id !== turn.lastId + 1) return false
  turn.lastId = frame.id
  if (frame.event !== 'queued' && frame.event !== 'chat') turn.queued = null
  if (frame.event !== 'filler' && frame.event !== 'custom') turn.filler = null
  const fold = folds[frame.event]
  if (fold) fold(turn, frame.data as never)
  return true
}

const folds: Record<string, (turn: Turn, data: never) => void> = {
  // Its createdAt is the chat's; the message's own comes with the message.
  chat(turn, data: { chatId: string; streamId: string; userMessageId: string; messageId: string; title: string }) {
    turn.chatId = data.chatId
    turn.streamId = data.streamId
    turn.userMessageId = data.userMessageId
    turn.title = data.title
    turn.message.id = data.messageId
  },
  queued(turn, data: { position: number; retryHintSeconds: number }) { turn.queued = data },
  delta(turn, data: { text: string }) { grow(turn.message.content, 'text', data.text) },
  reasoning(turn, data: { text: string }) { grow(turn.message.content, 'reasoning', data.text) },
  replace(turn, data: { keptBytes: number }) { takeBack(turn.message.content, data.keptBytes) },
  filler(turn, data: { text: string }) { turn.filler = data.text },
  step(turn, { ts, ...said }: Omit<StepBlock, 'type'> & { ts: number }) {
    void ts
    const known = findStep(turn.message.content, said.id)
    // The outcome is in every event; the arguments and the output are not.
    const { result, error, durationMs, ...kept } = known.step ?? ({} as StepBlock)
    void [result, error, durationMs]
    place(turn.message.content, known.at, { ...kept, type: 'step', ...said })
    if (said.status !== 'running') turn.tails.delete(said.id)
  },
  output(turn, data: { id: string; stream: string; text: string }) { print(turn, data.id, data.text) },
  file(turn, data: { type: FileChange; path: string }) { changeFile(turn.message.content, data) },
  diff(turn, data: { diff: string }) { put(turn.message.content, (block) => block.type === 'diff', { type: 'diff', diff: data.diff }) },
  approval(turn, data: Omit<ApprovalBlock, 'type'>) {
    put(turn.message.content, (block) => block.type === 'approval' && block.approvalId === data.approvalId, { type: 'approval', ...data })
  },
  custom(turn, { name, value }: { name: string; value: unknown }) {
    const own = name === runDiffName ? (value as { diff?: string } | null)?.diff : undefined
    if (own !== undefined) return put(turn.message.content, (block) => block.type === 'run_diff', { type: 'run_diff', diff: own })
    const files = name === assetsName ? (value as { files?: BagFile[] } | null)?.files : undefined
    turn.message.content.push(files ? { type: 'assets', files } : { type: 'tool_output', name, value })
  },
  subagent(turn, { text, ...said }: Omit<SubagentBlock, 'type'>) {
    const blocks = turn.message.content
    put(blocks, (block) => block.type === 'subagent' && block.id === said.id, { type: 'subagent', ...said })
    if (!text) return
    const at = blocks.findLastIndex((block) => block.type === 'subagent' && block.id === said.id)
    const known = blocks[at] as SubagentBlock
    blocks[at] = { ...known, text: bounded(turn, `subagent ${said.id}`, known.text ?? '', text) }
  },
  result(turn, data: { message: Message }) { adopt(turn, data.message) },
  error(turn, data: { code: string; message: string; message_?: Message }) {
    if (data.message_) adopt(turn, data.message_)
    else {
      turn.message.status = data.code === 'run-cancelled' ? 'cancelled' : 'failed'
      turn.message.error = { code: data.code, message: data.message }
    }
  },
  done(turn) { turn.over = true },
}

function grow(blocks: Block[], type: 'text' | 'reasoning', text: string): void {
  if (!text) return
  const last = blocks[blocks.length - 1]
  if (last?.type === type) blocks[blocks.length - 1] = { type, text: last.text + text }
  else blocks.push({ type, text })
}

// The block that fits is changed, and one that is not there yet comes last. What happens is nearly always near the end.
function put(blocks: Block[], fits: (block: Block) => boolean, next: Block): void {
  const at = blocks.findLastIndex(fits)
  place(blocks, at, { ...blocks[at], ...next } as Block)
}

function place(blocks: Block[], at: number, block: Block): void {
  if (at < 0) blocks.push(block)
  else blocks[at] = block
}

function findStep(blocks: Block[], id: string): { at: number; step: StepBlock | undefined } {
  const at = blocks.findLastIndex((block) => block.type === 'step' && block.id === id)
  return { at, step: blocks[at] as StepBlock | undefined }
}

// What is kept of a text that may be long, with `more` at its end.
function bounded(turn: Turn, name: string, kept: string, more: string): string {
  if (turn.full.has(name)) return kept
  const whole = kept + more
  const cut = whole.length * 3 <= outputBytesMax ? whole : firstBytes(whole, outputBytesMax) // a letter has 3 bytes at most
  if (cut.length === whole.length) return whole
  turn.full.add(name)
  return cut + cutNote
}

function print(turn: Turn, id: string, text: string): void {
  const { at, step } = findStep(turn.message.content, id)
  if (!step || !text) return
  turn.tails.set(id, ((turn.tails.get(id) ?? '') + text).slice(-tailCharsMax))
  turn.message.content[at] = { ...step, output: bounded(turn, `step ${id}`, step.output ?? '', text) }
}

function changeFile(blocks: Block[], { type, path }: { type: FileChange; path: string }): void {
  const at = blocks.findIndex((block) => block.type === 'files')
  if (at < 0) {
    blocks.push({ type: 'files', files: [{ type, path }] })
    return
  }
  const files = (blocks[at] as FilesBlock).files
  const known = files.findIndex((file) => file.path === path)
  blocks[at] = { type: 'files', files: known < 0 ? [...files, { type, path }] : files.map((file, i) => (i === known ? { type, path } : file)) }
}

// The text so far, over all of its blocks, keeps its first bytes.
function takeBack(blocks: Block[], keptBytes: number): void {
  let left = keptBytes
  for (let i = 0; i < blocks.length; i++) {
    const block = blocks[i]!
    if (block.type !== 'text') continue
    const text = firstBytes(block.text, Math.max(0, left))
    left -= utf8.encode(block.text).length
    if (text !== block.text) blocks[i] = { type: 'text', text } satisfies TextBlock
  }
  for (let i = blocks.length; i-- > 0;) {
    const block = blocks[i]!
    if (block.type === 'text' && !block.text) blocks.splice(i, 1)
  }
}

const utf8 = new TextEncoder()

export function firstBytes(text: string, bytes: number): string {
  const all = utf8.encode(text)
  if (all.length <= bytes) return text
  while (bytes > 0 && (all[bytes]! & 0xc0) === 0x80) bytes-- // never half a letter
  return new TextDecoder().decode(all.subarray(0, bytes))
}

// What the server persisted has the last word. Blocks that are as they were stay the same objects, so that nothing on
// the screen is drawn again.
function adopt(turn: Turn, message: Message): void {
  const had = turn.message.content
  const content = message.content.map((block, i) => (same(had[i], block) ? had[i]! : block))
  turn.message = { ...message, content }
}

function same(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false
  const [ours, theirs] = [a as Record<string, unknown>, b as Record<string, unknown>]
  const keys = Object.keys(ours)
  return keys.length === Object.keys(theirs).length && keys.every((key) => key in theirs && same(ours[key], theirs[key]))
}
