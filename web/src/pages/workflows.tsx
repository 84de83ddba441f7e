// Workflows: small graphs of blocks, their definitions and their runs.
import { api } from '../api'
import { useEvery, useLoad } from '../load'
import { List } from '../ops/list-page'
import { usePaged } from '../ops/paged'
import { Remove } from '../ops/remove'
import { briefText } from '../ops/scale'
import type { Workflow, WorkflowRun } from '../ops/types'
import { WorkflowEditor } from '../ops/workflow-editor'
import { WorkflowRunPage } from '../ops/workflow-run'
import { WorkflowStart } from '../ops/workflow-start'
import { shortId, Shown, StatusBadge, Tabs } from '../ops/words'
import { inWorkspace } from '../ops/workspace'
import type { PageProps } from '../pages'
import { Link, navigate, setQuery } from '../router'
import { Icon, PageFrame, Time, type Column } from '../ui/ui'

export default function WorkflowsPage({ params, query }: PageProps) {
  if (params.run) return <WorkflowRunPage key={params.run} workflowId={params.id!} id={params.run} />
  return params.id ? <WorkflowPage key={params.id} id={params.id} tab={query.get('tab') ?? 'definition'} /> : <Workflows />
}

const columns: Column<Workflow>[] = [
  { label: 'Name', width: '34%', cell: (workflow) => workflow.name },
  { label: 'Description', cell: (workflow) => <span title={workflow.description}>{workflow.description || '–'}</span> },
  { label: 'Blocks', width: '6rem', wideOnly: true, align: 'end', cell: (workflow) => workflow.definition.blocks.length },
  { label: 'Changed', width: '7rem', wideOnly: true, cell: (workflow) => <Time at={workflow.updated_at} /> },
]

function Workflows() {
  const list = usePaged<Workflow>(inWorkspace('workflows'))
  const add = <Link to="/workflows/new" class="button primary"><Icon name="plus" /><span>New workflow</span></Link>
  return (
    <PageFrame title="Workflows" full about="Small graphs of agents, model calls, requests and conditions. A run survives its caller and a restart." actions={add}>
      <List label="Workflows" list={list} columns={columns} idOf={(workflow) => workflow.id} to={(workflow) => `/workflows/${workflow.id}`} empty={{ icon: 'workflows', title: 'No workflows yet', text: 'What an agent does the same way each time can be a workflow.', action: add }} />
    </PageFrame>
  )
}

function WorkflowPage({ id, tab }: { id: string; tab: string }) {
  const isNew = id === 'new'
  const found = useLoad(async (stop) => (isNew ? null : api.get<Workflow>(inWorkspace(`workflows/${id}`), {}, stop)), [id])
  const name = found.data?.name
  const tabs = [{ id: 'definition', label: 'Definition' }, { id: 'run', label: 'Run' }, { id: 'runs', label: 'Earlier runs' }]
  return (
    <PageFrame title={isNew ? 'New workflow' : name ?? 'Workflow'} back={{ to: '/workflows', label: 'Workflows' }} about={found.data?.description} actions={found.data && <>
      <Tabs label="What is shown" tabs={tabs} value={tab} onChoose={(chosen) => setQuery({ tab: chosen === 'definition' ? null : chosen })} />
      <Remove path={inWorkspace(`workflows/${id}`)} what={name!} onDone={() => navigate('/workflows')}>Its earlier runs are no longer listed.</Remove>
    </>}>
      <Shown of={found}>{(workflow) => !workflow || tab === 'definition' ? <WorkflowEditor key={id} workflow={workflow} onSaved={found.set} />
        : tab === 'run' ? <WorkflowStart workflow={workflow} /> : <Runs workflow={workflow} />}</Shown>
    </PageFrame>
  )
}

const took = (run: WorkflowRun): string => briefText(Math.max(0, (run.ended_at ? Date.parse(run.ended_at) : Date.now()) - Date.parse(run.created_at)))

const runColumns: Column<WorkflowRun>[] = [
  { label: 'Run', cell: (run) => <span class="mono" title={run.id}>{shortId(run.id)}</span> },
  { label: 'Status', width: '7rem', cell: (run) => <StatusBadge status={run.status} /> },
  { label: 'Inputs', width: '40%', wideOnly: true, cell: (run) => <span class="mono">{JSON.stringify(run.inputs).slice(0, 200)}</span> },
  { label: 'Began', width: '7rem', wideOnly: true, cell: (run) => <Time at={run.created_at} /> },
  { label: 'Took', width: '6rem', align: 'end', cell: took },
]

function Runs({ workflow }: { workflow: Workflow }) {
  const list = usePaged<WorkflowRun>(inWorkspace(`workflows/${workflow.id}/runs`))
  useEvery(list.rows?.some((run) => run.status === 'running') && list.rows.length <= 100 ? 3000 : null, list.reload)
  return <div class="boxed"><List label={`Runs of ${workflow.name}, newest first`} list={list} columns={runColumns} idOf={(run) => run.id} to={(run) => `/workflows/${workflow.id}/runs/${run.id}`} empty={{ icon: 'runs', title: 'It has not run yet' }} /></div>
}
