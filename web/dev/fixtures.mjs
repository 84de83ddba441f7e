// What does not change while one works on the console: agents, tenants and the like, as the server would list them.
const at = '2026-03-01T09:00:00.000Z'
const list = (data) => ({ object: 'list', data, has_more: false })

const agent = (number, name, is_default) => ({
  object: 'agent', id: `agt_01hzx8agent0000000000000${number}`, tenant_id: 'tnt_01hzx8dem000000000000000a1', name, system_prompt: '', model: { provider: 'offline', name: 'offline', base_url: null, key_alias: null }, is_default, created_at: at, updated_at: at,
})

const fixed = {
  '/v1/agents': list([agent('a2', 'bookkeeper', false), agent('a1', 'assistant', true)]),
  '/v1/tenants': list([
    { object: 'tenant', id: 'tnt_01hzx8dem000000000000000a1', name: 'demo', created_at: at },
    { object: 'tenant', id: 'tnt_01hzx8dem000000000000000a2', name: 'harbour', created_at: at },
  ]),
}

export function fixtures(method, path) {
  return method === 'GET' ? fixed[path] : undefined
}
