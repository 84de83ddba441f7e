// Approvals: everything that waits for a decision, and what was decided.
import { useEffect, useState } from 'preact/hooks'
import { api, type Page } from '../api'
import { waitingApprovals } from '../app/approval-count'
import { ApprovalCard } from '../chat/approval-card'
import { chats, loadChats } from '../chat/chats'
import type { ApprovalStatus, Chat, RequestedItem } from '../chat/types'
import { useEvery, useLoad } from '../load'
import { Link } from '../router'
import { Badge, Button, Empty, Loading, PageFrame, Table, Time, Trouble, type Column, type Tone } from '../ui/ui'

interface Approval {
  id: string
  conversation_id: string
  status: ApprovalStatus
  reason: string
  requested_items: RequestedItem[]
  expires_at: string
  resolved_by: string | null
  resolved_at: string | null
  note?: string
  created_at: string
}

const everyMs = 5000

function chatOf(approval: Approval): Chat | undefined {
  return chats.value?.find((chat) => chat.id === approval.conversation_id)
}

// A conversation that is no chat has its runs to look at.
function whereOf(approval: Approval): string {
  return chatOf(approval) ? `/chat/${approval.conversation_id}` : `/runs?conversation_id=${approval.conversation_id}`
}

export default function ApprovalsPage() {
  const [past, setPast] = useState(false)
  useEffect(() => { void loadChats() }, [])
  return (
    <PageFrame title="Approvals" full={past} about="Runs that must not go on by themselves. A decision is signed in your browser with an approver key; the service key alone decides nothing."
      actions={<div class="tabs" role="group" aria-label="Which approvals">
        <button type="button" aria-pressed={!past} onClick={() => setPast(false)}>Waiting{waitingApprovals.value > 0 && ` (${waitingApprovals.value})`}</button>
        <button type="button" aria-pressed={past} onClick={() => setPast(true)}>Decided</button>
      </div>}>
      {past ? <Past /> : <Pending />}
    </PageFrame>
  )
}

function Pending() {
  const list = useLoad((stop) => api.get<Page<Approval>>('/v1/approvals', { status: 'pending', limit: 100 }, stop))
  useEvery(everyMs, list.reload)
  if (list.error && !list.data) return <Trouble error={list.error} retry={list.reload} />
  if (!list.data) return <Loading />
  if (!list.data.data.length) return <Empty icon="approvals" title="Nothing waits for you">When an agent asks for permission or needs a secret, it appears here and in its chat.</Empty>
  return (
    <div class="approval-list">
      <h2 class="hidden">Waiting for a decision</h2>
      {list.data.data.map((approval) => (
        <div key={approval.id} class="approval-entry">
          <p class="faint">Asked <Time at={approval.created_at} /> in <Link to={whereOf(approval)}>{chatOf(approval)?.title ?? 'its conversation'}</Link></p>
          <ApprovalCard live onDecided={() => setTimeout(list.reload, 1200)}
            approval={{ approvalId: approval.id, status: approval.status, reason: approval.reason, items: approval.requested_items, expiresAt: Date.parse(approval.expires_at) }} />
        </div>
      ))}
    </div>
  )
}

const tones: Record<ApprovalStatus, Tone> = { pending: 'warn', approved: 'ok', denied: 'danger', expired: 'neutral' }

const columns: Column<Approval>[] = [
  { label: 'Reason', cell: (approval) => <span title={approval.reason}>{approval.reason}</span> },
  { label: 'Decision', width: '7rem', cell: (approval) => <Badge tone={tones[approval.status]}>{approval.status}</Badge> },
  { label: 'By', width: '14rem', wideOnly: true, cell: (approval) => <span class="mono">{approval.resolved_by ?? '–'}</span> },
  { label: 'Note', width: '14rem', wideOnly: true, cell: (approval) => approval.note ?? '' },
  { label: 'When', width: '7rem', cell: (approval) => <Time at={approval.resolved_at ?? approval.created_at} /> },
]

function Past() {
  const [rows, setRows] = useState<Approval[]>([])
  const [more, setMore] = useState(true)
  const load = async (after: string | undefined, stop?: AbortSignal) => {
    const page = await api.get<Page<Approval>>('/v1/approvals', { limit: 100, starting_after: after }, stop)
    setRows((had) => [...(after ? had : []), ...page.data.filter((approval) => approval.status !== 'pending')])
    setMore(page.has_more)
    return page.data.at(-1)?.id
  }
  const first = useLoad((stop) => load(undefined, stop))
  const [last, setLast] = useState<string | undefined>(undefined)
  if (first.error) return <Trouble error={first.error} retry={first.reload} />
  if (first.loading && !rows.length) return <Loading />
  if (!rows.length) return <Empty icon="approvals" title="No decisions yet" />
  return (
    <Table label="Decided approvals" columns={columns} rows={rows} idOf={(approval) => approval.id} to={whereOf}
      footer={more && <Button kind="quiet" onClick={() => void load(last ?? first.data).then(setLast)}>Show more</Button>} />
  )
}
