// A gate: what is asked, who may decide, and the decision, signed in this browser.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, Problem, session, wordsOf } from '../api'
import { countApprovals } from '../app/approval-count'
import { Code, jsonText } from '../ui/code'
import { Button, Field } from '../ui/controls'
import { Dialog } from '../ui/dialog'
import { Icon } from '../ui/icon'
import { Badge, Time, type Tone } from '../ui/words'
import { becomeApprover, canSign, findSigner, forgetKey, signer, takeKey } from './approver'
import { sign } from './signing'
import type { ApprovalBlock, ApprovalStatus, RequestedItem } from './types'

const decisionLastsSeconds = 300
const tones: Record<ApprovalStatus, Tone> = { pending: 'warn', approved: 'ok', denied: 'danger', expired: 'neutral' }
const words: Record<ApprovalStatus, string> = { pending: 'Waits for a decision', approved: 'Approved', denied: 'Denied', expired: 'Expired' }

interface CardProps { approval: Omit<ApprovalBlock, 'type'>; live: boolean; onDecided?: () => void }

// `live`: its run still waits. A decision that was made elsewhere comes with the stream.
export function ApprovalCard({ approval, live, onDecided }: CardProps) {
  const [decided, setDecided] = useState<ApprovalStatus | null>(null)
  const [expired, setExpired] = useState(false)
  useEffect(() => { void findSigner() }, [session.value?.tenant?.id])
  useEffect(() => {
    const left = approval.expiresAt - Date.now()
    if (approval.status !== 'pending' || left > 0x7fffffff) return
    const timer = setTimeout(() => setExpired(true), Math.max(0, left))
    return () => clearTimeout(timer)
  }, [approval.expiresAt])
  const status = approval.status !== 'pending' ? approval.status : decided ?? (expired || !live ? 'expired' : 'pending')
  const items = <ul class="approval-items">{approval.items.map((item, i) => <Item key={i} item={item} />)}</ul>
  return (
    <div class={`approval ${status}`} role="group" aria-label={`Approval: ${approval.reason}`}>
      <header>
        <span class="approval-icon"><Icon name="approvals" /></span>
        <h3>{status === 'pending' ? 'Your approval is needed' : approval.reason}</h3>
        <Badge tone={tones[status]}>{words[status]}</Badge>
      </header>
      {status === 'pending' && approval.items.every((item) => item.description !== approval.reason) && <p class="approval-reason">{approval.reason}</p>}
      {status === 'pending' ? items : <details><summary>What was asked</summary>{items}</details>}
      {status === 'pending' && (
        <Decide approval={approval} onDecided={(made) => { setDecided(made); void countApprovals(); onDecided?.() }} />
      )}
    </div>
  )
}

const kinds: Record<RequestedItem['kind'], string> = { action: 'Action', secret: 'Secret', client_tool: 'Tool of a client' }

function Item({ item }: { item: RequestedItem }) {
  return (
    <li>
      <span class="approval-kind"><Icon name={item.kind === 'secret' ? 'secrets' : 'check'} size={14} /> {kinds[item.kind] ?? item.kind}</span>
      <div>
        <p>{item.description}</p>
        {item.alias && <p class="faint">As <code>{item.alias}</code>{item.hosts?.length ? <>, sent only to <code>{item.hosts.join(', ')}</code></> : null}</p>}
        {item.call && <details><summary>The call: <code>{item.call.name}</code></summary><Code text={jsonText(item.call.arguments)} label="Arguments" /></details>}
      </div>
    </li>
  )
}

function Decide({ approval, onDecided }: { approval: CardProps['approval']; onDecided: (status: ApprovalStatus) => void }) {
  const form = useRef<HTMLFormElement>(null)
  const [busy, setBusy] = useState<'approve' | 'deny' | null>(null)
  const [failure, setFailure] = useState('')
  useEffect(() => { if (signer.value) form.current?.scrollIntoView({ block: 'nearest' }) }, [signer.value])
  const aliases = [...new Set(approval.items.flatMap((item) => (item.kind === 'secret' && item.alias ? [item.alias] : [])))]
  const decide = async (decision: 'approve' | 'deny') => {
    const found = readSecrets(form.current!, decision === 'approve' ? aliases : [])
    if (found.missing) return setFailure(`${found.missing} is asked for: type it first.`)
    setBusy(decision)
    setFailure('')
    try {
      await send(approval, decision, found.secrets, noteOf(form.current!))
      onDecided(decision === 'approve' ? 'approved' : 'denied')
    } catch (error) {
      setFailure(error instanceof Problem && error.slug === 'approval-signature-invalid' ? `The server did not take the signature: ${wordsOf(error)}` : wordsOf(error))
    }
    form.current?.reset() // nothing that was typed outlives the request
    setBusy(null)
  }
  if (approval.items.some((item) => item.kind === 'client_tool')) return <p class="faint">A client of this conversation carries this out. It cannot be decided here.</p>
  return (
    <form ref={form} class="approval-form" autocomplete="off" onInput={() => setFailure('')}
      onSubmit={(event) => { event.preventDefault(); void decide('approve') }}>
      {aliases.map((alias) => (
        <Field key={alias} label={alias} hint="Sent once, with the approval. This browser does not keep it.">
          {(wired) => <input {...wired} type="password" name={`secret-${alias}`} autocomplete="new-password" spellcheck={false} data-1p-ignore data-lpignore="true" disabled={!signer.value} />}
        </Field>
      ))}
      {signer.value && <Field label="Note (kept with the decision)">{(wired) => <input {...wired} type="text" name="note" maxLength={1000} autocomplete="off" />}</Field>}
      {failure && <p class="field-error" role="alert"><Icon name="alert" /> {failure}</p>}
      {signer.value ? (
        <div class="approval-actions">
          <Button kind="primary" type="submit" icon="check" busy={busy === 'approve'} disabled={busy !== null}>Approve</Button>
          <Button kind="danger" icon="close" busy={busy === 'deny'} disabled={busy !== null} onClick={() => void decide('deny')}>Deny</Button>
          <span class="faint">Expires <Time at={approval.expiresAt} /></span>
        </div>
      ) : <BecomeApprover />}
      {signer.value && <SignedBy />}
    </form>
  )
}

// The values are read from the fields when they are sent, and are nowhere else.
function readSecrets(form: HTMLFormElement, aliases: string[]): { secrets: Record<string, string>; missing?: string } {
  const secrets: Record<string, string> = {}
  for (const alias of aliases) {
    const value = (form.elements.namedItem(`secret-${alias}`) as HTMLInputElement | null)?.value ?? ''
    if (!value) return { secrets: {}, missing: alias }
    secrets[alias] = value
  }
  return { secrets }
}

function noteOf(form: HTMLFormElement): string {
  return (form.elements.namedItem('note') as HTMLInputElement | null)?.value.trim() ?? ''
}

async function send(approval: CardProps['approval'], decision: 'approve' | 'deny', secrets: Record<string, string>, note: string): Promise<void> {
  const exp = Math.floor(Date.now() / 1000) + decisionLastsSeconds
  const signature = await sign(signer.value!, { approvalId: approval.approvalId, decision, exp, items: approval.items, secrets })
  const withSecrets = decision === 'approve' && Object.keys(secrets).length > 0
  await api.post(`/v1/approvals/${approval.approvalId}/${decision}`, { signature, ...(withSecrets ? { secrets } : {}), ...(note ? { note } : {}) })
}

function SignedBy() {
  const held = signer.value!
  return (
    <p class="approval-signer">
      <Icon name="secrets" size={14} />
      <span>Signed with <code title={held.keyId}>{held.keyId.slice(0, 8)}…{held.keyId.slice(-4)}</code>{held.kept ? ', the key of this browser' : ', until this page is closed'}.</span>
      <button type="button" class="link" onClick={() => void forgetKey()}>Forget it</button>
    </p>
  )
}

export function BecomeApprover() {
  const [pasting, setPasting] = useState(false)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  if (!canSign) return <p class="field-error"><Icon name="alert" /> A browser signs only on pages that came over HTTPS or from this machine. Open the console that way, or decide with <code>sluice approvals approve</code>.</p>
  const become = async () => {
    setBusy(true)
    setFailure('')
    await becomeApprover(`Console, ${navigator.platform || 'browser'}`).catch((error: unknown) => setFailure(wordsOf(error)))
    setBusy(false)
  }
  return (
    <div class="become">
      <p>A decision is signed with an approver key, and this browser holds none for this tenant.</p>
      <div class="approval-actions">
        {session.value?.kind === 'admin' && <Button kind="primary" icon="secrets" busy={busy} onClick={() => void become()}>Make this browser an approver</Button>}
        <Button onClick={() => setPasting(true)}>Use a key…</Button>
      </div>
      {failure && <p class="field-error" role="alert"><Icon name="alert" /> {failure}</p>}
      {pasting && <PasteKey onClose={() => setPasting(false)} />}
    </div>
  )
}

function PasteKey({ onClose }: { onClose: () => void }) {
  const form = useRef<HTMLFormElement>(null)
  const [failure, setFailure] = useState('')
  const take = async () => {
    const field = form.current!.elements.namedItem('key') as HTMLTextAreaElement
    try {
      await takeKey(field.value)
      field.value = ''
      onClose()
    } catch (error) {
      setFailure(wordsOf(error))
    }
  }
  return (
    <Dialog title="Use an approver key" onClose={onClose} footer={<><Button onClick={onClose}>Cancel</Button><Button kind="primary" onClick={() => void take()}>Use it</Button></>}>
      <form ref={form} onSubmit={(event) => { event.preventDefault(); void take() }}>
        <Field label="Key, as JSON" error={failure || undefined}
          hint={<>What <code>sluice approver-keys create --json</code> showed, or the file of <code>approver-keys generate</code>, or <code>bootstrap.json</code>. It stays in memory until this page is closed.</>}>
          {(wired) => <textarea {...wired} name="key" rows={6} class="mono" autocomplete="off" spellcheck={false} placeholder={'{"key_id":"apk_…","algorithm":"hmac-sha256","secret":"…"}'} />}
        </Field>
      </form>
    </Dialog>
  )
}
