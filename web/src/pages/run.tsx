// One run: its times as a picture, its steps, what it sent out, its lines, and its files.
import { useEffect, useState } from 'preact/hooks'
import { api, type Page } from '../api'
import { isChat } from '../chat/chats'
import { AnswerFiles } from '../chat/file-link'
import { Markdown } from '../chat/markdown'
import { runFile } from '../chat/named-file'
import { Step } from '../chat/step'
import { useEvery, useLoad } from '../load'
import { CancelRun } from '../ops/cancel-run'
import type { Line } from '../ops/lines'
import { follow } from '../ops/ndjson'
import { usePaged } from '../ops/paged'
import { List } from '../ops/list-page'
import { TimelineView } from '../ops/timeline-view'
import { Trace } from '../ops/trace'
import { isOver, type Agent, type EgressEntry, type Message, type Run, type RunFile, type RunStep, type RunTimeline } from '../ops/types'
import { Fact, Facts, Id, Shown, StateBadge, Tabs } from '../ops/words'
import type { PageProps } from '../pages'
import { Link, setQuery } from '../router'
import { Badge, Button, durationText, Empty, Icon, Loading, PageFrame, sizeText, Time, Trouble, type Column } from '../ui/ui'

const everyMs = 1500

export default function RunPage({ params, query }: PageProps) {
  const id = params.id!
  const run = useLoad((stop) => api.get<Run>(`/v1/runs/${id}`, {}, stop), [id])
  const live = run.data !== undefined && !isOver(run.data)
  const [cancelling, setCancelling] = useState(false)
  useEvery(live ? everyMs : null, run.reload)
  return (
    <PageFrame title="Run" back={{ to: '/runs', label: 'Runs' }} about={<Id id={id} copy />} actions={run.data && <>
      <ChatLink key={run.data.conversation_id} conversation={run.data.conversation_id} />
      {live && <Button kind="danger" icon="stop" onClick={() => setCancelling(true)}>Cancel the run</Button>}
    </>}>
      <Shown of={run}>{(data) => (
        <>
          <Head run={data} />
          <Times key={id} run={data} />
          <Details run={data} tab={query.get('show') ?? 'steps'} />
          {cancelling && <CancelRun run={data} onDone={run.set} onClose={() => setCancelling(false)} />}
        </>
      )}</Shown>
    </PageFrame>
  )
}

// Only some conversations are chats: those that were begun here or through the Assistant.
function ChatLink({ conversation }: { conversation: string }) {
  const asked = useLoad((stop) => isChat(conversation, stop), [conversation])
  if (!asked.data) return null
  return <Link to={`/chat/${conversation}`} class="button plain"><Icon name="chat" /><span>Open the chat</span></Link>
}

const loadFiles = (run: Run, stop: AbortSignal) => api.get<Page<RunFile>>(`/v1/runs/${run.id}/files`, {}, stop)

function Head({ run }: { run: Run }) {
  const agent = useLoad((stop) => api.get<Agent>(`/v1/agents/${run.agent_id}`, {}, stop), [run.agent_id])
  const asked = useLoad((stop) => api.get<Message>(`/v1/messages/${run.user_message_id}`, {}, stop), [run.user_message_id])
  const answer = useLoad((stop) => api.get<Message>(`/v1/messages/${run.message_id}`, {}, stop), [run.message_id, run.state])
  const files = useLoad((stop) => loadFiles(run, stop), [run.id, run.state])
  const end = run.ended_at ? Date.parse(run.ended_at) : Date.now()
  const usage = answer.data?.usage
  return (
    <div class="card run-head">
      <Facts>
        <Fact name="State"><StateBadge state={run.state} /></Fact>
        <Fact name="Agent"><Link to={`/agents/${run.agent_id}`}>{agent.data?.name ?? run.agent_id}</Link></Fact>
        <Fact name="Created"><Time at={run.created_at} /></Fact>
        <Fact name={run.ended_at ? 'Took' : 'Running for'}>{durationText(Math.max(0, end - Date.parse(run.created_at)))}</Fact>
        <Fact name="Tokens">{usage ? `${usage.input_tokens.toLocaleString()} in, ${usage.output_tokens.toLocaleString()} out` : '–'}</Fact>
        <Fact name="Conversation"><Id id={run.conversation_id} to={`/runs?conversation=${run.conversation_id}`} /></Fact>
      </Facts>
      {asked.data && <Words title="Message" text={asked.data.content} />}
      {answer.data?.content && (
        <AnswerFiles.Provider value={(files.data?.data ?? []).map(runFile)}>
          <Words title="Answer" text={answer.data.content} markdown />
        </AnswerFiles.Provider>
      )}
    </div>
  )
}

const glimpse = 280

function Words({ title, text, markdown }: { title: string; text: string; markdown?: boolean }) {
  const [all, setAll] = useState(false)
  const shown = all || text.length <= glimpse ? text : `${text.slice(0, glimpse)}…`
  const more = text.length > glimpse && <button type="button" class="link" onClick={() => setAll(!all)}>{all ? 'Less' : 'All of it'}</button>
  return (
    <div class="run-words">
      <h2>{title}</h2>
      {markdown ? <><Markdown text={shown} />{more}</> : <p>{shown} {more}</p>}
    </div>
  )
}

function Times({ run }: { run: Run }) {
  const timeline = useLoad((stop) => api.get<RunTimeline>(`/v1/runs/${run.id}/timeline`, {}, stop), [run.id, run.state])
  useEvery(isOver(run) ? null : everyMs, timeline.reload)
  return (
    <section aria-label="Timeline">
      <h2 class="hidden">Timeline</h2>
      <Shown of={timeline}>{(data) => data.phases.length > 0
        ? <TimelineView timeline={data} now={Date.now()} />
        : <p class="card nothing faint">{isOver(run) ? 'The run ended before anything began.' : 'Nothing has begun yet.'}</p>}</Shown>
    </section>
  )
}

function Details({ run, tab }: { run: Run; tab: string }) {
  const tabs = [{ id: 'steps', label: 'Steps' }, { id: 'egress', label: 'Egress' }, { id: 'trace', label: 'Trace' }, { id: 'files', label: 'Files' }]
  return (
    <>
      <Tabs label="What of the run is shown" tabs={tabs} value={tab} onChoose={(show) => setQuery({ show: show === 'steps' ? null : show })} />
      {tab === 'egress' ? <Egress run={run} /> : tab === 'trace' ? <Lines run={run} /> : tab === 'files' ? <Files run={run} /> : <Steps run={run} />}
    </>
  )
}

function Steps({ run }: { run: Run }) {
  const steps = useLoad((stop) => api.get<RunStep[]>(`/v1/runs/${run.id}/steps.json`, {}, stop), [run.id, run.state])
  useEvery(isOver(run) ? null : everyMs, steps.reload)
  return (
    <Shown of={steps}>{(data) => data.length === 0 ? <Empty icon="list" title="No steps">The agent used no tool{isOver(run) ? '' : ' yet'}.</Empty> : (
      <div class="steps">
        <h2 class="hidden">Steps</h2>
        {data.map((step) => <Step key={step.id} step={{ type: 'step', ...step }} owner={run.id} tail={undefined} />)}
      </div>
    )}</Shown>
  )
}

// An entry that stands for several requests to one host.
const summedText = (count: number, refused: number) => `${count} more${refused ? `, ${refused} kept back` : ''}`

const egressColumns: Column<EgressEntry>[] = [
  { label: 'Where', cell: (entry) => <span class="mono" title={entry.host}>{entry.method ? `${entry.method} ` : ''}{entry.host}{entry.port && entry.port !== 443 ? `:${entry.port}` : ''}</span> },
  { label: 'Outcome', width: '9rem', cell: (entry) => entry.more ? <span title={entry.refused}>{summedText(entry.more, entry.more_refused ?? 0)}</span> : entry.refused ? <span title={entry.refused}><Badge tone="danger">kept back</Badge></span> : <Badge tone={(entry.status ?? 200) < 400 ? 'ok' : 'warn'}>{entry.status || 'tunnel'}</Badge> },
  { label: 'Secrets', width: '11rem', wideOnly: true, cell: (entry) => <span class="mono">{entry.aliases?.join(', ') || '–'}</span> },
  { label: 'Sent', width: '6rem', wideOnly: true, align: 'end', cell: (entry) => entry.sent_bytes === undefined ? '–' : sizeText(entry.sent_bytes) },
  { label: 'Received', width: '6rem', wideOnly: true, align: 'end', cell: (entry) => entry.received_bytes === undefined ? '–' : sizeText(entry.received_bytes) },
  { label: 'Took', width: '5.5rem', align: 'end', cell: (entry) => entry.duration_ms === undefined ? '–' : durationText(entry.duration_ms) },
]

function Egress({ run }: { run: Run }) {
  const list = usePaged<EgressEntry>(`/v1/runs/${run.id}/egress`, {}, (entry) => String(entry.position))
  useEffect(() => { if (isOver(run) && list.rows) list.reload() }, [run.state])
  return (
    <div class="boxed">
      <List label="Requests that left the sandbox, or were kept from it" list={list} columns={egressColumns} idOf={(entry) => String(entry.position)}
        empty={{ icon: 'environments', title: 'Nothing left the sandbox', text: 'Requests of the agent to other hosts are listed here, those that its policy kept back too. Secrets appear by their aliases.' }} />
      {!isOver(run) && <Button small icon="refresh" onClick={list.reload}>Look again</Button>}
    </div>
  )
}

function Lines({ run }: { run: Run }) {
  const [lines, setLines] = useState<Line[]>([])
  const [over, setOver] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  useEffect(() => {
    const stop = new AbortController()
    setLines([])
    setOver(false)
    setFailure(null)
    follow<Line>({
      path: `/v1/runs/${run.id}/stream.jsonl`, query: { profile: 'extended' }, stop: stop.signal,
      onLines: (more) => setLines((had) => [...had, ...more]), isLast: (line) => line.type === 'result' || line.type === 'error',
    }).then(() => setOver(true), (error) => { if (!stop.signal.aborted) setFailure(error) })
    return () => stop.abort()
  }, [run.id])
  if (failure) return <Trouble error={failure} />
  if (!lines.length) return over ? <Empty icon="list" title="The trace is empty" /> : <Loading what={isOver(run) ? 'Loading' : 'Waiting for the first line'} />
  return (
    <div>
      <h2 class="hidden">Trace</h2>
      <Trace lines={lines} live={!over && !isOver(run)} started={Date.parse(run.created_at)} />
      <p class="trace-foot faint">{lines.length.toLocaleString()} lines{over || isOver(run) ? '' : ', live'}. <a href={`/v1/runs/${run.id}/stream.jsonl?profile=extended`} download={`${run.id}.jsonl`}>Download them</a></p>
    </div>
  )
}

function Files({ run }: { run: Run }) {
  const files = useLoad((stop) => loadFiles(run, stop), [run.id, run.state])
  return (
    <Shown of={files}>{(data) => data.data.length === 0 ? <Empty icon="file" title="No files">The run handed nothing back{isOver(run) ? '' : ' yet'}.</Empty> : (
      <ul class="file-list card">
        {data.data.map((file) => (
          <li key={file.id}>
            <a href={`/v1/files/${file.id}/content`} download={file.name}><Icon name="download" /><span class="file-name">{file.name}</span></a>
            <span class="faint">{sizeText(file.size)}</span>
            <span class="faint mono wide-only" title={`SHA-256 ${file.sha256}`}>{file.sha256.slice(0, 12)}</span>
            <span class="faint"><Time at={file.created_at} /></span>
          </li>
        ))}
      </ul>
    )}</Shown>
  )
}
