// What does not change while one works on the console: agents, tenants and the like, as the server would list them.
const at = '2026-03-01T09:00:00.000Z'
const list = (data) => ({ object: 'list', data, has_more: false })

const agent = (number, name, model) => ({
  object: 'agent', id: `agt_01hzx8agent0000000000000${number}`, name, description: null, model, created_at: at, updated_at: at,
})

const fixed = {
  '/v1/agents': list([agent('a1', 'assistant', { provider: 'offline', name: 'offline' }), agent('a2', 'bookkeeper', { provider: 'offline', name: 'offline' })]),
  '/v1/tenants': list([
    { object: 'tenant', id: 'tnt_01hzx8dem000000000000000a1', name: 'demo', created_at: at },
    { object: 'tenant', id: 'tnt_01hzx8dem000000000000000a2', name: 'harbour', created_at: at },
  ]),
}

export function fixtures(method, path) {
  return method === 'GET' ? fixed[path] : undefined
}
