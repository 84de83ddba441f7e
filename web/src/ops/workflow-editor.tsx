// A workflow's definition: its text on one side, its picture on the other.
import { useMemo, useState } from 'preact/hooks'
import { api, Problem, type FieldError } from '../api'
import { navigate } from '../router'
import { Button, TextField, toast } from '../ui/ui'
import { Form, useSubmit } from './form'
import { checkDefinition, isDrawable } from './graph'
import { GraphView } from './graph-view'
import { JsonEditor } from './json-editor'
import type { Definition, Workflow } from './types'
import { inWorkspace } from './workspace'

const example: Definition = {
  inputs: [{ name: 'topic', type: 'text', required: true }],
  blocks: [
    { id: 'research', type: 'agents', agent: 'default', prompt: 'Find what is new about {{inputs.topic}}.' },
    { id: 'is_empty', type: 'condition', left: '{{blocks.research.response}}', op: 'is_empty' },
    { id: 'summary', type: 'inference', prompt: 'Summarize in three sentences:\n{{blocks.research.response}}' },
  ],
  edges: [{ from: 'research', to: 'is_empty' }, { from: 'is_empty', to: 'summary', when: false }],
  outputs: { summary: '{{blocks.summary.response}}' },
}

function read(text: string): { value?: unknown; errors: FieldError[] } {
  try {
    const value: unknown = JSON.parse(text)
    return { value, errors: checkDefinition(value) }
  } catch (error) {
    return { errors: [{ pointer: '', message: `This is not JSON: ${(error as Error).message}` }] }
  }
}

export function WorkflowEditor({ workflow, onSaved }: { workflow: Workflow | null; onSaved: (workflow: Workflow) => void }) {
  const form = useSubmit()
  const [name, setName] = useState(workflow?.name ?? '')
  const [about, setAbout] = useState(workflow?.description ?? '')
  const [text, setText] = useState(() => JSON.stringify(workflow?.definition ?? example, null, 2))
  const [sent, setSent] = useState('') // the text that the server's words are about
  const [last, setLast] = useState<Definition | null>(workflow?.definition ?? example)
  const checked = useMemo(() => read(text), [text])
  const told = form.failure instanceof Problem && sent === text
    ? form.failure.errors.filter((error) => error.pointer.startsWith('/definition')).map((error) => ({ pointer: error.pointer.slice('/definition'.length), message: error.message })) : []
  const errors = checked.errors.length ? checked.errors : told
  const drawn = isDrawable(checked.value) ? checked.value : last
  const change = (next: string) => {
    setText(next)
    const { value } = read(next)
    if (isDrawable(value)) setLast(value)
  }
  const save = () => form.submit(async () => {
    setSent(text)
    if (checked.value === undefined) throw new Problem(422, { title: 'The definition is not JSON', errors: [{ pointer: '/definition', message: 'is not JSON' }] })
    const body = { name, description: about, definition: checked.value }
    const kept = workflow ? await api.patch<Workflow>(inWorkspace(`workflows/${workflow.id}`), body) : await api.post<Workflow>(inWorkspace('workflows'), body)
    toast(`${kept.name} is saved.`)
    if (workflow) onSaved(kept)
    else navigate(`/workflows/${kept.id}`, 'replace')
  })
  return (
    <Form submission={form} pointers={['/name', '/description', '/definition']} onSubmit={() => void save()} footer={<Button kind="primary" type="submit" busy={form.busy}>{workflow ? 'Save' : 'Create the workflow'}</Button>}>
      <div class="form-row">
        <TextField label="Name" value={name} onText={setName} error={form.at('/name')} />
        <TextField label="Description" value={about} onText={setAbout} error={form.at('/description')} />
      </div>
      <div class="workflow-editor">
        <JsonEditor label="Definition, as JSON" text={text} onText={change} errors={errors} />
        <div class={`card${drawn === checked.value ? '' : ' stale'}`}>{drawn && drawn.blocks.length > 0 ? <GraphView definition={drawn} /> : <p class="nothing faint">The picture comes with the first block.</p>}</div>
      </div>
    </Form>
  )
}
