// Messages. A long answer is drawn in slabs of rows: a slab none of whose rows changed is left alone, and one that is far
// from the view leaves the document.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { VNode } from 'preact'
import { Button, CopyButton } from '../ui/controls'
import { Icon } from '../ui/icon'
import { memo } from '../ui/memo'
import { Sentence, Time } from '../ui/words'
import { ApprovalCard } from './approval-card'
import { Changes, FileChips } from './files'
import { AnswerFiles } from './file-link'
import type { Turn } from './fold'
import { Markdown } from './markdown'
import { returnedFiles } from './named-file'
import { Reasoning } from './reasoning'
import { rowsOf, slabsOf, textOf, type Row } from './rows'
import { Step, Subagent, ToolOutput } from './step'
import { changeBlocks } from './tree'
import type { Message } from './types'

const longMessage = 2500

export const UserMessage = memo(function UserMessage({ message }: { message: Message }) {
  const [whole, setWhole] = useState(false)
  const text = textOf(message.content)
  const cut = !whole && text.length > longMessage * 1.2
  return (
    <article class="message user" aria-label="You">
      <h2 class="hidden">You said</h2>
      <div class="bubble">
        {text && <p class="as-is">{cut ? `${text.slice(0, longMessage)}…` : text}</p>}
        {cut && <Button small onClick={() => setWhole(true)}>Show all of it</Button>}
        <FileChips files={message.fileAttachments} label="Attachments" />
      </div>
      <footer><Time at={message.createdAt} exact /><CopyButton text={text} label="Copy message" /></footer>
    </article>
  )
})

interface AnswerProps { message: Message; turn: Turn | null; tick: number; link: 'live' | 'lost'; virtual: boolean }

// An answer, also one that still comes: then `turn` is folded in place, and `tick` says that it has changed.
export const Answer = memo(function Answer({ message, turn, link, virtual }: AnswerProps) {
  const state = turn ? { class: 'live', 'aria-label': 'Assistant, answering', 'aria-busy': true } : { class: '', 'aria-label': 'Assistant' }
  return (
    <article {...state} class={`message assistant ${state.class}`}>
      <h2 class="hidden">The assistant answered</h2>
      <AnswerFiles.Provider value={returnedFiles(message)}>
        <Rows message={message} live={turn !== null} tails={turn?.tails ?? null} virtual={virtual} />
      </AnswerFiles.Provider>
      {turn ? <Progress turn={turn} link={link} /> : <Ending message={message} />}
    </article>
  )
})

function Progress({ turn, link }: { turn: Turn; link: 'live' | 'lost' }) {
  const content = turn.message.content
  if (link === 'lost') return <p class="pulse"><span class="spinner" aria-hidden="true" /> The connection was lost. The run goes on; fetching what was missed…</p>
  if (turn.queued) return <Queue queued={turn.queued} />
  if (turn.filler) return <p class="filler">{turn.filler}</p>
  return <Pulse last={content[content.length - 1]?.type} />
}

function Ending({ message }: { message: Message }) {
  return (
    <>
      {message.status === 'cancelled' && <p class="ending"><Icon name="stop" size={14} /> Stopped.</p>}
      {message.status === 'failed' && (
        <p class="ending failed"><Icon name="alert" size={14} /> <Sentence text={message.error?.message ?? 'It failed.'} />{message.error && <code>{message.error.code}</code>}</p>
      )}
      <footer>
        <Time at={message.createdAt} exact />
        {message.usage && <span>{message.usage.inputTokens.toLocaleString()} in · {message.usage.outputTokens.toLocaleString()} out</span>}
        <CopyButton text={() => textOf(message.content)} label="Copy answer" />
      </footer>
    </>
  )
}

function Pulse({ last }: { last: string | undefined }) {
  if (last === 'text') return <span class="caret" aria-hidden="true" />
  if (last === 'approval') return null
  return <p class="pulse"><span class="dots" aria-hidden="true"><i /><i /><i /></span><span class="hidden">Working</span></p>
}

function Queue({ queued }: { queued: { position: number; retryHintSeconds: number } }) {
  const { position } = queued
  const place = position <= 1 ? 'It is next in line.' : `${position - 1} ${position === 2 ? 'run is' : 'runs are'} before it.`
  return (
    <div class="queue" role="status">
      <Icon name="clock" />
      <div><strong>All slots are busy.</strong> {place} It starts as soon as a slot is free.</div>
      <span class="queue-number" aria-hidden="true">{position}</span>
    </div>
  )
}

const slabRows = 40

interface RowsProps { message: Message; live: boolean; tails: Map<string, string> | null; virtual: boolean }

function Rows({ message, live, tails, virtual }: RowsProps) {
  const rows = rowsOf(message.content)
  const slabs = slabsOf(rows, slabRows)
  return (
    <>
      {slabs.map((slab, i) => (
        <Slab key={i} rows={slab} owner={message.id} live={live} tails={i >= slabs.length - 2 ? tails : null} virtual={virtual && !(live && i >= slabs.length - 2)} last={i === slabs.length - 1} />
      ))}
      <Changes blocks={changeBlocks(message.content)} owner={message.id} live={live} />
    </>
  )
}

interface SlabProps { rows: Row[]; owner: string; live: boolean; tails: Map<string, string> | null; virtual: boolean; last: boolean }

class SlabMemory { rows: Row[] = []; key = ''; drawn: VNode[] = [] }

function Slab({ rows, owner, live, tails, virtual, last }: SlabProps) {
  const box = useRef<HTMLDivElement>(null)
  const memory = useRef(new SlabMemory())
  const height = useRef(0)
  const [near, setNear] = useState(!virtual)
  useEffect(() => {
    if (!virtual) { setNear(true); return }
    const watch = new IntersectionObserver(([entry]) => {
      if (!entry!.isIntersecting && box.current) height.current = box.current.offsetHeight || height.current
      setNear(entry!.isIntersecting)
    }, { rootMargin: '1500px 0px' })
    watch.observe(box.current!)
    return () => watch.disconnect()
  }, [virtual])
  if (!near) return <div ref={box} class="slab" style={{ height: `${height.current || rows.length * 44}px` }} />
  return <div ref={box} class="slab" style={{ height: '' }}>{drawnRows(memory.current, rows, owner, live && last, tails)}</div>
}

function drawnRows(memory: SlabMemory, rows: Row[], owner: string, live: boolean, tails: Map<string, string> | null): VNode[] {
  const isSame = !tails && memory.key === `${owner}${live}` && memory.rows.length === rows.length && memory.rows.every((row, i) => row === rows[i])
  if (isSame) return memory.drawn
  memory.rows = rows
  memory.key = `${owner}${live}`
  memory.drawn = rows.map((row, i) => <RowView key={row.at} row={row} owner={owner} live={live} last={i === rows.length - 1} tail={row.block.type === 'step' ? tails?.get(row.block.id) : undefined} />)
  return memory.drawn
}

interface RowProps { row: Row; owner: string; live: boolean; last: boolean; tail: string | undefined }

const RowView = memo(function RowView({ row, owner, live, last, tail }: RowProps) {
  const { block, at } = row
  switch (block.type) {
    case 'text': return <Markdown text={block.text} />
    case 'reasoning': return <Reasoning text={block.text} id={`${owner}/thought-${at}`} live={live && last} />
    case 'step': return <Step step={block} owner={owner} tail={tail} />
    case 'approval': return <ApprovalCard approval={block} live={live} />
    case 'subagent': return <Subagent block={block} owner={owner} />
    case 'tool_output': return <ToolOutput block={block} owner={owner} at={at} />
    case 'assets': return <FileChips files={block.files} label="Files of the answer" />
    default: return null
  }
})
