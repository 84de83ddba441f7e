// The keys of a tenant: service keys act for it, approver keys sign decisions.
import { useState } from 'preact/hooks'
import { api } from '../api'
import { Badge, Button, Select, TextField, Time, type Column } from '../ui/ui'
import { FormDialog, useSubmit } from './form'
import { List } from './list-page'
import { usePaged } from './paged'
import { Remove } from './remove'
import { ShownOnce } from './shown-once'
import type { ApproverKey, ServiceKey } from './types'
import { Section, shortId } from './words'

const Standing = ({ revoked }: { revoked: string | null }) => (revoked ? <Badge>revoked</Badge> : <Badge tone="ok">good</Badge>)

export function ServiceKeys({ tenant }: { tenant: string }) {
  const path = `/v1/tenants/${tenant}/keys`
  const list = usePaged<ServiceKey>(path)
  const [asks, setAsks] = useState(false)
  const [made, setMade] = useState<ServiceKey | null>(null)
  const columns: Column<ServiceKey>[] = [
    { label: 'Name', cell: (key) => key.name || shortId(key.id) },
    { label: 'Ends in', width: '6rem', cell: (key) => <span class="mono">…{key.hint}</span> },
    { label: 'Standing', width: '7rem', cell: (key) => <Standing revoked={key.revoked_at} /> },
    { label: 'Made', width: '7rem', wideOnly: true, cell: (key) => <Time at={key.created_at} /> },
    { label: 'Revoke', width: '4.5rem', align: 'end', cell: (key) => !key.revoked_at && <Remove small verb="Revoke" done="revoked" path={`${path}/${key.id}`} what={key.name || shortId(key.id)} onDone={list.reload}>Clients that use it are refused from now on.</Remove> },
  ]
  return (
    <Section title="Service keys" about="They act for the tenant, through the API and in this console." actions={<Button icon="plus" onClick={() => setAsks(true)}>New key</Button>}>
      <List label="Service keys" list={list} columns={columns} idOf={(key) => key.id} empty={{ icon: 'secrets', title: 'No service keys' }} />
      {asks && <NewServiceKey path={path} onClose={() => setAsks(false)} onMade={(key) => { setMade(key); list.reload() }} />}
      {made?.secret && <ShownOnce title="Your service key" secret={made.secret} about="Keep it now: it is not shown again." onClose={() => setMade(null)} />}
    </Section>
  )
}

function NewServiceKey({ path, onClose, onMade }: { path: string; onClose: () => void; onMade: (key: ServiceKey) => void }) {
  const form = useSubmit()
  const [name, setName] = useState('')
  return (
    <FormDialog title="New service key" action="Make the key" submission={form} pointers={['/name']} onClose={onClose} onSubmit={async () => onMade(await api.post<ServiceKey>(path, { name }))}>
      <TextField label="Name" value={name} onText={setName} error={form.at('/name')} hint="Who will use it, to know it again when it is to be revoked." />
    </FormDialog>
  )
}

export function ApproverKeys({ tenant }: { tenant: string }) {
  const path = `/v1/tenants/${tenant}/approver-keys`
  const list = usePaged<ApproverKey>(path, {}, (key) => key.key_id)
  const [asks, setAsks] = useState(false)
  const [made, setMade] = useState<ApproverKey | null>(null)
  const columns: Column<ApproverKey>[] = [
    { label: 'Name', cell: (key) => key.name || shortId(key.key_id) },
    { label: 'Algorithm', width: '8.5rem', cell: (key) => key.algorithm },
    { label: 'Standing', width: '7rem', wideOnly: true, cell: (key) => <Standing revoked={key.revoked_at} /> },
    { label: 'Made', width: '7rem', wideOnly: true, cell: (key) => <Time at={key.created_at} /> },
    { label: 'Revoke', width: '4.5rem', align: 'end', cell: (key) => !key.revoked_at && <Remove small verb="Revoke" done="revoked" path={`${path}/${key.key_id}`} what={key.name || shortId(key.key_id)} onDone={list.reload}>Decisions that it signs count no more.</Remove> },
  ]
  return (
    <Section title="Approver keys" about="They sign decisions on approvals. A service key alone decides nothing." actions={<Button icon="plus" onClick={() => setAsks(true)}>New key</Button>}>
      <List label="Approver keys" list={list} columns={columns} idOf={(key) => key.key_id} empty={{ icon: 'approvals', title: 'No approver keys', text: 'Without one, no approval can be decided.' }} />
      {asks && <NewApproverKey path={path} onClose={() => setAsks(false)} onMade={(key) => { setMade(key.secret ? key : null); list.reload() }} />}
      {made?.secret && <ShownOnce title="Your approver key" secret={made.secret} about="Keep it now: it is not shown again. The second line is what the console takes under “Use a key”."
        more={{ label: 'Copy the key as JSON', text: JSON.stringify({ key_id: made.key_id, algorithm: made.algorithm, secret: made.secret }) }} onClose={() => setMade(null)} />}
    </Section>
  )
}

function NewApproverKey({ path, onClose, onMade }: { path: string; onClose: () => void; onMade: (key: ApproverKey) => void }) {
  const form = useSubmit()
  const [name, setName] = useState('')
  const [algorithm, setAlgorithm] = useState('hmac-sha256')
  const [publicKey, setPublicKey] = useState('')
  const send = async () => onMade(await api.post<ApproverKey>(path, { name, algorithm, ...(algorithm === 'ed25519' ? { public_key: publicKey.trim() } : {}) }))
  return (
    <FormDialog title="New approver key" action="Add the key" submission={form} pointers={['/name', '/algorithm', '/public_key']} onClose={onClose} onSubmit={send}>
      <TextField label="Name" value={name} onText={setName} error={form.at('/name')} />
      <Select label="Algorithm" value={algorithm} onValue={setAlgorithm} error={form.at('/algorithm')} options={[{ value: 'hmac-sha256', label: 'HMAC-SHA-256: the server makes a shared secret' }, { value: 'ed25519', label: 'Ed25519: you keep the private key' }]} />
      {algorithm === 'ed25519' && <TextField label="Public key" value={publicKey} onText={setPublicKey} error={form.at('/public_key')} spellcheck={false} hint="The 32 raw bytes in base64url without padding." />}
      <p class="hint">To make this browser an approver, open an approval: it makes a key that never leaves the browser.</p>
    </FormDialog>
  )
}
