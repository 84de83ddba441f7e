// Agents, and the endpoints that their models are at.
import { useState } from 'preact/hooks'
import { AgentEditor } from '../ops/agent-editor'
import { Endpoints } from '../ops/endpoints'
import { List } from '../ops/list-page'
import { usePaged } from '../ops/paged'
import type { Agent } from '../ops/types'
import { Tabs } from '../ops/words'
import type { PageProps } from '../pages'
import { Link, setQuery } from '../router'
import { Badge, Button, Icon, PageFrame, Time, type Column } from '../ui/ui'

export default function AgentsPage({ params, query }: PageProps) {
  const [making, setMaking] = useState(false)
  if (params.id) return <AgentEditor key={params.id} id={params.id} />
  const endpoints = query.get('tab') === 'endpoints'
  return (
    <PageFrame title="Agents" full about="Who answers: a prompt, a model, skills, and what it may do by itself." actions={<>
      <Tabs label="What is listed" value={endpoints ? 'endpoints' : 'agents'} onChoose={(tab) => setQuery({ tab: tab === 'agents' ? null : tab })}
        tabs={[{ id: 'agents', label: 'Agents' }, { id: 'endpoints', label: 'Model endpoints' }]} />
      {endpoints ? <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>New endpoint</Button> : <NewAgent />}
    </>}>
      {endpoints ? <Endpoints making={making} onMade={setMaking} /> : <Agents />}
    </PageFrame>
  )
}

const NewAgent = () => <Link to="/agents/new" class="button primary"><Icon name="plus" /><span>New agent</span></Link>

const columns: Column<Agent>[] = [
  { label: 'Name', cell: (agent) => <>{agent.name} {agent.is_default && <Badge tone="accent">default</Badge>}</> },
  { label: 'Model', cell: (agent) => <span class="mono" title={agent.model.base_url ?? ''}>{agent.model.provider ?? agent.model.endpoint}/{agent.model.name}</span> },
  { label: 'Program', width: '8rem', wideOnly: true, cell: (agent) => agent.agent_type ?? 'native' },
  { label: 'Skills', width: '5rem', wideOnly: true, align: 'end', cell: (agent) => agent.skill_ids?.length ?? 0 },
  { label: 'Rules', width: '5rem', wideOnly: true, align: 'end', cell: (agent) => agent.policy?.length ?? 0 },
  { label: 'Changed', width: '7rem', wideOnly: true, cell: (agent) => <Time at={agent.updated_at} /> },
]

function Agents() {
  const list = usePaged<Agent>('/v1/agents')
  return <List label="Agents" list={list} columns={columns} idOf={(agent) => agent.id} to={(agent) => `/agents/${agent.id}`} empty={{ icon: 'agents', title: 'No agents yet', text: 'An agent answers messages. The first one that you make is the default.', action: <NewAgent /> }} />
}
