// Model endpoints: places where models are, under a name that agents can use.
import { useState } from 'preact/hooks'
import { api } from '../api'
import { Button, Select, TextArea, TextField, toast, type Column } from '../ui/ui'
import { providers } from './agent-editor'
import { FormDialog, linesOf, useSubmit } from './form'
import { List } from './list-page'
import { usePaged } from './paged'
import { Remove } from './remove'
import type { ModelEndpoint } from './types'

export function Endpoints({ making, onMade }: { making: boolean; onMade: (is: boolean) => void }) {
  const list = usePaged<ModelEndpoint>('/v1/model-endpoints')
  const [edited, setEdited] = useState<ModelEndpoint | null>(null)
  const columns: Column<ModelEndpoint>[] = [
    { label: 'Name', cell: (one) => one.name },
    { label: 'Provider', cell: (one) => one.provider },
    { label: 'Address', wideOnly: true, cell: (one) => <span class="mono">{one.base_url ?? "the provider's own"}</span> },
    { label: 'Secret', width: '11rem', wideOnly: true, cell: (one) => <span class="mono">{one.key_alias ?? '–'}</span> },
    { label: 'Models', width: '6rem', wideOnly: true, align: 'end', cell: (one) => one.models.length || 'any' },
    { label: 'Delete', width: '4.5rem', align: 'end', cell: (one) => <Remove small path={`/v1/model-endpoints/${one.id}`} what={one.name} onDone={list.reload}>Agents that use it cannot call their model any more.</Remove> },
  ]
  return (
    <>
      <List label="Model endpoints" list={list} columns={columns} idOf={(one) => one.id} onOpen={setEdited}
        empty={{ icon: 'agents', title: 'No endpoints yet', text: 'An endpoint names a provider, an address and the secret to call it with, so that agents need not repeat them.', action: <Button kind="primary" icon="plus" onClick={() => onMade(true)}>Add an endpoint</Button> }} />
      {(making || edited) && <EndpointDialog endpoint={edited} onClose={() => { setEdited(null); onMade(false) }} onSaved={list.reload} />}
    </>
  )
}

function EndpointDialog({ endpoint, onClose, onSaved }: { endpoint: ModelEndpoint | null; onClose: () => void; onSaved: () => void }) {
  const form = useSubmit()
  const [name, setName] = useState(endpoint?.name ?? '')
  const [provider, setProvider] = useState(endpoint?.provider ?? 'openai-chat')
  const [baseUrl, setBaseUrl] = useState(endpoint?.base_url ?? '')
  const [keyAlias, setKeyAlias] = useState(endpoint?.key_alias ?? '')
  const [models, setModels] = useState(endpoint?.models.join('\n') ?? '')
  const save = async () => {
    const body = { name, provider, base_url: baseUrl || null, key_alias: keyAlias || null, models: linesOf(models) }
    await (endpoint ? api.patch(`/v1/model-endpoints/${endpoint.id}`, body) : api.post('/v1/model-endpoints', body))
    toast(`${name} is saved.`)
    onSaved()
  }
  return (
    <FormDialog title={endpoint ? endpoint.name : 'New model endpoint'} action="Save" submission={form} pointers={['/name', '/provider', '/base_url', '/key_alias', '/models']} onSubmit={save} onClose={onClose}>
      <TextField label="Name" value={name} onText={setName} error={form.at('/name')} />
      <Select label="Provider" value={provider} onValue={setProvider} error={form.at('/provider')} options={[...new Set([provider, ...providers])].map((value) => ({ value, label: value }))} />
      <TextField label="Base URL" type="url" placeholder="https://models.example/v1" value={baseUrl} onText={setBaseUrl} error={form.at('/base_url')} hint="Empty: the provider's own." />
      <TextField label="Secret with the key" placeholder="MODEL_KEY" value={keyAlias} onText={setKeyAlias} error={form.at('/key_alias')} hint="The alias of a secret; never the key itself." spellcheck={false} />
      <TextArea label="Models" class="mono" rows={4} value={models} onText={setModels} error={form.at('/models')} hint="One a line. Empty: any." spellcheck={false} />
    </FormDialog>
  )
}
