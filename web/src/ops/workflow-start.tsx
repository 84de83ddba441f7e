// Starts a workflow: a form made from its inputs.
import { useState } from 'preact/hooks'
import { api } from '../api'
import { navigate } from '../router'
import { Button, Select, TextArea, TextField } from '../ui/ui'
import { Form, mistake, useSubmit } from './form'
import type { Workflow, WorkflowInput, WorkflowRun } from './types'
import { inWorkspace } from './workspace'

const textOf = (input: WorkflowInput): string => (input.default === undefined || input.default === null ? '' : typeof input.default === 'string' ? input.default : JSON.stringify(input.default))

function inputOf(input: WorkflowInput, text: string): unknown {
  if (input.type === 'text') return text
  if (input.type === 'number') return Number.isFinite(Number(text)) ? Number(text) : text
  if (input.type === 'boolean') return text === 'true'
  try {
    return JSON.parse(text)
  } catch {
    throw mistake(`/inputs/${input.name}`, 'is not JSON')
  }
}

export function WorkflowStart({ workflow }: { workflow: Workflow }) {
  const inputs = workflow.definition.inputs ?? []
  const form = useSubmit()
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(inputs.map((input) => [input.name, textOf(input)])))
  const start = () => form.submit(async () => {
    const told = inputs.filter((input) => texts[input.name] !== '').map((input) => [input.name, inputOf(input, texts[input.name]!)] as const)
    const run = await api.post<WorkflowRun>(inWorkspace(`workflows/${workflow.id}/runs`), { inputs: Object.fromEntries(told) }, { headers: { Prefer: 'respond-async' } })
    navigate(`/workflows/${workflow.id}/runs/${run.id}`)
  })
  return (
    <div class="card panel narrow">
      <Form submission={form} pointers={inputs.map((input) => `/inputs/${input.name}`)} onSubmit={() => void start()} footer={<Button kind="primary" icon="runs" type="submit" busy={form.busy}>Run it</Button>}>
        {!inputs.length && <p class="muted">This workflow takes no inputs.</p>}
        {inputs.map((input) => <InputField key={input.name} input={input} text={texts[input.name] ?? ''} onText={(text) => setTexts({ ...texts, [input.name]: text })} error={form.at(`/inputs/${input.name}`)} />)}
      </Form>
    </div>
  )
}

function InputField({ input, text, onText, error }: { input: WorkflowInput; text: string; onText: (text: string) => void; error: string | undefined }) {
  const label = `${input.name}${input.required ? ' (required)' : ''}`
  if (input.type === 'boolean') return <Select label={label} value={text} onValue={onText} error={error} options={[{ value: '', label: input.required ? 'choose' : 'not given' }, { value: 'true', label: 'true' }, { value: 'false', label: 'false' }]} />
  if (input.type === 'number') return <TextField label={label} type="number" value={text} onText={onText} error={error} />
  return <TextArea label={label} rows={input.type === 'json' ? 5 : 3} class={input.type === 'json' ? 'mono' : ''} spellcheck={input.type !== 'json'} value={text} onText={onText} error={error} />
}
