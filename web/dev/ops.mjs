// What the operations pages need of the fake: a hundred thousand runs, and everything that is kept in a workspace.
import { setTimeout as wait } from 'node:timers/promises'
import { opsData, opsTimeline, runAt, runCount, stepsOf } from './ops-data.mjs'
import { bytesOf, id, json, jsonOf, problem } from './problem.mjs'
import { WorkflowRuns } from './ops-workflows.mjs'

const now = () => new Date().toISOString()
const missing = (response) => problem(response, 404, 'not-found', 'There is no such thing in this tenant.')
const invalid = (response, errors) => problem(response, 422, 'validation-error', `${errors.length === 1 ? 'One field is' : `${errors.length} fields are`} not valid.`, { errors })

export class Ops {
  data = opsData()
  cancelled = new Map()
  workflows = new WorkflowRuns(this.data)

  constructor(gates) {
    this.gates = gates
  }

  tenant(tenantId) {
    const found = this.data.tenants.rows.find((row) => row.id === tenantId)
    return found && { id: found.id, name: found.name }
  }

  // Answers what is this room's business; false if it is not.
  async answer(request, response, path, query) {
    const method = request.method
    const rest = path.replace(/^\/api\/workspaces\/[^/]+\//, '/v1/').split('/').slice(2)
    if (rest[0] === 'runs') return this.runs(request, response, rest, query)
    if (path === '/v1/capacity') return told(json(response, 200, this.capacity()))
    if (path === '/v1/capacity/history') return told(json(response, 200, this.history()))
    if (rest[0] === 'messages') return told(json(response, 200, this.message(rest[1])))
    if (rest[0] === 'secrets') return this.secrets(request, response, rest)
    if (rest[0] === 'skills' && method !== 'GET' && method !== 'DELETE') return this.skill(request, response, rest)
    if (rest[0] === 'tables' && rest.length > 2) return this.rows(request, response, rest)
    if (rest[0] === 'tenants' && rest.length > 2) return this.keys(request, response, rest)
    if (rest[0] === 'workflow-runs' || (rest[0] === 'workflows' && rest[2] === 'runs')) return this.workflows.answer(request, response, rest, query)
    if (this.data[rest[0]]) return this.kept(request, response, rest, query)
    return false
  }

  // Lists and single things with a name: agents, environments, skills, endpoints, tenants, tables, workflows.
  async kept(request, response, rest, query) {
    const { rows, prefix, made, faults } = this.data[rest[0]]
    const found = rest[1] && rows.find((row) => row.id === rest[1] || row.name === rest[1])
    if (rest[1] && !found) return told(missing(response))
    if (request.method === 'GET') return told(json(response, 200, found || page(rows, query)))
    if (request.method === 'DELETE') {
      rows.splice(rows.indexOf(found), 1)
      return told(response.writeHead(204).end())
    }
    const body = await jsonOf(request)
    const errors = [...(!found && !body.name?.trim() ? [{ pointer: '/name', message: 'must not be empty' }] : []), ...(faults?.(body, this.data) ?? [])]
    if (errors.length) return told(invalid(response, errors))
    if (rows.some((row) => row !== found && row.name === body.name)) return told(problem(response, 409, 'name-conflict', `Another one has the name ${body.name}.`))
    if (body.add_columns) body.columns = [...found.columns, ...body.add_columns]
    const settings = found?.settings && body.settings ? { settings: { ...found.settings, ...body.settings } } : {}
    if (found) return told(json(response, 200, Object.assign(found, body, settings, { updated_at: now() })))
    const row = { ...made, ...body, id: id(prefix), created_at: now(), updated_at: now() }
    rows.push(row)
    return told(json(response, 201, row))
  }

  runOf(runId) {
    const run = runAt(runId)
    return run && { ...run, ...this.cancelled.get(runId) }
  }

  async runs(request, response, rest, query) {
    if (!rest[1]) return told(json(response, 200, this.list(query)))
    const run = this.runOf(rest[1])
    if (!run) return told(missing(response))
    if (!rest[2]) return told(json(response, 200, run))
    if (rest[2] === 'cancel') {
      if (run.ended_at) return told(problem(response, 409, 'run-finished', 'It completed or failed before.'))
      await wait(300)
      this.cancelled.set(run.id, { state: 'cancelled', ended_at: now() })
      return told(json(response, 200, this.runOf(run.id)))
    }
    if (rest[2] === 'timeline') return told(json(response, 200, opsTimeline(run)))
    if (rest[2] === 'steps.json') return told(json(response, 200, stepsOf(run)))
    if (rest[2] === 'egress') return told(json(response, 200, page(this.data.egress.map((entry) => ({ ...entry, at: run.created_at })), query, 'position')))
    if (rest[2] === 'files') return told(json(response, 200, page(run.state === 'completed' ? this.data.files : [], query)))
    if (rest[2] === 'stream.jsonl') return this.trace(response, run, Number(query.get('after') ?? -1))
    return false
  }

  list(query) {
    const limit = Number(query.get('limit') ?? 20)
    const states = query.get('state')?.split(',')
    const after = query.get('starting_after')
    const data = []
    let i = after ? runAt(after).index + 1 : 0
    for (; i < runCount && data.length <= limit; i++) {
      const run = this.runOf(runAt(i).id)
      const fits = (!states || states.includes(run.state)) && (!query.get('agent_id') || query.get('agent_id') === run.agent_id) && (!query.get('conversation_id') || query.get('conversation_id') === run.conversation_id)
        && (!query.get('created_after') || run.created_at >= query.get('created_after')) && (!query.get('created_before') || run.created_at < query.get('created_before'))
      if (fits) data.push(run)
    }
    return { object: 'list', data: data.slice(0, limit), has_more: data.length > limit, next_cursor: null }
  }

  async trace(response, run, after) {
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    const begun = Date.parse(run.created_at)
    const count = run.ended_at ? 10_000 : 40
    const kinds = [(i) => ({ type: 'delta', text: `word ${i} of the answer ` }), (i) => ({ type: 'output', id: 's1', stream: 'stdout', text: `line ${i} of <b>output</b>\n` }), (i) => ({ type: 'log', level: 'info', message: `Something is worth a note (${i})` }),
      (i) => ({ type: 'step', id: `s${i}`, name: 'bash', status: 'running', args: { command: `python3 part_${i}.py --all` } }), (i) => ({ type: 'egress', host: 'api.crm.example', method: 'GET', status: 200, ts: i })]
    const line = (i) => `${JSON.stringify({ ...kinds[i % 5](i), ts: begun + i * 7 })}\n`
    for (let i = after + 1; i < count; i++) response.write(line(i))
    for (let i = count; !run.ended_at && i < count + 400 && !response.destroyed; i++) {
      response.write(line(i))
      await wait(60)
    }
    response.end(after < count ? `${JSON.stringify({ type: run.state === 'failed' ? 'error' : 'result', code: 'model_timeout', message: 'Done: 14 invoices match, two do not.', ts: begun + count * 7 })}\n` : '')
    return true
  }

  message(messageId) {
    const asked = messageId.startsWith('msg_u')
    return {
      object: 'message', id: messageId, role: asked ? 'user' : 'assistant', status: 'completed', created_at: now(), usage: asked ? null : { input_tokens: 18_240, output_tokens: 1_312 },
      content: asked ? 'Compare the invoices of February with what the CRM says, and list what does not match.' : 'I compared 16 invoices. 14 match. Two do not:\n\n- 2026-0213 is 40.00 higher in the CRM\n- 2026-0220 is missing there\n\nThe list is attached.',
    }
  }

  sample(at) {
    const t = at / 60_000
    const running = Math.max(0, Math.min(8, Math.round(4.5 + 3 * Math.sin(t / 4) + 1.5 * Math.sin(t * 1.7))))
    return { at_ms: at, running, held: running >= 8 ? Math.round(1.5 + 1.5 * Math.sin(t * 3)) : 0, parked: Math.round(1 + Math.sin(t / 6)), sticky: Math.round(2 + Math.sin(t / 9)), warm: Math.max(0, 4 - (running >> 1)), pool_size: 8 }
  }

  history() {
    const end = Date.now()
    return { interval_seconds: 5, samples: Array.from({ length: 720 }, (_, i) => this.sample(end - (720 - i) * 5000)).filter((_, i) => i < 200 || i > 230) }
  }

  capacity() {
    const { running, held, parked, sticky, warm } = this.sample(Date.now())
    return { object: 'capacity', pool_size: 8, warm_available: warm, sticky_active: sticky, max_sticky: 4, at_capacity: running >= 8, running, held, parked, max_hold_seconds: 300, retry_hint_seconds: 5, checked_at: now() }
  }

  async secrets(request, response, rest) {
    const { secrets } = this.data
    if (request.method === 'DELETE') secrets.splice(secrets.findIndex((secret) => secret.alias === rest[1]), 1)
    if (request.method === 'DELETE') return told(response.writeHead(204).end())
    if (request.method === 'PUT') {
      const body = await jsonOf(request)
      for (const [alias, { value, hosts = [], places = [] }] of Object.entries(body.secrets)) {
        if (value.length < 4) return told(invalid(response, [{ pointer: `/secrets/${alias}/value`, message: 'must be at least 4 bytes' }]))
        if (hosts.some((host) => host.includes('/'))) return told(invalid(response, [{ pointer: `/secrets/${alias}/hosts/0`, message: 'must be a host, without a path' }]))
        const known = secrets.find((secret) => secret.alias === alias)
        if (known) Object.assign(known, { hosts, places, updated_at: now() })
        else secrets.push({ object: 'secret', alias, scope: 'tenant', hosts, places, created_at: now(), updated_at: now() })
      }
    }
    return told(json(response, 200, { object: 'list', data: secrets, has_more: false, next_cursor: null }))
  }

  async skill(request, response, rest) {
    const gzip = request.headers['content-type'] === 'application/gzip'
    const bytes = await bytesOf(request)
    const files = gzip ? [] : JSON.parse(bytes).files
    const root = files.find((file) => file.path === 'SKILL.md')
    if (!gzip && !root) return told(invalid(response, [{ pointer: '/files', message: 'there must be a SKILL.md at the root' }]))
    const text = root?.content ?? Buffer.from(root?.content_base64 ?? '', 'base64').toString()
    const { rows } = this.data.skills
    const name = gzip ? 'uploaded' : /^name: *(.+)$/m.exec(text)?.[1] ?? 'unnamed'
    const known = rest[1] ? rows.find((row) => row.id === rest[1]) : rows.find((row) => row.name === name)
    const made = { object: 'skill', name, description: /^description: *(.+)$/m.exec(text)?.[1] ?? 'A bundle', sha256: 'c0ffee'.padEnd(64, '1'), size: bytes.length, file_count: files.length || 3, updated_at: now() }
    if (known) return told(json(response, 200, Object.assign(known, made)))
    rows.push({ ...made, id: id('skl'), created_at: now() })
    return told(json(response, 201, rows.at(-1)))
  }

  async rows(request, response, rest) {
    const table = this.data.tables.rows.find((row) => row.id === rest[1] || row.name === rest[1])
    const rows = this.data.tableRows.get(table?.id)
    if (!rows) return told(missing(response))
    if (request.method === 'DELETE') {
      rows.splice(rows.findIndex((row) => row.id === rest[3]), 1)
      return told(response.writeHead(204).end())
    }
    const body = await jsonOf(request)
    if (rest[2] === 'query') {
      const found = sorted(rows.filter((row) => fits(row, body.filter)), body.order?.[0])
      return told(json(response, 200, { object: 'list', data: found.slice(body.offset ?? 0, (body.offset ?? 0) + (body.limit ?? 100)), total: found.length, has_more: found.length > (body.offset ?? 0) + (body.limit ?? 100) }))
    }
    const values = request.method === 'PATCH' ? body : body.rows[0]
    const at = request.method === 'PATCH' ? '' : '/rows/0'
    const errors = table.columns.filter((column) => column.required && (values[column.name] ?? null) === null).map((column) => ({ pointer: `${at}/${column.name}`, message: 'is required' }))
    if (errors.length) return told(invalid(response, errors))
    const known = rows.find((row) => row.id === rest[3])
    if (known) return told(json(response, 200, Object.assign(known, { values: { ...known.values, ...values }, updated_at: now() })))
    rows.push({ object: 'table_row', id: id('row'), values, created_at: now(), updated_at: now() })
    table.row_count = rows.length
    return told(json(response, 201, { rows: [rows.at(-1)] }))
  }

  async keys(request, response, rest) {
    const service = rest[2] === 'keys'
    const rows = service ? this.data.serviceKeys : [...this.gates.keys.values()].map(({ secret, ...key }) => key)
    const known = service ? rows.find((row) => row.id === rest[3]) : this.gates.keys.get(rest[3])
    if (request.method === 'DELETE' && known) {
      known.revoked_at = now()
      return told(response.writeHead(204).end())
    }
    if (request.method === 'GET') return told(json(response, 200, { object: 'list', data: rows, has_more: false }))
    const body = await jsonOf(request)
    const row = { id: id('key'), name: body.name ?? '', hint: 'xxxx', created_at: now(), revoked_at: null }
    rows.push(row)
    return told(json(response, 201, { ...row, secret: `sk_int_${'Zm9yLXRoZS1mYWtlLW9ubHkt'.padEnd(43, 'x')}` }))
  }
}

const told = () => true

function page(rows, query, key = 'id') {
  const limit = Number(query.get('limit') ?? 20)
  const after = query.get('starting_after')
  const from = after ? rows.findIndex((row) => String(row[key]) === after) + 1 : 0
  return { object: 'list', data: rows.slice(from, from + limit), has_more: rows.length > from + limit, next_cursor: null }
}

function sorted(rows, order) {
  if (!order) return rows
  const sign = order.direction === 'desc' ? -1 : 1
  return [...rows].sort((a, b) => (a.values[order.column] > b.values[order.column] ? sign : -sign))
}

function fits(row, filter) {
  if (!filter) return true
  if (filter.and) return filter.and.every((one) => fits(row, one))
  if (filter.or) return filter.or.some((one) => fits(row, one))
  const value = row.values[filter.column]
  const ops = { eq: () => value === filter.value, ne: () => value !== filter.value, lt: () => value < filter.value, lte: () => value <= filter.value, gt: () => value > filter.value, gte: () => value >= filter.value, contains: () => String(value ?? '').includes(filter.value), starts_with: () => String(value ?? '').startsWith(filter.value), in: () => filter.value.includes(value), is_null: () => (value ?? null) === null }
  return ops[filter.op]()
}
