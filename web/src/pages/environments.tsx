// Environments: variables, and a script that runs before the first model call.
import { useState } from 'preact/hooks'
import { api } from '../api'
import { useLoad } from '../load'
import { Form, mistake, useSubmit } from '../ops/form'
import { List } from '../ops/list-page'
import { usePaged } from '../ops/paged'
import { Remove } from '../ops/remove'
import type { Environment } from '../ops/types'
import { Shown } from '../ops/words'
import type { PageProps } from '../pages'
import { Link, navigate } from '../router'
import { Button, Icon, IconButton, PageFrame, TextArea, TextField, Time, toast, type Column } from '../ui/ui'

export default function EnvironmentsPage({ params }: PageProps) {
  if (params.id) return <EnvironmentPage key={params.id} id={params.id} />
  return (
    <PageFrame title="Environments" full about="Variables and a script that prepare a sandbox." actions={<NewEnvironment />}>
      <Environments />
    </PageFrame>
  )
}

const NewEnvironment = () => <Link to="/environments/new" class="button primary"><Icon name="plus" /><span>New environment</span></Link>

const columns: Column<Environment>[] = [
  { label: 'Name', cell: (one) => one.name },
  { label: 'Variables', cell: (one) => <span class="mono">{Object.keys(one.variables).join(', ') || '–'}</span> },
  { label: 'Script', width: '8rem', wideOnly: true, cell: (one) => (one.script ? `${one.script.trimEnd().split('\n').length} lines` : '–') },
  { label: 'Changed', width: '7rem', wideOnly: true, cell: (one) => <Time at={one.updated_at} /> },
]

function Environments() {
  const list = usePaged<Environment>('/v1/environments')
  return <List label="Environments" list={list} columns={columns} idOf={(one) => one.id} to={(one) => `/environments/${one.id}`} empty={{ icon: 'environments', title: 'No environments yet', text: 'Agents and messages name an environment; its variables are set and its script has run before the agent begins.', action: <NewEnvironment /> }} />
}

function EnvironmentPage({ id }: { id: string }) {
  const isNew = id === 'new'
  const found = useLoad(async (stop) => (isNew ? null : api.get<Environment>(`/v1/environments/${id}`, {}, stop)), [id])
  const name = found.data?.name
  return (
    <PageFrame title={isNew ? 'New environment' : name ?? 'Environment'} back={{ to: '/environments', label: 'Environments' }}
      actions={found.data && <Remove path={`/v1/environments/${id}`} what={name!} onDone={() => navigate('/environments')}>An environment that an agent names cannot be deleted.</Remove>}>
      <Shown of={found}>{(data) => <Editor key={id} environment={data} />}</Shown>
    </PageFrame>
  )
}

function Editor({ environment }: { environment: Environment | null }) {
  const form = useSubmit()
  const [name, setName] = useState(environment?.name ?? '')
  const [pairs, setPairs] = useState<[string, string][]>(() => Object.entries(environment?.variables ?? {}))
  const [script, setScript] = useState(environment?.script ?? '')
  const change = (i: number, pair: [string, string]) => setPairs(pairs.map((old, at) => (at === i ? pair : old)))
  const save = () => form.submit(async () => {
    const told = pairs.filter(([key, value]) => key || value)
    const twice = told.find(([key], i) => told.findIndex(([other]) => other === key) !== i)
    if (twice) throw mistake(`/variables/${twice[0]}`, 'is there twice')
    const body = { name, variables: Object.fromEntries(told), script: script || null }
    const kept = environment ? await api.patch<Environment>(`/v1/environments/${environment.id}`, body) : await api.post<Environment>('/v1/environments', body)
    toast(`${kept.name} is saved.`)
    if (!environment) navigate(`/environments/${kept.id}`, 'replace')
  })
  return (
    <Form submission={form} pointers={['/name', '/variables', '/script']} onSubmit={() => void save()} footer={<Button kind="primary" type="submit" busy={form.busy}>{environment ? 'Save' : 'Create the environment'}</Button>}>
      <div class="card panel">
        <TextField label="Name" value={name} onText={setName} error={form.at('/name')} />
        <fieldset class="rules">
          <legend>Variables</legend>
          <p class="hint">Not for secrets: they are shown again, and the agent can read them. Keep those under Secrets.</p>
          {pairs.map(([key, value], i) => (
            <div key={i} class="pair" role="group" aria-label={`Variable ${i + 1}`}>
              <input class="mono" aria-label="Name of the variable" placeholder="NAME" value={key} aria-invalid={form.at(`/variables/${key}`) ? 'true' : undefined} onInput={(event) => change(i, [event.currentTarget.value, value])} />
              <input class="mono" aria-label="Value" placeholder="value" value={value} onInput={(event) => change(i, [key, event.currentTarget.value])} />
              <IconButton icon="trash" label={`Remove ${key || `variable ${i + 1}`}`} onClick={() => setPairs(pairs.filter((_, at) => at !== i))} />
            </div>
          ))}
          {form.at('/variables') && <p class="field-error" role="alert">{form.at('/variables')}</p>}
          <div><Button small icon="plus" onClick={() => setPairs([...pairs, ['', '']])}>Add a variable</Button></div>
        </fieldset>
        <TextArea label="Script" class="mono" rows={10} value={script} onText={setScript} error={form.at('/script')} spellcheck={false} hint="Run by sh in the sandbox before the first model call. When it fails, so does the run." />
      </div>
    </Form>
  )
}
