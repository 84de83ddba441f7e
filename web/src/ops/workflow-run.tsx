// One run of a workflow, live: its blocks in the order in which they began, with what they said and gave.
import { useEffect, useState } from 'preact/hooks'
import { api } from '../api'
import { useLoad } from '../load'
import { Link } from '../router'
import { Button, Code, Confirm, durationText, Icon, jsonText, Json, Loading, PageFrame, Time, toast, Trouble } from '../ui/ui'
import { GraphView, blockIcons } from './graph-view'
import { follow } from './ndjson'
import { sayingOf, type Line } from './lines'
import type { BlockStatus, Workflow, WorkflowLine, WorkflowRun } from './types'
import { foldLines, noLines, type BlockView, type RunView } from './workflow-fold'
import { Id, StatusBadge } from './words'
import { inWorkspace } from './workspace'

export function WorkflowRunPage({ workflowId, id }: { workflowId: string; id: string }) {
  const workflow = useLoad((stop) => api.get<Workflow>(inWorkspace(`workflows/${workflowId}`), {}, stop), [workflowId])
  const run = useLoad((stop) => api.get<WorkflowRun>(inWorkspace(`workflow-runs/${id}`), {}, stop), [id])
  const { view, failure } = useLines(id)
  const [asks, setAsks] = useState(false)
  const status = view.status
  useEffect(() => { if (status !== 'running') run.reload() }, [status])
  const cancel = async () => {
    await api.post(inWorkspace(`workflow-runs/${id}/cancel`))
    toast('The workflow run is cancelled.')
  }
  return (
    <PageFrame title={workflow.data ? `Run of ${workflow.data.name}` : 'Workflow run'} back={{ to: `/workflows/${workflowId}?tab=runs`, label: workflow.data?.name ?? 'Workflow' }} about={<Id id={id} copy />}
      actions={view.run && status === 'running' && <Button kind="danger" icon="stop" onClick={() => setAsks(true)}>Cancel the run</Button>}>
      {failure ? <Trouble error={failure} /> : !view.run ? <Loading what="Waiting for the first line" /> : (
        <div class="workflow-run">
          <div class="blocks">
            <Summary view={view} run={run.data ?? view.run} />
            {view.blocks.map((block) => <BlockCard key={block.id} block={block} />)}
          </div>
          {workflow.data && <div class="card workflow-map"><GraphView definition={workflow.data.definition} statuses={statusesOf(view)} /></div>}
        </div>
      )}
      {asks && <Confirm title="Cancel this workflow run?" action="Cancel the run" onConfirm={cancel} onClose={() => setAsks(false)}><p>The block that is at work is stopped and its sandbox taken down. What the others gave stays.</p></Confirm>}
    </PageFrame>
  )
}

function useLines(id: string): { view: RunView; failure: unknown } {
  const [view, setView] = useState<RunView>(noLines)
  const [failure, setFailure] = useState<unknown>(null)
  useEffect(() => {
    const stop = new AbortController()
    setView(noLines)
    setFailure(null)
    follow<WorkflowLine>({
      path: inWorkspace(`workflow-runs/${id}/events`), stop: stop.signal, onLines: (lines) => setView((had) => foldLines(had, lines)), isLast: (line) => line.type === 'run.finished',
    }).catch((error) => { if (!stop.signal.aborted) setFailure(error) })
    return () => stop.abort()
  }, [id])
  return { view, failure }
}

const statusesOf = (view: RunView): Map<string, BlockStatus> =>
  new Map([...(view.run?.blocks ?? []).map((block): [string, BlockStatus] => [block.id, 'pending']), ...view.blocks.map((block): [string, BlockStatus] => [block.id, block.status])])

function Summary({ view, run }: { view: RunView; run: WorkflowRun }) {
  const end = run.ended_at ? Date.parse(run.ended_at) : Date.now()
  const outputs = Object.entries(view.outputs)
  return (
    <div class="card panel" role="status">
      <p class="run-line"><StatusBadge status={view.status} /> <span class="muted">began <Time at={run.created_at} />{run.ended_at && `, took ${durationText(end - Date.parse(run.created_at))}`}</span></p>
      {view.error && <p class="step-error"><code>{view.error.code}</code> {view.error.message}</p>}
      {Object.keys(run.inputs).length > 0 && <details><summary>Inputs</summary><Json value={run.inputs} label="Inputs" /></details>}
      {outputs.map(([name, value]) => <div key={name}><p class="step-label">{name}</p><Code text={jsonText(value)} label={name} /></div>)}
    </div>
  )
}

const linesShown = 200

function BlockCard({ block }: { block: BlockView }) {
  const took = block.startedAt && block.endedAt ? Date.parse(block.endedAt) - Date.parse(block.startedAt) : null
  const lines = block.lines.filter((line) => line.type !== 'result')
  const { response, ...others } = block.outputs ?? {}
  const rest = Object.fromEntries(Object.entries(others).filter(([, value]) => !(Array.isArray(value) && !value.length)))
  return (
    <section class={`card block-card ${block.status}`} aria-label={`Block ${block.id}`}>
      <header>
        <span class="block-icon"><Icon name={blockIcons[block.kind ?? 'agents']} /></span>
        <h2>{block.id}</h2><span class="faint">{block.kind}</span>
        <span class="block-end">{took !== null && <span class="faint">{durationText(took)}</span>}<StatusBadge status={block.status} /></span>
      </header>
      {lines.length > 0 && <BlockLines lines={lines} />}
      {block.error && <p class="step-error"><code>{block.error.code}</code> {block.error.message}</p>}
      {response !== undefined && <div><p class="step-label">Response</p><Code text={jsonText(response)} label={`Response of ${block.id}`} /></div>}
      {Object.keys(rest).length > 0 && <details><summary>Other outputs</summary><Json value={rest} label={`Outputs of ${block.id}`} /></details>}
      {block.runId && <p><Link to={`/runs/${block.runId}`}>Its run, with times and trace</Link></p>}
    </section>
  )
}

function BlockLines({ lines }: { lines: Line[] }) {
  const [all, setAll] = useState(false)
  const shown = all ? lines : lines.slice(-linesShown)
  return (
    <div class="block-lines" tabIndex={0} role="log" aria-label="Lines of the block">
      {shown.length < lines.length && <button type="button" class="link" onClick={() => setAll(true)}>Show {lines.length - shown.length} earlier lines</button>}
      {shown.map((line, i) => <div key={lines.length - shown.length + i} class={`trace-line line-${line.type}`}><span class="trace-type">{line.type}</span><span class="trace-text">{sayingOf(line)}</span></div>)}
    </div>
  )
}
