// One thing that the agent did: a line that opens.
import { jsonText, Code } from '../ui/code'
import { Icon } from '../ui/icon'
import { memo } from '../ui/memo'
import { errorBeyond, printedText } from '../ui/text'
import { durationText } from '../ui/words'
import { LiveText } from './live-text'
import { openedSignal } from './opened'
import type { StepBlock, SubagentBlock, ToolOutputBlock } from './types'

const telling = ['command', 'path', 'file_path', 'pattern', 'query', 'url', 'reason', 'name', 'description']

// What a call is about, in one line.
export function summaryOf(args: unknown): string {
  if (args === undefined || args === null) return ''
  if (typeof args === 'string') return args.slice(0, 300)
  const object = args as Record<string, unknown>
  const key = telling.find((name) => typeof object[name] === 'string')
  const text = key ? String(object[key]) : Object.keys(object).length ? JSON.stringify(object) : ''
  return text.replace(/\s+/g, ' ').slice(0, 300)
}

interface StepProps { step: StepBlock; owner: string; tail: string | undefined }

export const Step = memo(function Step({ step, owner, tail }: StepProps) {
  const open = openedSignal(`${owner}/${step.id}`)
  const id = `step-${owner}-${step.id}`
  return (
    <div class={`step ${step.status}${open.value ? ' open' : ''}${step.subagent ? ' nested' : ''}`}>
      <button type="button" class="step-head" aria-expanded={open.value} aria-controls={id} onClick={() => { open.value = !open.value }}>
        <Mark status={step.status} />
        <span class="step-name">{step.name}</span>
        <span class="step-about">{summaryOf(step.args)}</span>
        {step.subagent && <span class="step-time">of a sub-agent</span>}
        {step.durationMs !== undefined && <span class="step-time">{durationText(step.durationMs)}</span>}
        <span class="step-chevron"><Icon name="chevron" size={14} /></span>
      </button>
      {open.value && <div class="step-body" id={id}><Inside step={step} tail={tail} /></div>}
    </div>
  )
})

function Mark({ status }: { status: StepBlock['status'] }) {
  if (status === 'running') return <span class="step-mark"><span class="spinner" role="img" aria-label="running" /></span>
  return <span class="step-mark"><Icon name={status === 'failed' ? 'close' : 'check'} size={14} label={status} /></span>
}

function Inside({ step, tail }: { step: StepBlock; tail: string | undefined }) {
  const printed = tail ?? step.output
  const output = printed && printedText(printed)
  const result = step.result === undefined ? '' : printedText(jsonText(step.result))
  const error = step.error === undefined ? '' : errorBeyond(printedText(typeof step.error === 'string' ? step.error : jsonText(step.error)), output ?? '')
  return (
    <>
      {step.args !== undefined && <Section title="Arguments"><Arguments args={step.args} /></Section>}
      {output && <Section title={tail === undefined ? 'Output' : 'Live output'}><LiveText text={output} label="Output" /></Section>}
      {error && <Section title="Error"><p class="step-error">{error}</p></Section>}
      {result && result.trim() !== (output ?? '').trim() && <Section title="Result"><Code text={result} label="Result" /></Section>}
      {step.status === 'running' && !output && <p class="faint">It runs; nothing was printed yet.</p>}
    </>
  )
}

function Section({ title, children }: { title: string; children: preact.ComponentChildren }) {
  return <section><p class="step-label">{title}</p>{children}</section>
}

// Texts of several lines are shown as such; the rest as JSON.
function Arguments({ args }: { args: unknown }) {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return <Code text={jsonText(args)} label="Arguments" />
  const entries = Object.entries(args)
  if (entries.length === 1 && typeof entries[0]![1] === 'string') return <Code text={entries[0]![1]} label={entries[0]![0]} />
  return (
    <dl class="arguments">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' && !value.includes('\n') && value.length < 200 ? <code>{value}</code> : <Code text={jsonText(value)} label={name} />}</dd>
        </div>
      ))}
    </dl>
  )
}

export const Subagent = memo(function Subagent({ block, owner }: { block: SubagentBlock; owner: string }) {
  const open = openedSignal(`${owner}/sub-${block.id}`)
  const isOver = block.status !== 'running' && block.status !== 'started'
  const status = block.status === 'failed' ? 'failed' : isOver ? 'succeeded' : 'running'
  return (
    <div class={`step ${status}${open.value ? ' open' : ''}`}>
      <button type="button" class="step-head" aria-expanded={open.value} onClick={() => { open.value = !open.value }}>
        <Mark status={status} />
        <span class="step-name">{block.name || 'sub-agent'}</span>
        <span class="step-about">{block.error ?? lastLine(block.text ?? '')}</span>
        <span class="step-time">sub-agent</span>
        <span class="step-chevron"><Icon name="chevron" size={14} /></span>
      </button>
      {open.value && (
        <div class="step-body">
          {block.text ? <LiveText text={block.text} label={`What ${block.name} said`} /> : <p class="faint">It has said nothing yet.</p>}
          {block.error && <p class="step-error">{block.error}</p>}
        </div>
      )}
    </div>
  )
})

function lastLine(text: string): string {
  return text.trimEnd().slice(-300).split('\n').pop()!
}

export const ToolOutput = memo(function ToolOutput({ block, owner, at }: { block: ToolOutputBlock; owner: string; at: number }) {
  const open = openedSignal(`${owner}/custom-${at}`)
  return (
    <div class={`step succeeded${open.value ? ' open' : ''}`}>
      <button type="button" class="step-head" aria-expanded={open.value} onClick={() => { open.value = !open.value }}>
        <span class="step-mark"><Icon name="info" size={14} /></span>
        <span class="step-name">{block.name}</span>
        <span class="step-about">{summaryOf(block.value)}</span>
        <span class="step-chevron"><Icon name="chevron" size={14} /></span>
      </button>
      {open.value && <div class="step-body"><Code text={jsonText(block.value)} label={block.name} /></div>}
    </div>
  )
})
