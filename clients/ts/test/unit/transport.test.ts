// Requests with one answer: what is asked for, what is asked again, what is thrown.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConnectionLostError, ProblemError, UnexpectedAnswerError } from '@sluice/client'
import { FakeFetch, body, clientOf, collect, json, ndjson, noAnswer, page, problem } from './fake_fetch.js'
import { message, whole } from './wire.js'

const full = (seconds: string) => problem(429, 'capacity-exhausted', { 'retry-after': seconds })
const listOf = (data: unknown[], next: string | null) => json({ object: 'list', data, has_more: next !== null, next_cursor: next })

test('a full server is waited for as long as it says, where that is asked for', async () => {
  const server = new FakeFetch().then(full('7'), problem(503, 'unavailable', { 'retry-after': '2' }), ndjson(whole))
  const { client, clock } = clientOf(server)
  const stream = await client.messages.send('con_1', { content: 'x' }, { retryAtCapacity: true })
  assert.deepEqual(await stream.message(), message)
  assert.deepEqual(clock.slept, [7000, 2000])
  assert.equal(new Set(server.requests.map(({ headers }) => headers['idempotency-key'])).size, 1)
})

test('a full server is not waited for otherwise, nor for longer than patience has it', async () => {
  const { client } = clientOf(new FakeFetch().then(full('7'), full('121')))
  await assert.rejects(client.messages.send('con_1', { content: 'x' }), { slug: 'capacity-exhausted', retryAfterSeconds: 7 })
  await assert.rejects(client.messages.send('con_1', { content: 'x' }, { retryAtCapacity: true }), { retryAfterSeconds: 121 })
  const always = clientOf(new FakeFetch().then(full('1'), json({ object: 'capacity' })), { retryAtCapacity: true })
  await always.client.capacity()
})

test('Retry-After may be a date', async () => {
  const { client } = clientOf(new FakeFetch().then(full(new Date(Date.now() + 30_000).toUTCString())))
  await assert.rejects(client.capacity(), (error) => error instanceof ProblemError && error.retryAfterSeconds! > 25 && error.retryAfterSeconds! <= 30)
})

test('creating is asked again under its key when the answer is lost, also half way', async () => {
  const server = new FakeFetch().then(noAnswer(), page(502), body('{"id":', { cutAt: 6 }), json({ id: 'con_1' }, 201))
  const { client } = clientOf(server)
  assert.equal((await client.conversations.create({ user_id: 'ana' })).id, 'con_1')
  assert.equal(new Set(server.requests.map(({ headers, body: sent }) => `${headers['idempotency-key']} ${sent as string}`)).size, 1)
})

test('what has no key is asked once', async () => {
  const { client } = clientOf(new FakeFetch().then(noAnswer(), page(502), noAnswer()))
  await assert.rejects(client.runs.cancel('run_1'), ConnectionLostError)
  await assert.rejects(client.runs.cancel('run_1'), (error) => error instanceof ProblemError && error.slug === undefined && error.status === 502)
  await assert.rejects(client.conversations.create({}, { idempotencyKey: null }), ConnectionLostError)
})

test('a key of the caller is used as it is', async () => {
  const server = new FakeFetch().then(json(message, 201))
  await clientOf(server).client.messages.complete('con_1', { content: 'x' }, { idempotencyKey: 'mine' })
  assert.equal(server.requests[0]!.headers['idempotency-key'], 'mine')
  assert.equal(server.asked[0], 'POST /v1/conversations/con_1/messages?stream=false')
})

test('an answer that is not JSON is said to be that', async () => {
  const { client } = clientOf(new FakeFetch().then(body('<html>')))
  await assert.rejects(client.capacity(), UnexpectedAnswerError)
})

test('lists are read through', async () => {
  const server = new FakeFetch().then(listOf([{ id: 'run_1' }, { id: 'run_2' }], 'run_2'), listOf([{ id: 'run_3' }], null))
  const runs = await collect(clientOf(server).client.runs.all({ conversation_id: 'con_1', limit: 2 }))
  assert.deepEqual(runs.map(({ id }) => id), ['run_1', 'run_2', 'run_3'])
  assert.equal(server.asked[1], 'GET /v1/runs?conversation_id=con_1&limit=2&starting_after=run_2')
})

test('a path is asked for as it is: nothing that a caller names leaves its place', async () => {
  const server = new FakeFetch().then(json({}), json({}))
  const { client } = clientOf(server, { baseUrl: 'http://sluice.test/under/' })
  await client.runs.get('../../v1/secrets?x')
  await client.secrets.conversation('con_1').put({ CRM_API_KEY: { value: 'hush', hosts: ['crm.example'] } })
  assert.deepEqual(server.asked, ['GET /under/v1/runs/..%2F..%2Fv1%2Fsecrets%3Fx', 'PUT /under/v1/conversations/con_1/secrets'])
  assert.equal(server.requests[1]!.body, '{"secrets":{"CRM_API_KEY":{"value":"hush","hosts":["crm.example"]}}}')
})

test('the key may be found anew for each request, and other headers go along', async () => {
  let keys = 0
  const server = new FakeFetch().then(json({}), json({}))
  const { client } = clientOf(server, { key: async () => `key_${(keys += 1)}`, headers: { 'X-CSRF-Token': 't' } })
  await client.self()
  await client.capacity()
  assert.deepEqual(server.requests.map(({ headers }) => headers['authorization']), ['Bearer key_1', 'Bearer key_2'])
  assert.equal(server.requests[0]!.headers['x-csrf-token'], 't')
})

test('an answer without a body is enough for what has none', async () => {
  const { client } = clientOf(new FakeFetch().then(() => new Response(null, { status: 204 })))
  await client.conversations.archive('con_1')
})
