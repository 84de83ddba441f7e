// I-24: one message, whatever happens to its connections. It is sent once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OutcomeUnknownError, ProblemError, RunFailedError, UnexpectedAnswerError } from '@sluice/client'
import type { ClientOptions, ConversationEvent, SendOptions } from '@sluice/client'
import { FakeFetch, clientOf, collect, json, ndjson, noAnswer, page, problem } from './fake_fetch.js'
import { delta, end, failure, line, message, start, text, whole } from './wire.js'

const sent = 'POST /v1/conversations/con_1/messages'
const bytesIn = (words: string) => new TextEncoder().encode(words).length

function textOf(events: ConversationEvent[]): string {
  return events.map((event) => (event.type === 'content_delta' ? event.data.text : '')).join('')
}

async function follow(server: FakeFetch, options: SendOptions = {}, clientOptions: Partial<ClientOptions> = {}) {
  const { client, clock } = clientOf(server, clientOptions)
  const stream = await client.messages.send('con_1', { content: 'Hello' }, options)
  const events = await collect(stream)
  server.assertDone()
  return { stream, events, clock }
}

async function assertWhole(server: FakeFetch, options: SendOptions = {}): Promise<void> {
  const { stream, events } = await follow(server, options)
  assert.deepEqual(events.map(({ seq }) => seq), [0, 1, 2, 3, 4], 'each event once, in order')
  assert.equal(textOf(events), text)
  assert.deepEqual(await stream.message(), message)
}

test('I-24 an undisturbed stream is one request', async () => {
  const server = new FakeFetch().then(ndjson(whole))
  await assertWhole(server)
  const [request] = server.requests
  assert.equal(request!.headers['authorization'], 'Bearer sk_int_test')
  assert.match(request!.headers['idempotency-key']!, /^[0-9a-f]{32}$/)
  assert.equal(request!.body, '{"content":"Hello"}')
})

test('I-24 a cut at every byte is healed by reading on, and nothing is sent twice', async () => {
  const lines = whole.split('\n').slice(0, -1)
  const ends = lines.map((_, index) => bytesIn(lines.slice(0, index + 1).join('\n')) + 1)
  for (const fault of ['cutAt', 'endAt'] as const) {
    for (let at = 0; at < ends.at(-1)!; at += 1) {
      const heard = ends.filter((end) => end <= at).length
      const rest = lines.slice(heard).map((one) => `${one}\n`).join('')
      const server = new FakeFetch().then(ndjson(whole, { [fault]: at }), ndjson(rest))
      await assertWhole(server)
      const after = heard > 0 ? `?after=${heard - 1}` : ''
      assert.deepEqual(server.asked, [sent, `GET /v1/messages/msg_1/events${after}`])
    }
  }
})

test('I-24 a gap and a repeated seq are a cut', async () => {
  for (const bad of [start() + delta(2, 'x'), start() + start()]) {
    const server = new FakeFetch().then(ndjson(bad), ndjson(whole.split('\n').slice(1).join('\n')))
    await assertWhole(server)
    assert.equal(server.asked[1], 'GET /v1/messages/msg_1/events?after=0')
  }
})

test('I-24 blank lines and unknown types are skipped, one byte at a time', async () => {
  const strange = '\n' + start() + '\n\n' + line(1, 'from_the_future', {}) + delta(2, text) + line(3, 'x', {}) + end(4)
  const { events } = await follow(new FakeFetch().then(ndjson(strange, { piece: 1 })))
  assert.deepEqual(events.map(({ type }) => type), ['message_start', 'content_delta', 'message_end'])
})

test('details come in their place, and reading on asks for them too', async () => {
  const first = start() + line(1, 'step', { id: 's' })
  const server = new FakeFetch().then(ndjson(first), ndjson(delta(2, 'x') + end(3)))
  const order: string[] = []
  const { client } = clientOf(server)
  const stream = await client.messages.send('con_1', { content: 'Hello' }, { onDetail: ({ type }) => order.push(type) })
  for await (const { type } of stream) order.push(type)
  assert.deepEqual(order, ['message_start', 'step', 'content_delta', 'message_end'])
  assert.deepEqual(server.asked, [`${sent}?detail=full`, 'GET /v1/messages/msg_1/events?detail=full&after=1'])
})

test('I-24 without re-attach the message is asked for until it is over, ever more slowly', async () => {
  const running = json({ ...message, status: 'in_progress' })
  const server = new FakeFetch().then(ndjson(start(), { cutAt: 1000 }), running, running, running, json(message))
  const { stream, events, clock } = await follow(server, { reattach: false })
  assert.equal(events.length, 1)
  assert.deepEqual(await stream.message(), message)
  assert.deepEqual(server.asked.slice(1), Array(4).fill('GET /v1/messages/msg_1'))
  for (const [index, ms] of clock.slept.entries()) {
    assert.ok(ms >= 125 * 2 ** index && ms <= 250 * 2 ** index, `wait ${index}: ${ms}`)
  }
})

test('I-24 a server that cannot read on is asked for the message instead', async () => {
  for (const refusal of [problem(404, 'not-found'), problem(422, 'validation-error'), json({}), ndjson('{"corrupt"\n')]) {
    const server = new FakeFetch().then(ndjson(start()), refusal, json(message))
    const { stream } = await follow(server)
    assert.deepEqual(await stream.message(), message)
  }
})

test('I-24 a gate that is found while asking is told once', async () => {
  const approval = { object: 'approval', id: 'apr_1', message_id: 'msg_1', status: 'pending' }
  const parked = json({ ...message, status: 'awaiting_approval' })
  const gates = json({ object: 'list', data: [approval, { ...approval, id: 'apr_2', message_id: 'msg_9' }], has_more: false, next_cursor: null })
  const server = new FakeFetch().then(ndjson(start()), parked, gates, parked, gates, json(message))
  const told: string[] = []
  await follow(server, { reattach: false, onApproval: ({ id }) => told.push(id) })
  assert.deepEqual(told, ['apr_1'])
  assert.equal(server.asked[2], 'GET /v1/approvals?conversation_id=con_1&status=pending')
})

test('I-24 a run that failed is told as event, and thrown at the end', async () => {
  const { stream, events } = await follow(new FakeFetch().then(ndjson(start() + failure(1))))
  assert.equal(events.at(-1)!.type, 'error')
  await assert.rejects(stream.message(), (error) => error instanceof RunFailedError && error.slug === 'model-error')
  const polled = await follow(new FakeFetch().then(ndjson(start()), json({ ...message, status: 'failed' })), { reattach: false })
  await assert.rejects(polled.stream.message(), (error) => error instanceof RunFailedError && error.problem === null)
})

test('I-24 an answer that was lost before its head is asked for again under the same key, byte for byte', async () => {
  for (const lost of [noAnswer(), page(502), page(504), page(524)]) {
    const server = new FakeFetch().then(lost, ndjson(whole, {}, { 'idempotency-replayed': 'true' }))
    const { stream } = await follow(server)
    assert.ok(stream.replayed)
    const [first, second] = server.requests
    assert.equal(first!.headers['idempotency-key'], second!.headers['idempotency-key'])
    assert.equal(first!.body, second!.body)
  }
})

test('I-24 a replay of a message without a name tells only what was not told', async () => {
  const held = line(0, 'queued', { position: 1 }, null)
  const rest = start(1) + delta(2, text) + end(3)
  const hidden = { 'x-message-id': '' }
  const server = new FakeFetch().then(ndjson(held, {}, hidden), ndjson(held + rest, {}, hidden))
  const { events } = await follow(server)
  assert.deepEqual(events.map(({ type }) => type), ['queued', 'message_start', 'content_delta', 'message_end'])
  assert.deepEqual(server.asked, [sent, sent])
})

test('I-24 without a key nothing is ever sent again', async () => {
  const { client } = clientOf(new FakeFetch().then(noAnswer()))
  await assert.rejects(client.messages.send('con_1', { content: 'x' }, { idempotencyKey: null }), OutcomeUnknownError)

  const hidden = new FakeFetch().then(ndjson(line(0, 'queued', { position: 1 }, null), {}, { 'x-message-id': '' }))
  const stream = await clientOf(hidden).client.messages.send('con_1', { content: 'x' }, { idempotencyKey: null })
  for await (const _ of stream) break
  await assert.rejects(stream.message(), OutcomeUnknownError)
  assert.deepEqual(hidden.asked, [sent])
})

test('what the server refuses is thrown at once, with everything it said', async () => {
  const busy = problem(409, 'conversation-busy', {}, { conflicting_resource_id: 'run_7', detail: 'Wait.' })
  const { client } = clientOf(new FakeFetch().then(busy, problem(500, 'internal'), problem(503, 'unavailable', { 'retry-after': '3' })))
  await assert.rejects(client.messages.send('con_1', { content: 'x' }), (error) => {
    assert.ok(error instanceof ProblemError)
    assert.deepEqual([error.status, error.slug, error.requestId], [409, 'conversation-busy', 'req_1'])
    assert.equal(error.problem.conflicting_resource_id, 'run_7')
    assert.equal(error.message, '409 conversation-busy: Wait.')
    return true
  })
  await assert.rejects(client.messages.send('con_1', { content: 'x' }), { slug: 'internal' })
  await assert.rejects(client.messages.send('con_1', { content: 'x' }), { slug: 'unavailable', retryAfterSeconds: 3 })
})

test('a server that is getting up is waited for, once the message may be there', async () => {
  const server = new FakeFetch().then(noAnswer(), problem(503, 'unavailable'), ndjson(start()), noAnswer(), problem(503, 'unavailable'), page(502), ndjson(delta(1, text) + end(2)))
  const { stream } = await follow(server)
  assert.deepEqual(await stream.message(), message)
})

test('an answer that is no stream is said to be that', async () => {
  const { client } = clientOf(new FakeFetch().then(json({ hello: 1 })))
  await assert.rejects(client.messages.send('con_1', { content: 'x' }), UnexpectedAnswerError)
})

test('a server that is not there is given up on; one that went away, later', async () => {
  const nobody = new FakeFetch().then(...Array<ReturnType<typeof noAnswer>>(100).fill(noAnswer()))
  const first = clientOf(nobody)
  await assert.rejects(first.client.messages.send('con_1', { content: 'x' }), OutcomeUnknownError)
  assert.ok(first.clock.now() >= 15_000 && first.clock.now() < 25_000, `${first.clock.now()}`)

  const gone = new FakeFetch().then(ndjson(start()), ...Array<ReturnType<typeof noAnswer>>(1000).fill(noAnswer()))
  const second = clientOf(gone)
  const stream = await second.client.messages.send('con_1', { content: 'x' })
  await assert.rejects(stream.message(), (error) => error instanceof OutcomeUnknownError && error.messageId === 'msg_1')
  assert.ok(second.clock.now() >= 600_000)
})

test('a stream that is silent for too long counts as cut', async () => {
  const server = new FakeFetch().then(ndjson(start(), { hang: true }), ndjson(delta(1, text) + end(2)))
  const { client, clock } = clientOf(server)
  const stream = await client.messages.send('con_1', { content: 'x' })
  const types: string[] = []
  for await (const { type } of stream) {
    types.push(type)
    if (type === 'message_start') setImmediate(() => clock.ring())
  }
  assert.deepEqual(types, ['message_start', 'content_delta', 'message_end'])
})

test('an abort ends everything with its own reason: before, while sending, while reading, while waiting', async () => {
  const reason = new Error('enough')
  const { client } = clientOf(new FakeFetch())
  await assert.rejects(client.messages.send('con_1', { content: 'x' }, { signal: AbortSignal.abort(reason) }), reason)

  const reading = new AbortController()
  const stream = await clientOf(new FakeFetch().then(ndjson(start(), { hang: true }))).client.messages.send('con_1', { content: 'x' }, { signal: reading.signal })
  await assert.rejects(async () => {
    for await (const _ of stream) setImmediate(() => reading.abort(reason))
  }, reason)
  await assert.rejects(stream.message(), reason)

  const waiting = new AbortController()
  const lost = new FakeFetch().then(() => {
    waiting.abort(reason)
    throw new TypeError('fetch failed')
  })
  await assert.rejects(clientOf(lost).client.messages.send('con_1', { content: 'x' }, { signal: waiting.signal }), reason)
})

test('whoever leaves the loop can come back to it, or wait for the end', async () => {
  const server = new FakeFetch().then(ndjson(whole), ndjson(whole.split('\n').slice(2).join('\n')))
  const stream = await clientOf(server).client.messages.send('con_1', { content: 'x' })
  for await (const { seq } of stream) if (seq === 1) break
  assert.deepEqual((await collect(stream)).map(({ seq }) => seq), [2, 3, 4])
  assert.equal(server.asked[1], 'GET /v1/messages/msg_1/events?after=1')
  assert.deepEqual(await collect(stream), [], 'there is nothing after the end')
})

test('message() waits for a loop that is under way, and goes on where it was left', async () => {
  const server = new FakeFetch().then(ndjson(whole), ndjson(whole.split('\n').slice(1).join('\n')))
  const stream = await clientOf(server).client.messages.send('con_1', { content: 'x' })
  let final: Promise<unknown> | undefined
  for await (const _ of stream) {
    final = stream.message()
    break
  }
  assert.deepEqual(await final, message)
})

test('following a message begins where it is told to', async () => {
  const server = new FakeFetch().then(ndjson(delta(3, '!') + end(4)), ndjson(whole))
  const { client } = clientOf(server)
  assert.equal((await collect(await client.messages.follow('msg_1', { after: 2 }))).length, 2)
  assert.equal((await collect(await client.messages.follow('msg_1'))).length, 5)
  assert.deepEqual(server.asked, ['GET /v1/messages/msg_1/events?after=2', 'GET /v1/messages/msg_1/events'])
})

test('a conversation that begins with a message is followed the same way', async () => {
  const conversation = { object: 'conversation', id: 'con_1' }
  const first = line(0, 'message_start', { role: 'assistant', conversation })
  const server = new FakeFetch().then(noAnswer(), ndjson(first), ndjson(delta(1, text) + end(2)))
  const stream = await clientOf(server).client.conversations.start({ user_id: 'ana', initial_message: { content: 'x' } })
  const [event] = await collect(stream)
  assert.ok(event?.type === 'message_start' && event.data.conversation?.id === 'con_1')
  assert.deepEqual(server.asked, ['POST /v1/conversations', 'POST /v1/conversations', 'GET /v1/messages/msg_1/events?after=0'])
})
