// Everything an agent is made of, in one form.
import { useState } from 'preact/hooks'
import { api, type Page } from '../api'
import { useLoad } from '../load'
import { navigate } from '../router'
import { Button, Field, PageFrame, Select, TextArea, TextField, toast } from '../ui/ui'
import { Check, Form, linesOf, mistake, useSubmit } from './form'
import { policyOf, rulesOf, type Rule } from './policy'
import { PolicyEditor } from './policy-editor'
import { Remove } from './remove'
import type { Agent, Environment, ModelEndpoint, Skill } from './types'
import { Shown } from './words'

const types = ['native', 'claude-code', 'codex', 'opencode', 'grok-build', 'acp']
const workspaceUses = [{ value: 'none', label: 'Nothing' }, { value: 'read', label: 'Read' }, { value: 'write', label: 'Read and write' }]
export const providers = ['anthropic', 'openai-responses', 'openai-chat', 'offline']
const pointers = ['/name', '/system_prompt', '/model', '/limits', '/environment_id', '/skill_ids', '/policy', '/agent_type', '/command', '/mcp_servers', '/tools', '/workspace']

interface Parts { agent: Agent | null; skills: Skill[]; environments: Environment[]; endpoints: ModelEndpoint[] }

export function AgentEditor({ id }: { id: string }) {
  const isNew = id === 'new'
  const parts = useLoad(async (stop): Promise<Parts> => {
    const all = <T,>(path: string) => api.get<Page<T>>(path, { limit: 100 }, stop).then((page) => page.data)
    const [agent, skills, environments, endpoints] = await Promise.all([
      isNew ? null : api.get<Agent>(`/v1/agents/${id}`, {}, stop), all<Skill>('/v1/skills'), all<Environment>('/v1/environments'), all<ModelEndpoint>('/v1/model-endpoints'),
    ])
    return { agent, skills, environments, endpoints }
  }, [id])
  const name = parts.data?.agent?.name
  return (
    <PageFrame title={isNew ? 'New agent' : name ?? 'Agent'} back={{ to: '/agents', label: 'Agents' }}
      actions={parts.data?.agent && <Remove path={`/v1/agents/${id}`} what={name!} onDone={() => navigate('/agents')}>Its conversations stay and can be read; they get no further answers.</Remove>}>
      <Shown of={parts}>{(data) => <Editor key={data.agent?.id ?? 'new'} {...data} />}</Shown>
    </PageFrame>
  )
}

function draftOf(agent: Agent | null) {
  const model = agent?.model
  return {
    name: agent?.name ?? '', prompt: agent?.system_prompt ?? '', type: agent?.agent_type ?? 'native', command: agent?.command.join('\n') ?? '',
    source: model ? (model.endpoint ? `endpoint:${model.endpoint}` : model.provider!) : '', model: model?.name ?? '', baseUrl: model?.base_url ?? '', keyAlias: model?.key_alias ?? '',
    environment: agent?.environment_id ?? '', skills: agent?.skill_ids ?? [], rules: rulesOf(agent?.policy ?? []),
    outputTokens: String(agent?.limits.max_output_tokens ?? ''), runtime: String(agent?.limits.max_runtime_seconds ?? ''), history: String(agent?.limits.max_history_messages ?? ''),
    servers: JSON.stringify(agent?.mcp_servers ?? [], null, 2), tools: JSON.stringify(agent?.tools ?? [], null, 2), codeMode: agent?.code_mode ?? false, workspace: agent?.workspace ?? 'none', isDefault: agent?.is_default ?? false,
  }
}
type Draft = ReturnType<typeof draftOf>

function parsed(text: string, pointer: string): unknown {
  try {
    return JSON.parse(text || '[]')
  } catch (error) {
    throw mistake(pointer, `is not JSON: ${(error as Error).message}`)
  }
}

const numbered = (text: string): number | string | undefined => (text.trim() === '' ? undefined : Number.isFinite(Number(text)) ? Number(text) : text)

function modelOf(draft: Draft): unknown {
  if (!draft.source) return undefined
  if (draft.source.startsWith('endpoint:')) return { endpoint: draft.source.slice('endpoint:'.length), name: draft.model }
  return { provider: draft.source, name: draft.model, ...(draft.baseUrl ? { base_url: draft.baseUrl } : {}), ...(draft.keyAlias ? { key_alias: draft.keyAlias } : {}) }
}

function bodyOf(draft: Draft, wasDefault: boolean): Record<string, unknown> {
  return {
    name: draft.name, system_prompt: draft.prompt, agent_type: draft.type, command: draft.type === 'acp' ? linesOf(draft.command) : [], model: modelOf(draft),
    environment_id: draft.environment || null, skill_ids: draft.skills, policy: policyOf(draft.rules), code_mode: draft.codeMode, workspace: draft.workspace,
    limits: { max_output_tokens: numbered(draft.outputTokens), max_runtime_seconds: numbered(draft.runtime), max_history_messages: numbered(draft.history) },
    mcp_servers: parsed(draft.servers, '/mcp_servers'), tools: parsed(draft.tools, '/tools'), ...(draft.isDefault && !wasDefault ? { is_default: true } : {}),
  }
}

// Rules about what happens inside the sandbox hold as far as the program asks.
const restsOnProgram = (draft: Draft) => draft.type === 'acp' && draft.rules.some((rule) => rule.effect !== 'allow' && rule.kind !== 'host')

function Editor({ agent, skills, environments, endpoints }: Parts) {
  const [draft, setDraft] = useState(() => draftOf(agent))
  const form = useSubmit()
  const set = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }))
  const save = () => form.submit(async () => {
    const body = bodyOf(draft, agent?.is_default ?? false)
    const kept = agent ? await api.patch<Agent>(`/v1/agents/${agent.id}`, body) : await api.post<Agent>('/v1/agents', body)
    toast(`${kept.name} is saved.`)
    if (!agent) navigate(`/agents/${kept.id}`, 'replace')
  })
  return (
    <Form submission={form} pointers={pointers} onSubmit={() => void save()} footer={<Button kind="primary" type="submit" busy={form.busy}>{agent ? 'Save' : 'Create the agent'}</Button>}>
      <div class="card panel">
        <TextField label="Name" required value={draft.name} onText={(name) => set({ name })} error={form.at('/name')} />
        <TextArea label="System prompt" rows={7} value={draft.prompt} onText={(prompt) => set({ prompt })} error={form.at('/system_prompt')} hint="The agent gets this before every conversation." />
        <Check label="The default agent" hint="Answers conversations that name no agent." checked={draft.isDefault} disabled={agent?.is_default} onCheck={(isDefault) => set({ isDefault })} />
      </div>
      <Model draft={draft} set={set} endpoints={endpoints} error={form.at} isNew={!agent} />
      <div class="card panel">
        <h2>What it works with</h2>
        <div class="form-row">
          <Select label="Program" value={draft.type} onValue={(type) => set({ type })} options={types.map((type) => ({ value: type, label: type }))} error={form.at('/agent_type')} hint="Native: the server's own loop." />
          <Select label="Environment" value={draft.environment} onValue={(environment) => set({ environment })} error={form.at('/environment_id')} hint="For messages that name none."
            options={[{ value: '', label: 'None' }, ...environments.map(({ id, name }) => ({ value: id, label: name }))]} />
        </div>
        {draft.type === 'acp' && <TextArea label="Command" class="mono" rows={3} value={draft.command} onText={(command) => set({ command })} error={form.at('/command')} hint="The program and its arguments, one a line." />}
        <Skills skills={skills} chosen={draft.skills} onChosen={(chosen) => set({ skills: chosen })} error={form.at('/skill_ids')} />
        <Select label="Workspace" value={draft.workspace} onValue={(workspace) => set({ workspace: workspace as Draft['workspace'] })} options={workspaceUses} error={form.at('/workspace')}
          hint="What its sandboxes may do with tables, files and workflows. Turns of the Assistant may write in any case." />
        <Check label="Code mode" hint="The tool run_script is offered." checked={draft.codeMode} onCheck={(codeMode) => set({ codeMode })} />
      </div>
      <div class="card panel">{restsOnProgram(draft) && <p class="hint" role="status">A program of the type acp decides itself what it asks about. What it does without asking is bounded by its sandbox and by the rules about hosts only: try it before you rely on the other rules.</p>}<PolicyEditor rules={draft.rules} onRules={(rules: Rule[]) => set({ rules })} errorAt={form.at} />{!draft.rules.length && form.at('/policy') && <p class="field-error">{form.at('/policy')}</p>}</div>
      <div class="card panel">
        <h2>Limits</h2>
        <div class="form-row">
          <TextField label="Output tokens" type="number" placeholder="8192" value={draft.outputTokens} onText={(outputTokens) => set({ outputTokens })} error={form.at('/limits/max_output_tokens')} />
          <TextField label="Runtime in seconds" type="number" placeholder="28800" value={draft.runtime} onText={(runtime) => set({ runtime })} error={form.at('/limits/max_runtime_seconds')} />
          <TextField label="Messages of history" type="number" placeholder="200" value={draft.history} onText={(history) => set({ history })} error={form.at('/limits/max_history_messages')} />
        </div>
      </div>
      <details class="card panel" open={Boolean(form.at('/mcp_servers') ?? form.at('/tools'))}>
        <summary>MCP servers and webhook tools</summary>
        <TextArea label="MCP servers, as JSON" class="mono" value={draft.servers} onText={(servers) => set({ servers })} error={form.at('/mcp_servers')} spellcheck={false} hint='[{"name":"crm","url":"https://…","headers":{"Authorization":"Bearer {{secret:CRM_KEY}}"}}]' />
        <TextArea label="Webhook tools, as JSON" class="mono" value={draft.tools} onText={(tools) => set({ tools })} error={form.at('/tools')} spellcheck={false} hint='[{"name":"lookup","url":"https://…","parameters":{…}}]' />
      </details>
    </Form>
  )
}

interface ModelProps { draft: Draft; set: (part: Partial<Draft>) => void; endpoints: ModelEndpoint[]; error: (pointer: string) => string | undefined; isNew: boolean }

function Model({ draft, set, endpoints, error, isNew }: ModelProps) {
  const endpoint = endpoints.find((one) => draft.source === `endpoint:${one.name}` || draft.source === `endpoint:${one.id}`)
  const own = draft.source && !draft.source.startsWith('endpoint:') && !providers.includes(draft.source) ? [draft.source] : []
  const options = [
    ...(isNew ? [{ value: '', label: "The server's default" }] : []), ...endpoints.map((one) => ({ value: endpoint === one ? draft.source : `endpoint:${one.name}`, label: `Endpoint: ${one.name}` })),
    ...[...own, ...providers].map((provider) => ({ value: provider, label: provider })),
  ]
  const whole = error('/model/provider') ?? error('/model/endpoint')
  return (
    <div class="card panel">
      <h2>Model</h2>
      <div class="form-row">
        <Select label="Where it is" value={draft.source} onValue={(source) => set({ source })} options={options} error={whole} />
        {draft.source && <Field label="Name of the model" error={error('/model/name')}>
          {(wired) => <><input {...wired} class="mono" list="model-names" value={draft.model} autocomplete="off" onInput={(event) => set({ model: event.currentTarget.value })} /><datalist id="model-names">{endpoint?.models.map((name) => <option key={name} value={name} />)}</datalist></>}
        </Field>}
      </div>
      {draft.source && !draft.source.startsWith('endpoint:') && (
        <div class="form-row">
          <TextField label="Base URL" type="url" placeholder="The provider's own" value={draft.baseUrl} onText={(baseUrl) => set({ baseUrl })} error={error('/model/base_url')} />
          <TextField label="Secret with the key" placeholder="The server's own" value={draft.keyAlias} onText={(keyAlias) => set({ keyAlias })} error={error('/model/key_alias')} hint="An alias, such as ANTHROPIC_KEY" />
        </div>
      )}
    </div>
  )
}

function Skills({ skills, chosen, onChosen, error }: { skills: Skill[]; chosen: string[]; onChosen: (chosen: string[]) => void; error: string | undefined }) {
  if (!skills.length) return <p class="hint">No skill is kept yet; upload one under Skills.</p>
  return (
    <fieldset class="choices">
      <legend>Skills</legend>
      {skills.map((skill) => <Check key={skill.id} label={skill.name} hint={skill.description} checked={chosen.includes(skill.id)} onCheck={(is) => onChosen(is ? [...chosen, skill.id] : chosen.filter((id) => id !== skill.id))} />)}
      {error && <p class="field-error">{error}</p>}
    </fieldset>
  )
}
