// I-24 where things go wrong: connections that break at any byte, proxies that cut or hold back, a server that is
// killed, a server that is full.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SluiceClient, signDecision } from '@sluice/client'
import type { ConversationEvent, DetailEvent, MessageStream, Signer } from '@sluice/client'
import { CuttingProxy } from './cutting_proxy.js'
import { SluiceServer, patienceMs, quietMs, within } from './processes.js'
import { plainNginx } from './roads.js'
import { worldOf } from './worlds.js'

const patience = { timeout: 4 * patienceMs }
let server: SluiceServer
let direct: SluiceClient
let signer: Signer

before(async () => {
  server = await SluiceServer.start('--capacity.max_running', '2')
  const { key, signers } = await worldOf(server)
  signer = signers.hmac
  direct = new SluiceClient({ baseUrl: server.url, key })
})
after(() => server.stop())

const at = (baseUrl: string, fetch?: typeof globalThis.fetch) =>
  new SluiceClient({ baseUrl, key: server.bootstrap.service_key, patience: { retryFirstMs: 20, retryMaxMs: 100 }, ...(fetch ? { fetch } : {}) })

async function approveIn(conversationId: string): Promise<void> {
  const [approval] = (await direct.approvals.list({ conversation_id: conversationId, status: 'pending' })).data
  assert.ok(approval, 'there is no gate')
  await direct.approvals.approve(approval.id, { signature: await signDecision(signer, approval, { decision: 'approve' }) })
}

async function eventsOf(stream: MessageStream): Promise<ConversationEvent[]> {
  const events: ConversationEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** A run that holds a place until `leave` is called. */
async function occupy(): Promise<() => Promise<unknown>> {
  const stream = await direct.messages.send((await direct.conversations.create()).id, { content: 'say in\nhang' })
  for await (const { type } of stream) if (type === 'content_delta') break
  return () => direct.runs.cancel(stream.runId!)
}

test('I-24 connections that break at any byte lose and repeat nothing, and one message is sent', patience, async () => {
  // 97 and 40 are odd enough to break heads, lines, and characters in many places.
  for (let first = 1; first < 2500; first += 97) {
    const proxy = await CuttingProxy.start(server.port, (connection) => first + connection * 40)
    const conversation = await direct.conversations.create()
    const stream = await at(proxy.url).messages.send(conversation.id, { content: 'say Grüße aus 東京 😀 und zurück' })
    const events = await eventsOf(stream)
    assert.deepEqual(events.map(({ seq }) => seq), events.map((_, index) => index))
    const text = events.map((event) => (event.type === 'content_delta' ? event.data.text : '')).join('')
    assert.equal(text, 'Grüße aus 東京 😀 und zurück')
    const { data } = await direct.messages.list(conversation.id)
    assert.deepEqual(data.map(({ role }) => role), ['user', 'assistant'])
    assert.deepEqual(await stream.message(), data[1])
    await proxy.close()
  }
})

test('I-24 a proxy that cuts quiet streams is come back to until the human has decided', patience, async () => {
  const road = await plainNginx(server.port, `proxy_read_timeout ${quietMs}ms;`)
  let requests = 0
  let isCutTwice = () => {}
  const cutTwice = new Promise<void>((resolve) => (isCutTwice = resolve))
  const counting: typeof fetch = (input, init) => {
    if ((requests += 1) === 4) isCutTwice()
    return fetch(input, init)
  }
  const conversation = await direct.conversations.create()
  const stream = await at(road.url, counting).messages.send(conversation.id, { content: 'put One. \nask Go on?\nput Two.' })
  const reading = eventsOf(stream)
  await within('two cuts', cutTwice)
  await approveIn(conversation.id)
  const events = await reading
  assert.deepEqual(events.map(({ type }) => type), ['message_start', 'content_delta', 'approval_required', 'resumed', 'content_delta', 'message_end'])
  assert.equal((await stream.message()).content, 'One. Two.')
  assert.equal((await direct.messages.list(conversation.id)).data.length, 2)
  await road.close()
})

test('I-24 a proxy that holds back everything makes it late, not wrong', patience, async () => {
  // What nginx does by itself where nobody asks it not to: the server's own header is ignored.
  const road = await plainNginx(server.port, 'proxy_ignore_headers X-Accel-Buffering; proxy_buffering on;')
  const conversation = await direct.conversations.create()
  const sending = at(road.url).messages.send(conversation.id, { content: 'put One. \nask Go on?\nput Two.' })
  const events: ConversationEvent[] = []
  const reading = sending.then(async (stream) => {
    for await (const event of stream) events.push(event)
  })
  const pending = async () => (await direct.approvals.list({ conversation_id: conversation.id, status: 'pending' })).data.length
  for (const deadline = Date.now() + patienceMs; (await pending()) === 0; ) assert.ok(Date.now() < deadline, 'no gate')
  assert.equal(events.length, 0, 'it should have been held back; then deploy.md is wrong')
  await approveIn(conversation.id)
  await reading
  assert.deepEqual(events.map(({ seq }) => seq), [0, 1, 2, 3, 4, 5])
  await road.close()
})

test('I-24 a server that is killed in the middle goes on where it was', patience, async () => {
  const conversation = await direct.conversations.create()
  const stream = await at(server.url).messages.send(conversation.id, { content: 'tokens 200 100' })
  const events: ConversationEvent[] = []
  for await (const event of stream) {
    events.push(event)
    if (event.seq === 50) await server.crash()
  }
  assert.deepEqual(events.map(({ seq }) => seq), events.map((_, index) => index))
  assert.equal(events.length, 202)
  assert.equal(events.map((event) => (event.type === 'content_delta' ? event.data.text : '')).join(''), (await stream.message()).content)
})

test('I-12 a full server is waited for in its line, or outside it', patience, async () => {
  const leave = [await occupy(), await occupy()]
  const conversation = await direct.conversations.create()
  await assert.rejects(direct.messages.send(conversation.id, { content: 'say x' }), { slug: 'capacity-exhausted', status: 429 })
  const held = await direct.messages.send(conversation.id, { content: 'say held', on_capacity: 'hold' })
  const types: string[] = []
  for await (const { type } of held) {
    types.push(type)
    if (type === 'queued') await leave.pop()?.()
  }
  assert.deepEqual([...new Set(types)], ['queued', 'message_start', 'content_delta', 'message_end'])

  leave.push(await occupy())
  let isRefused = () => {}
  const refused = new Promise<void>((resolve) => (isRefused = resolve))
  const watching: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (response.status === 429) isRefused()
    return response
  }
  const patient = at(server.url, watching).messages.send(conversation.id, { content: 'say patient' }, { retryAtCapacity: true })
  await within('a refusal', refused)
  for (const one of leave) await one()
  assert.equal((await (await patient).message()).content, 'patient')
})

test('what an agent does is heard where it is asked for, and its files are handed over', patience, async () => {
  const conversation = await direct.conversations.create()
  const details: DetailEvent[] = []
  const content = '$ mkdir -p assets && printf "a,b\\n" > assets/table.csv && cat assets/table.csv\nsay It is there.'
  const stream = await direct.messages.send(conversation.id, { content }, { onDetail: (event) => details.push(event) })
  await stream.message()
  assert.ok(details.some(({ type, data }) => type === 'step' && data['status'] === 'succeeded'), JSON.stringify(details))
  const [file] = (await direct.runs.files(stream.runId!)).data
  assert.equal(file?.name, 'table.csv')
  assert.equal(await (await direct.files.download(file.id)).text(), 'a,b\n')
  assert.equal((await direct.files.get(file.id)).size, 4)
})
