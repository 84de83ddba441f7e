// The workflow runs of the fake: each block takes a moment and says a few lines.
import { setTimeout as wait } from 'node:timers/promises'
import { id, json, jsonOf, problem } from './problem.mjs'

export class WorkflowRuns {
  runs = new Map()

  constructor(data) {
    this.data = data
    const workflow = data.workflows.rows[0]
    for (let i = 0; i < 3; i++) this.start(workflow, { month: `2026-0${i + 1}` }, 0)
  }

  async answer(request, response, rest, query) {
    if (rest[0] === 'workflows') {
      const workflow = this.data.workflows.rows.find((row) => row.id === rest[1])
      if (request.method === 'GET') return json(response, 200, { object: 'list', data: [...this.runs.values()].map(({ run }) => run).filter((run) => run.workflow_id === rest[1]).reverse(), has_more: false }) ?? true
      const { inputs = {} } = await jsonOf(request)
      const errors = (workflow.definition.inputs ?? []).filter((input) => input.required && (inputs[input.name] ?? '') === '').map((input) => ({ pointer: `/inputs/${input.name}`, message: 'is required' }))
      if (errors.length) return problem(response, 422, 'validation-error', 'One field is not valid.', { errors }) ?? true
      return json(response, 202, this.start(workflow, inputs, 500).run) ?? true
    }
    const held = this.runs.get(rest[1])
    if (!held) return problem(response, 404, 'not-found', 'There is no such run.') ?? true
    if (rest[2] === 'events') return this.stream(response, held, Number(query.get('after') ?? -1))
    if (rest[2] === 'cancel') held.stop()
    json(response, 200, held.run)
    return true
  }

  stream(response, held, after) {
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    for (const line of held.lines.slice(after + 1)) response.write(`${JSON.stringify(line)}\n`)
    if (held.run.ended_at) response.end()
    else held.readers.add(response)
    response.on('close', () => held.readers.delete(response))
    return true
  }

  start(workflow, inputs, paceMs) {
    const run = { object: 'workflow_run', id: id('wfr'), workflow_id: workflow.id, status: 'running', inputs, outputs: {}, error: null, blocks: workflow.definition.blocks.map((block) => ({ id: block.id, status: 'pending' })), created_at: new Date().toISOString(), ended_at: null }
    const held = { run, lines: [], readers: new Set(), over: false, stop: () => this.end(held, 'cancelled', { error: { code: 'run-cancelled', message: 'It was cancelled.' } }) }
    this.runs.set(run.id, held)
    this.tell(held, { type: 'run.started', run: structuredClone(run) })
    void this.play(held, workflow.definition, paceMs)
    return held
  }

  tell(held, line) {
    const whole = { seq: held.lines.length, ...line, ts: new Date().toISOString() }
    held.lines.push(whole)
    for (const reader of held.readers) reader.write(`${JSON.stringify(whole)}\n`)
  }

  end(held, status, more) {
    if (held.over) return
    held.over = true
    Object.assign(held.run, { status, ended_at: new Date().toISOString(), ...more })
    this.tell(held, { type: 'run.finished', status, ...more })
    for (const reader of held.readers) reader.end()
  }

  async play(held, definition, paceMs) {
    for (const block of definition.blocks) {
      if (paceMs) await wait(paceMs)
      if (held.over) return
      const skipped = block.id === 'note'
      if (!skipped) {
        this.tell(held, { type: 'block.started', block: block.id, kind: block.type, ...(block.type === 'agents' ? { run_id: 'run_01kfz8m4qq0000000t00099990' } : {}) })
        for (let i = 0; i < (block.type === 'agents' ? 8 : 0) && !held.over; i++) {
          this.tell(held, { type: 'block.line', block: block.id, line: i % 3 === 1 ? { type: 'step', id: `s${i}`, name: 'bash', status: 'running', args: { command: 'python3 reconcile.py' } } : { type: 'log', level: 'info', message: `Looking at invoice ${i}` } })
          if (paceMs) await wait(paceMs / 3)
        }
      }
      if (held.over) return
      held.run.blocks.find((one) => one.id === block.id).status = skipped ? 'skipped' : 'succeeded'
      this.tell(held, { type: 'block.finished', block: block.id, ...(skipped ? { kind: block.type } : {}), status: skipped ? 'skipped' : 'succeeded', outputs: skipped ? {} : block.type === 'http' ? { response: '{"count":16}', json: { count: 16 }, status: '200' } : { response: block.type === 'condition' ? 'true' : `What ${block.id} found: 14 match, 2 differ.`, files: [] } })
    }
    this.end(held, 'succeeded', { outputs: { report: '14 invoices match. Two differ: 2026-0213 and 2026-0220.' } })
  }
}
