// Secrets of the tenant: written once and never shown again. Agents know their aliases only.
import { useRef, useState } from 'preact/hooks'
import { api } from '../api'
import { Check, FormDialog, linesOf, mistake, useSubmit } from '../ops/form'
import { List } from '../ops/list-page'
import { usePaged } from '../ops/paged'
import { Remove } from '../ops/remove'
import type { Secret, SecretPlace } from '../ops/types'
import { Button, Field, PageFrame, TextArea, TextField, Time, toast, type Column } from '../ui/ui'

const places: { place: SecretPlace; label: string }[] = [{ place: 'header', label: 'Header' }, { place: 'query', label: 'Query' }, { place: 'body', label: 'Body' }, { place: 'basic', label: 'Basic authentication' }]

export default function SecretsPage() {
  const list = usePaged<Secret>('/v1/secrets', {}, (secret) => secret.alias)
  const [put, setPut] = useState<{ secret: Secret | null } | null>(null)
  const columns: Column<Secret>[] = [
    { label: 'Alias', cell: (secret) => <span class="mono">{secret.alias}</span> },
    { label: 'Hosts', wideOnly: true, cell: (secret) => <span class="mono">{secret.hosts.join(', ') || "where the agent's policy lets it go"}</span> },
    { label: 'Where in a request', width: '12rem', wideOnly: true, cell: (secret) => secret.places.join(', ') || 'anywhere' },
    { label: 'Changed', width: '7rem', cell: (secret) => <Time at={secret.updated_at} /> },
    { label: 'Destroy', width: '5rem', align: 'end', cell: (secret) => <Remove small verb="Destroy" done="destroyed" path={`/v1/secrets/${secret.alias}`} what={secret.alias} onDone={list.reload}>It cannot be brought back. Requests that use it are refused from now on.</Remove> },
  ]
  const add = <Button kind="primary" icon="plus" onClick={() => setPut({ secret: null })}>New secret</Button>
  return (
    <PageFrame title="Secrets" full about="Values are sealed and never shown again. An agent uses a secret by its alias; the value is put in on its way out, where no sandbox sees it." actions={add}>
      <List label="Secrets of the tenant" list={list} columns={columns} idOf={(secret) => secret.alias} onOpen={(secret) => setPut({ secret })}
        empty={{ icon: 'secrets', title: 'No secrets yet', text: 'Keep the keys of the services that your agents call here.', action: add }} />
      {put && <SecretDialog secret={put.secret} onClose={() => setPut(null)} onSaved={list.reload} />}
    </PageFrame>
  )
}

function SecretDialog({ secret, onClose, onSaved }: { secret: Secret | null; onClose: () => void; onSaved: () => void }) {
  const form = useSubmit()
  const [alias, setAlias] = useState(secret?.alias ?? '')
  const [hosts, setHosts] = useState(secret?.hosts.join('\n') ?? '')
  const [chosen, setChosen] = useState<SecretPlace[]>(secret?.places ?? [])
  const value = useRef<HTMLInputElement>(null)
  const at = `/secrets/${alias}`
  const save = async () => {
    if (!/^[A-Z][A-Z0-9_]{0,63}$/.test(alias)) throw mistake('/alias', 'capital letters, digits and _, a letter first')
    if (!value.current!.value) throw mistake(`${at}/value`, 'a value is needed')
    const bound = { value: value.current!.value, ...(linesOf(hosts).length ? { hosts: linesOf(hosts) } : {}), ...(chosen.length ? { places: chosen } : {}) }
    await api.put('/v1/secrets', { secrets: { [alias]: bound } })
    value.current!.value = ''
    toast(`${alias} is sealed.`)
    onSaved()
  }
  const valueError = form.at(`${at}/value`) ?? (form.at(`${at}/hosts`) || form.at(`${at}/places`) ? undefined : form.at(at))
  return (
    <FormDialog title={secret ? `Replace ${secret.alias}` : 'New secret'} action={secret ? 'Replace' : 'Seal'} submission={form} pointers={['/alias', at]} onSubmit={save} onClose={onClose}>
      {secret ? <p class="muted">The value and the bindings are replaced together. The old value cannot be shown.</p> : <TextField label="Alias" placeholder="CRM_API_KEY" value={alias} onText={(text) => setAlias(text.toUpperCase())} error={form.at('/alias')} spellcheck={false} />}
      <Field label="Value" error={valueError} hint="It leaves this page once, and is nowhere in it afterwards.">
        {(wired) => <input {...wired} ref={value} type="password" autocomplete="off" data-1p-ignore spellcheck={false} />}
      </Field>
      <TextArea label="Hosts" class="mono" rows={2} value={hosts} onText={setHosts} error={form.at(`${at}/hosts`)} spellcheck={false} hint="The only ones it may be sent to, one a line. Empty: where the agent's policy lets it go." />
      <fieldset class="choices row">
        <legend>Where in a request (none chosen: headers and basic authentication)</legend>
        {places.map(({ place, label }) => <Check key={place} label={label} checked={chosen.includes(place)} onCheck={(is) => setChosen(is ? [...chosen, place] : chosen.filter((one) => one !== place))} />)}
        {form.at(`${at}/places`) && <p class="field-error">{form.at(`${at}/places`)}</p>}
      </fieldset>
    </FormDialog>
  )
}
