// What the operations pages of the fake begin with.
import { id } from './problem.mjs'

const begun = Date.now()
const at = (ago) => new Date(begun - ago * 1000).toISOString()
const hex = (seed) => Array.from({ length: 64 }, (_, i) => ((seed * 31 + i * 7) % 16).toString(16)).join('')

export const runCount = 100_000
const agents = ['agt_01hzx8agent0000000000000a1', 'agt_01hzx8agent0000000000000a2']
const live = ['streaming', 'parked', 'held', 'starting', 'streaming']

// Runs are made when they are asked for: by their index, newest first, or by their id.
export function runAt(which) {
  const index = typeof which === 'number' ? which : runCount - 1 - Number.parseInt(which.slice(-8), 10)
  if (!(index >= 0 && index < runCount)) return null
  const number = String(runCount - 1 - index).padStart(8, '0')
  const state = index < live.length ? live[index] : index % 11 === 4 ? 'failed' : index % 17 === 6 ? 'cancelled' : 'completed'
  const created = begun - index * 47_000 - 20_000
  return {
    object: 'run', id: `run_01kfz8m4qq0000000t${number}`, index, tenant_id: 'tnt_01hzx8dem000000000000000a1', conversation_id: `con_01kfz8m4qq0000000t${String(runCount - 1 - Math.floor(index / 3)).padStart(8, '0')}`,
    user_message_id: `msg_u1kfz8m4qq0000000t${number}`, message_id: `msg_01kfz8m4qq0000000t${number}`, agent_id: agents[index % 3 === 1 ? 1 : 0], state,
    created_at: new Date(created).toISOString(), ended_at: index < live.length ? null : new Date(created + 3000 + ((index * 7919) % 40_000)).toISOString(),
  }
}

export function opsTimeline(run) {
  const started = Date.parse(run.created_at)
  const end = run.ended_at ? Date.parse(run.ended_at) - started : null
  const total = end ?? Date.now() - started
  const part = (from, to) => ({ from_ms: Math.round(total * from), to_ms: to === null ? null : Math.round(total * to) })
  const phases = [
    { phase: 'queue', label: 'queue', ...part(0, run.state === 'held' ? null : 0.06) },
    ...(run.state === 'held' ? [] : [
      { phase: 'box', label: 'sandbox', ...part(0.06, 0.1), id: 'start' }, { phase: 'box', label: 'environment', ...part(0.1, 0.16), id: 'environment' }, { phase: 'first_token', label: 'first token', ...part(0.16, 0.23) },
      { phase: 'text', label: 'text', ...part(0.23, 0.27) }, { phase: 'step', label: 'bash', ...part(0.27, 0.4), status: 'succeeded', id: 's1' }, { phase: 'step', label: 'read_file', ...part(0.3, 0.34), status: 'succeeded', id: 's2' },
      { phase: 'step', label: 'read_file', ...part(0.31, 0.36), status: 'failed', id: 's3' }, { phase: 'text', label: 'text', ...part(0.4, 0.44) }, { phase: 'gate', label: 'CRM_API_KEY', ...part(0.44, run.state === 'parked' ? null : 0.68), status: run.state === 'parked' ? 'pending' : 'approved', id: 'apr_1' },
      ...(run.state === 'parked' ? [] : [{ phase: 'step', label: 'bash', ...part(0.69, run.ended_at ? 0.86 : null), status: run.ended_at ? 'succeeded' : 'running', id: 's4' }, ...(run.ended_at ? [{ phase: 'text', label: 'text', ...part(0.86, 1) }] : [])]),
    ]),
  ]
  return { run_id: run.id, started_at_ms: started, ended_at_ms: run.ended_at ? Date.parse(run.ended_at) : null, phases }
}

export const stepsOf = (run) => (run.state === 'held' ? [] : [
  { id: 's1', name: 'bash', status: 'succeeded', args: { command: 'python3 reconcile.py invoices/2026-02 --crm' }, result: 'read 16 invoices\n14 match\n2 differ\n', durationMs: 4120 },
  { id: 's2', name: 'read_file', status: 'succeeded', args: { path: 'invoices/2026-02/0213.json' }, result: '{"number":"2026-0213","total":1240.00}', durationMs: 12 },
  { id: 's3', name: 'read_file', status: 'failed', args: { path: 'invoices/2026-02/0220.json' }, error: 'There is no such file.', durationMs: 9 },
  { id: 's4', name: 'bash', status: run.ended_at ? 'succeeded' : 'running', args: { command: 'curl -s https://api.crm.example/v2/invoices?month=2026-02', timeout: 60 }, ...(run.ended_at ? { result: '{"count": 15}', durationMs: 812 } : {}) },
])

const agent = (key, name, is_default, more = {}) => ({
  object: 'agent', id: key, tenant_id: 'tnt_01hzx8dem000000000000000a1', name, system_prompt: `You are the ${name} of a small company. Be brief and exact.`, model: { provider: 'offline', name: 'offline', base_url: null, key_alias: null },
  limits: { max_output_tokens: 8192, max_runtime_seconds: 28800, max_history_messages: 200 }, skill_ids: [], environment_id: null, policy: [], agent_type: 'native', command: [], mcp_servers: [], tools: [], code_mode: false, workspace: 'none', is_default, created_at: at(90000), updated_at: at(4000), ...more,
})
const settings = { filler_enabled: false, weight: 1, max_running: 0, max_held: 0, max_concurrent_sticky: 5, max_sticky_ttl_seconds: 3600, require_bound_decisions: false, agui_unsigned_approvals: false, webhook_url: null }
const tenant = (key, name, more = {}) => ({ object: 'tenant', id: key, name, status: 'active', settings: { ...settings }, metadata: {}, created_at: at(900000), updated_at: at(90000), ...more })
const skill = (number, name, description, size, file_count) => ({ object: 'skill', id: `skl_01hzx8skill000000000000${number}`, name, description, sha256: hex(Number(number)), size, file_count, created_at: at(500000), updated_at: at(70000) })

const definition = {
  inputs: [{ name: 'month', type: 'text', required: true, default: '2026-02' }, { name: 'strict', type: 'boolean' }, { name: 'limit', type: 'number', default: 100 }, { name: 'options', type: 'json' }],
  environment: { TZ: 'UTC' },
  blocks: [
    { id: 'fetch', type: 'http', method: 'GET', url: 'https://books.example/invoices?month={{inputs.month}}' }, { id: 'reconcile', type: 'agents', agent: 'bookkeeper', prompt: 'Compare {{blocks.fetch.response}} with the CRM.', skills: ['tables'] },
    { id: 'differs', type: 'condition', left: '{{blocks.reconcile.response}}', op: 'contains', right: 'differ' }, { id: 'report', type: 'inference', prompt: 'Write a short report of {{blocks.reconcile.response}}' },
    { id: 'note', type: 'inference', prompt: 'Say that all is well.' }, { id: 'publish', type: 'http', method: 'POST', url: 'https://chat.example/post', body: { text: '{{blocks.report.response}}{{blocks.note.response}}' } },
  ],
  edges: [{ from: 'fetch', to: 'reconcile' }, { from: 'reconcile', to: 'differs' }, { from: 'differs', to: 'report', when: true }, { from: 'differs', to: 'note', when: false }, { from: 'report', to: 'publish' }, { from: 'note', to: 'publish' }, { from: 'fetch', to: 'publish' }],
  outputs: { report: '{{blocks.report.response}}' },
}

function workflowFaults(body) {
  const blocks = body.definition?.blocks
  if (!body.definition) return []
  if (!Array.isArray(blocks) || !blocks.length) return [{ pointer: '/definition/blocks', message: 'must have at least one block' }]
  const named = /\{\{blocks\.([a-z0-9_-]+)/g
  return blocks.flatMap((block, i) => [...String(block.prompt ?? '').matchAll(named)].filter(([, name]) => !blocks.some((other) => other.id === name)).map(([, name]) => ({ pointer: `/definition/blocks/${i}/prompt`, message: `{{blocks.${name}…}} names no block before it` })))
}

export function opsData() {
  const contacts = { object: 'table', id: 'tbl_01hzx8table000000000000001', name: 'contacts', columns: [{ name: 'name', type: 'text', required: true }, { name: 'city', type: 'text' }, { name: 'deals', type: 'number' }, { name: 'active', type: 'boolean' }, { name: 'seen', type: 'timestamp' }, { name: 'extra', type: 'json' }], row_count: 1200, size_bytes: 148_000, created_at: at(400000), updated_at: at(1200) }
  const people = ['Ada Byron', 'Linus Oy', '=HYPERLINK("http://x.example")', 'Grace Hop', 'Zoë Äpfel', 'Kofi Mensah', 'Mei Lin']
  const cities = ['Oslo', 'Rome', 'Accra', 'Taipei', 'Lyon']
  const contactRows = Array.from({ length: 1200 }, (_, i) => ({ object: 'table_row', id: id('row'), values: { name: `${people[i % 7]}${i > 6 ? ` ${i}` : ''}`, city: i % 13 ? cities[i % 5] : null, deals: (i * 37) % 91, active: i % 3 !== 0, seen: at(i * 5000), extra: i % 4 ? null : { source: 'fair', tags: ['a', 'b'] } }, created_at: at(i), updated_at: at(i) }))
  return {
    agents: { prefix: 'agt', made: agent('', '', false), faults: agentFaults, rows: [
      agent(agents[1], 'bookkeeper', false, { skill_ids: ['skl_01hzx8skill000000000000001'], environment_id: 'env_01hzx8env00000000000000001', model: { endpoint: 'house-models', name: 'large-1' }, policy: [{ effect: 'allow', host: 'api.crm.example', secrets: ['CRM_API_KEY'] }, { effect: 'ask', command: 'git push *', reason: 'Leaves the house' }, { effect: 'deny', file: '/etc/**' }] }),
      agent(agents[0], 'assistant', true), agent('agt_01hzx8agent0000000000000a3', 'coder', false, { agent_type: 'claude-code', model: { provider: 'anthropic', name: 'claude-sonnet-4-5', base_url: null, key_alias: 'ANTHROPIC_KEY' } })] },
    'model-endpoints': { prefix: 'mep', made: { object: 'model_endpoint', base_url: null, key_alias: null, models: [] }, faults: (body) => (body.base_url && !/^https?:\/\//.test(body.base_url) ? [{ pointer: '/base_url', message: 'must be an http or https URL' }] : []), rows: [
      { object: 'model_endpoint', id: 'mep_01hzx8model00000000000001', name: 'house-models', provider: 'openai-chat', base_url: 'https://models.house.example/v1', key_alias: 'HOUSE_KEY', models: ['large-1', 'small-1'], created_at: at(80000), updated_at: at(8000) }] },
    environments: { prefix: 'env', made: { object: 'environment', variables: {}, script: null }, faults: (body) => Object.keys(body.variables ?? {}).filter((name) => !/^(?!LD_|SLUICE_)[A-Za-z_]\w*$/.test(name)).map((name) => ({ pointer: `/variables/${name}`, message: 'must be a name, and not begin with LD_ or SLUICE_' })), rows: [
      { object: 'environment', id: 'env_01hzx8env00000000000000001', name: 'books', variables: { TZ: 'Europe/Oslo', LEDGER: 'https://ledger.example', LOG_LEVEL: 'info' }, script: 'set -e\npip install --quiet ledger-cli\nledger --version\n', created_at: at(80000), updated_at: at(8000) }] },
    skills: { prefix: 'skl', made: {}, rows: [skill('001', 'reconcile', 'Compares invoices with a CRM and lists what does not match. Use it for month-end books.', 18_400, 6), skill('002', 'house-style', 'How this company writes letters and mails.', 3_100, 1)] },
    tenants: { prefix: 'tnt', made: tenant('', ''), faults: (body) => (body.settings?.weight !== undefined && !(body.settings.weight >= 1 && body.settings.weight <= 1000) ? [{ pointer: '/settings/weight', message: 'must be between 1 and 1000' }] : []), rows: [
      tenant('tnt_01hzx8dem000000000000000a1', 'demo'), tenant('tnt_01hzx8dem000000000000000a2', 'harbour', { settings: { ...settings, max_running: 4, weight: 3 } }), tenant('tnt_01hzx8dem000000000000000a3', 'old-customer', { status: 'suspended' })] },
    tables: { prefix: 'tbl', made: { object: 'table', columns: [], row_count: 0, size_bytes: 0 }, faults: (body) => (body.columns ?? []).flatMap((column, i) => (column.name ? [] : [{ pointer: `/columns/${i}/name`, message: 'must not be empty' }])), rows: [contacts] },
    workflows: { prefix: 'wfl', made: { object: 'workflow', description: '' }, faults: workflowFaults, rows: [{ object: 'workflow', id: 'wfl_01hzx8flow0000000000000001', name: 'month-end', description: 'Compares the invoices of a month and reports.', definition, created_at: at(300000), updated_at: at(9000) }] },
    tableRows: { get: (key) => (key === contacts.id ? contactRows : key ? [] : undefined) },
    secrets: [{ object: 'secret', alias: 'CRM_API_KEY', scope: 'tenant', hosts: ['api.crm.example'], places: ['header'], created_at: at(80000), updated_at: at(3000) }, { object: 'secret', alias: 'HOUSE_KEY', scope: 'tenant', hosts: [], places: [], created_at: at(80000), updated_at: at(80000) }],
    serviceKeys: [{ id: 'key_01hzx8key00000000000000001', name: 'back office', hint: '9f2Q', created_at: at(700000), revoked_at: null }, { id: 'key_01hzx8key00000000000000002', name: 'old laptop', hint: 'kk01', created_at: at(900000), revoked_at: at(100000) }],
    egress: [{ object: 'egress_entry', position: 3, host: 'api.crm.example', port: 443, method: 'GET', status: 200, sent_bytes: 412, received_bytes: 18_220, aliases: ['CRM_API_KEY'], duration_ms: 231 }, { object: 'egress_entry', position: 5, host: 'tracker.example', port: 443, method: 'POST', refused: 'No rule of the policy allows the host.', duration_ms: 1 }, { object: 'egress_entry', position: 9, host: 'pypi.org', port: 443, method: 'GET', status: 404, sent_bytes: 180, received_bytes: 900, duration_ms: 88 }],
    files: [{ object: 'file', id: 'fil_01hzx8file0000000000000001', run_id: null, name: 'differences.csv', size: 1840, sha256: hex(3), created_at: at(300) }, { object: 'file', id: 'fil_01hzx8file0000000000000002', run_id: null, name: 'report.md', size: 6120, sha256: hex(5), created_at: at(290) }],
  }
}

function agentFaults(body) {
  const errors = (body.policy ?? []).flatMap((rule, i) => (Object.entries(rule).some(([key, value]) => ['tool', 'command', 'file', 'host'].includes(key) && value) ? [] : [{ pointer: `/policy/${i}/host`, message: 'must not be empty' }]))
  if (body.limits?.max_output_tokens > 1_000_000) errors.push({ pointer: '/limits/max_output_tokens', message: 'must be at most 1000000' })
  return errors
}
