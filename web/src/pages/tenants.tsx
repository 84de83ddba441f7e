// Tenants, their limits and their keys: for operators.
import { useState } from 'preact/hooks'
import { api, session } from '../api'
import { useLoad } from '../load'
import { Check, Form, FormDialog, useSubmit } from '../ops/form'
import { List } from '../ops/list-page'
import { usePaged } from '../ops/paged'
import { ApproverKeys, ServiceKeys } from '../ops/tenant-keys'
import type { Tenant, TenantSettings } from '../ops/types'
import { Id, Shown } from '../ops/words'
import type { PageProps } from '../pages'
import { navigate } from '../router'
import { actIn } from '../session'
import { Badge, Button, Confirm, PageFrame, TextField, Time, toast, toastError, type Column } from '../ui/ui'

export default function TenantsPage({ params }: PageProps) {
  return params.id ? <TenantPage key={params.id} id={params.id} /> : <Tenants />
}

const Standing = ({ tenant }: { tenant: Tenant }) => <Badge tone={tenant.status === 'suspended' ? 'danger' : 'ok'} dot>{tenant.status ?? 'active'}</Badge>
const isActing = (id: string) => session.value?.tenant?.id === id

const columns: Column<Tenant>[] = [
  { label: 'Name', cell: (tenant) => <>{tenant.name} {isActing(tenant.id) && <Badge tone="accent">you act here</Badge>}</> },
  { label: 'Status', width: '8rem', cell: (tenant) => <Standing tenant={tenant} /> },
  { label: 'Running at most', width: '9rem', wideOnly: true, align: 'end', cell: (tenant) => tenant.settings?.max_running || 'no limit' },
  { label: 'Weight', width: '6rem', wideOnly: true, align: 'end', cell: (tenant) => tenant.settings?.weight ?? 1 },
  { label: 'Made', width: '8rem', wideOnly: true, cell: (tenant) => <Time at={tenant.created_at} /> },
]

function Tenants() {
  const list = usePaged<Tenant>('/v1/tenants')
  const [asks, setAsks] = useState(false)
  const add = <Button kind="primary" icon="plus" onClick={() => setAsks(true)}>New tenant</Button>
  return (
    <PageFrame title="Tenants & keys" full about="Who uses this server: each with its own agents, secrets, limits and keys." actions={add}>
      <List label="Tenants" list={list} columns={columns} idOf={(tenant) => tenant.id} to={(tenant) => `/tenants/${tenant.id}`} empty={{ icon: 'tenants', title: 'No tenants yet', action: add }} />
      {asks && <NewTenant onClose={() => setAsks(false)} />}
    </PageFrame>
  )
}

function NewTenant({ onClose }: { onClose: () => void }) {
  const form = useSubmit()
  const [name, setName] = useState('')
  return (
    <FormDialog title="New tenant" action="Create the tenant" submission={form} pointers={['/name']} onClose={onClose} onSubmit={async () => navigate(`/tenants/${(await api.post<Tenant>('/v1/tenants', { name })).id}`)}>
      <TextField label="Name" value={name} onText={setName} error={form.at('/name')} />
    </FormDialog>
  )
}

function TenantPage({ id }: { id: string }) {
  const found = useLoad((stop) => api.get<Tenant>(`/v1/tenants/${id}`, {}, stop), [id])
  const [asks, setAsks] = useState(false)
  const [busy, setBusy] = useState(false)
  const suspended = found.data?.status === 'suspended'
  const act = async () => {
    setBusy(true)
    await actIn(id).then(() => toast(`You act in ${found.data?.name} now.`)).catch(toastError)
    setBusy(false)
  }
  const turn = async () => {
    found.set(await api.patch<Tenant>(`/v1/tenants/${id}`, { status: suspended ? 'active' : 'suspended' }))
    toast(suspended ? 'The tenant is active again.' : 'The tenant is suspended.')
  }
  return (
    <PageFrame title={found.data?.name ?? 'Tenant'} back={{ to: '/tenants', label: 'Tenants' }} about={<Id id={id} copy />} actions={found.data && <>
      {isActing(id) ? <Badge tone="accent">you act here</Badge> : <Button busy={busy} icon="tenants" onClick={() => void act()}>Act in this tenant</Button>}
      <Button kind={suspended ? 'plain' : 'danger'} onClick={() => setAsks(true)}>{suspended ? 'Activate' : 'Suspend'}</Button>
    </>}>
      <Shown of={found}>{(tenant) => <>
        {suspended && <p class="notice" role="status">This tenant is suspended: its keys can read and cancel, and nothing else.</p>}
        <Settings key={tenant.status} tenant={tenant} onSaved={found.set} />
        <ServiceKeys tenant={id} />
        <ApproverKeys tenant={id} />
        {asks && (
          <Confirm title={suspended ? `Activate ${tenant.name}?` : `Suspend ${tenant.name}?`} action={suspended ? 'Activate' : 'Suspend'} kind={suspended ? 'primary' : 'danger'} onConfirm={turn} onClose={() => setAsks(false)}>
            <p>{suspended ? 'Its keys work again as before.' : 'Its keys can read and cancel, but start nothing. Runs that are at work go on.'}</p>
          </Confirm>
        )}
      </>}</Shown>
    </PageFrame>
  )
}

const numbers: { name: keyof TenantSettings; label: string; hint: string }[] = [
  { name: 'weight', label: 'Weight', hint: 'Its share of the places when others wait too.' }, { name: 'max_running', label: 'Runs at once', hint: '0: as many as there are places.' },
  { name: 'max_held', label: 'Runs in line', hint: '0: as many as the line takes.' }, { name: 'max_concurrent_sticky', label: 'Sticky places', hint: 'Pinned to conversations at once.' },
  { name: 'max_sticky_ttl_seconds', label: 'Sticky for seconds', hint: 'At most; 60 to 86400.' },
]
const switches: { name: keyof TenantSettings; label: string; hint: string }[] = [
  { name: 'filler_enabled', label: 'Fillers', hint: 'Short words that bridge a silence.' }, { name: 'require_bound_decisions', label: 'Bound decisions', hint: 'Decisions must sign digests of what they decide.' },
  { name: 'agui_unsigned_approvals', label: 'Unsigned answers of AG-UI clients', hint: 'What such a client answers to an interrupt counts without a signature.' },
]

function Settings({ tenant, onSaved }: { tenant: Tenant; onSaved: (tenant: Tenant) => void }) {
  const form = useSubmit()
  const [name, setName] = useState(tenant.name)
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(numbers.map(({ name: key }) => [key, String(tenant.settings[key])])))
  const [marks, setMarks] = useState<Record<string, boolean>>(() => Object.fromEntries(switches.map(({ name: key }) => [key, Boolean(tenant.settings[key])])))
  const [webhook, setWebhook] = useState(tenant.settings.webhook_url ?? '')
  const save = () => form.submit(async () => {
    const limits = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Number(text)]))
    onSaved(await api.patch<Tenant>(`/v1/tenants/${tenant.id}`, { name, settings: { ...limits, ...marks, webhook_url: webhook || null } }))
    toast('The settings are saved.')
  })
  const pointers = ['/name', '/settings/webhook_url', ...numbers.map(({ name: key }) => `/settings/${key}`)]
  return (
    <section class="card panel" aria-label="Settings">
      <h2>Settings</h2>
      <Form submission={form} pointers={pointers} onSubmit={() => void save()} footer={<Button kind="primary" type="submit" busy={form.busy}>Save</Button>}>
        <div class="form-row">
          <TextField label="Name" value={name} onText={setName} error={form.at('/name')} />
          <TextField label="Webhook" type="url" placeholder="https://…" value={webhook} onText={setWebhook} error={form.at('/settings/webhook_url')} hint="Gets a request when approvals are raised and resolved." />
        </div>
        <div class="form-row top">
          {numbers.map(({ name: key, label, hint }) => <TextField key={key} label={label} hint={hint} type="number" value={texts[key]!} onText={(text) => setTexts({ ...texts, [key]: text })} error={form.at(`/settings/${key}`)} />)}
        </div>
        {switches.map(({ name: key, label, hint }) => <Check key={key} label={label} hint={hint} checked={marks[key]!} onCheck={(is) => setMarks({ ...marks, [key]: is })} />)}
      </Form>
    </section>
  )
}
