// Runs: everything that agents did and do, newest first.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Page } from '../api'
import { chats, loadChats } from '../chat/chats'
import { useEvery, useLoad } from '../load'
import { CancelRun } from '../ops/cancel-run'
import { runQuery } from '../ops/filters'
import { mergeNewest, pageRows, usePaged, type Paged } from '../ops/paged'
import { RunFilters } from '../ops/run-filters'
import { briefText } from '../ops/scale'
import { isOver, type Agent, type Run } from '../ops/types'
import { Id, shortId, Stale, StateBadge } from '../ops/words'
import type { PageProps } from '../pages'
import { Link } from '../router'
import { Button, Empty, Icon, IconButton, Loading, PageFrame, Table, Time, Trouble, type Column } from '../ui/ui'

const everyMs = 3000
const lookedAfter = 10 // runs further down that were not over: how many are asked for each time

export default function RunsPage({ query }: PageProps) {
  const asked = runQuery(query, Date.now())
  const key = query.toString()
  const held = useRef({ key: '', asked })
  if (held.current.key !== key) held.current = { key, asked } // a range keeps the moment at which it was chosen
  const list = usePaged<Run>('/v1/runs', held.current.asked)
  useEffect(() => { void loadChats() }, []) // says which conversations are chats
  const agents = useLoad((stop) => api.get<Page<Agent>>('/v1/agents', { limit: 100 }, stop))
  return (
    <PageFrame title="Runs" full about="The work of answering a message: what waits, what is at work, and what is over.">
      <RunFilters query={query} agents={agents.data?.data ?? []} />
      <Runs list={list} asked={held.current.asked} agents={agents.data?.data ?? []} filtered={key !== ''} />
    </PageFrame>
  )
}

interface RunsProps { list: Paged<Run>; asked: Record<string, string | undefined>; agents: Agent[]; filtered: boolean }

function Runs({ list, asked, agents, filtered }: RunsProps) {
  const place = useRef<HTMLDivElement>(null)
  const [cancelling, setCancelling] = useState<Run | null>(null)
  const fresh = useFresh(list, asked, place)
  const replace = (run: Run) => list.setRows((rows) => rows.map((row) => (row.id === run.id ? run : row)))
  if (!list.rows) return list.error ? <Trouble error={list.error} retry={list.reload} /> : <Loading />
  if (!list.rows.length) return filtered ? <Empty icon="search" title="No run is like that">Choose less above.</Empty> : <Empty icon="runs" title="Nothing has run yet" action={<Link to="/chat" class="button primary">Begin a chat</Link>}>Each message that an agent answers is a run.</Empty>
  const names = new Map(agents.map((agent) => [agent.id, agent.name]))
  return (
    <div class="runs" ref={place}>
      <Stale error={list.error} retry={list.reload} />
      {fresh.count > 0 && <Button small class="fresh" icon="send" onClick={fresh.show}>{fresh.count} new</Button>}
      <Table label="Runs, newest first" columns={columnsFor(names, setCancelling)} rows={list.rows} idOf={(run) => run.id} to={(run) => `/runs/${run.id}`} onEnd={list.more}
        footer={list.hasMore && list.loading && <Loading what="Loading more" />} />
      {cancelling && <CancelRun run={cancelling} onDone={replace} onClose={() => setCancelling(null)} />}
    </div>
  )
}

const columnsFor = (names: Map<string, string>, cancel: (run: Run) => void): Column<Run>[] => [
  { label: 'Run', cell: (run) => <span class="mono" title={run.id}>{shortId(run.id)}</span> },
  { label: 'State', width: '8.5rem', cell: (run) => <StateBadge state={run.state} /> },
  { label: 'Agent', width: '24%', wideOnly: true, cell: (run) => names.get(run.agent_id) ?? shortId(run.agent_id) },
  { label: 'Conversation', width: '11.5rem', wideOnly: true, cell: (run) => <Conversation run={run} /> },
  { label: 'Created', width: '6.5rem', wideOnly: true, cell: (run) => <Time at={run.created_at} /> },
  { label: 'Took', width: '5.5rem', align: 'end', cell: (run) => <Took run={run} /> },
  { label: 'Actions', width: '6rem', align: 'end', wideOnly: true, cell: (run) => (
    <span class="row-actions">
      {!isOver(run) && <IconButton icon="stop" label={`Cancel ${shortId(run.id)}`} onClick={() => cancel(run)} />}
      {chatOf(run) && <Link to={`/chat/${run.conversation_id}`} class="icon-button" aria-label={`Open the chat of ${shortId(run.id)}`} title="Open its chat"><Icon name="chat" /></Link>}
    </span>
  ) },
]


const chatOf = (run: Run) => chats.value?.find((chat) => chat.id === run.conversation_id)

// Leads to the conversation's runs; a chat goes by its title.
function Conversation({ run }: { run: Run }) {
  const to = `/runs?conversation=${run.conversation_id}`
  const title = chatOf(run)?.title
  return title ? <Link to={to} title={`${title} (${run.conversation_id})`}>{title}</Link> : <Id id={run.conversation_id} to={to} />
}

function Took({ run }: { run: Run }) {
  const end = run.ended_at ? Date.parse(run.ended_at) : Date.now()
  return <span class={run.ended_at ? '' : 'muted'}>{briefText(Math.max(0, end - Date.parse(run.created_at)))}</span>
}

// Keeps the newest page new. While somebody reads further down, rows that came are counted and not shown: they would
// push away what is being read.
function useFresh(list: Paged<Run>, asked: Record<string, string | undefined>, place: { current: HTMLElement | null }): { count: number; show: () => void } {
  const [kept, setKept] = useState<Page<Run> | null>(null)
  const busy = useRef(false)
  const box = () => place.current?.querySelector<HTMLElement>('.table-box')
  const lay = (page: Page<Run>) => {
    const merged = mergeNewest(list.rows ?? [], page.data, (run) => run.id)
    if (merged) list.setRows(() => merged.rows)
    else list.restart(page)
    setKept(null)
  }
  const look = async () => {
    if (busy.current || !list.rows) return
    busy.current = true
    try {
      const page = await api.get<Page<Run>>('/v1/runs', { ...asked, limit: pageRows })
      const inPage = new Set(page.data.map((run) => run.id))
      const further = list.rows.filter((run) => !isOver(run) && !inPage.has(run.id)).slice(0, lookedAfter)
      const seen = await Promise.all(further.map((run) => api.get<Run>(`/v1/runs/${run.id}`).catch(() => run)))
      if (seen.length) list.setRows((rows) => rows.map((row) => seen.find((run) => run.id === row.id) ?? row))
      if ((box()?.scrollTop ?? 0) < 60) return lay(page)
      const known = new Map(page.data.map((run) => [run.id, run]))
      list.setRows((rows) => rows.map((row) => known.get(row.id) ?? row))
      setKept(page)
    } catch {
      // the banner says that the server is gone; a list that is a moment old is better than none
    } finally {
      busy.current = false
    }
  }
  useEvery(everyMs, () => void look())
  const ids = new Set((list.rows ?? []).map((run) => run.id))
  const count = kept ? kept.data.filter((run) => !ids.has(run.id)).length : 0
  return { count, show: () => { if (kept) lay(kept); const element = box(); if (element) element.scrollTop = 0 } }
}
