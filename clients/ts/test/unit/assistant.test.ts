// The Assistant's wire: server-sent events over fetch, and re-attaching to them (A-1, A-6).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OutcomeUnknownError, ProblemError, RunFailedError } from '@sluice/client'
import type { AssistantMessage } from '@sluice/client'
import { FakeFetch, clientOf, collect, json, noAnswer, page, problem, sse } from './fake_fetch.js'

const message: AssistantMessage = {
  id: 'msg_2', role: 'assistant', content: [{ type: 'text', text: 'Grüße 😀' }], fileAttachments: [], createdAt: 1, status: 'completed',
}
const frame = (id: number, type: string, data: object) => `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`
const chat = frame(0, 'chat', { chatId: 'con_1', streamId: 'run_1', userMessageId: 'msg_1', messageId: 'msg_2', title: 'Hello', createdAt: 1 })
const rest = frame(1, 'delta', { text: 'Grüße ' }) + frame(2, 'delta', { text: '😀' })
const ending = frame(3, 'result', { messageId: 'msg_2', message, usage: { inputTokens: 1, outputTokens: 2 } }) + frame(4, 'done', {})
const whole = chat + rest + ending
const named = { 'x-chat-id': 'con_1', 'x-stream-id': 'run_1' }

test('A-1 a turn is one request, told frame by frame', async () => {
  const server = new FakeFetch().then(sse(': keep-alive\n\n' + whole.replaceAll('\n', '\r\n'), { piece: 1 }))
  const turn = await clientOf(server).client.assistant.send({ message: 'Hello', onDisconnect: 'keep' })
  const events = await collect(turn)
  assert.deepEqual(events.map(({ id, type }) => `${id} ${type}`), ['0 chat', '1 delta', '2 delta', '3 result', '4 done'])
  assert.deepEqual([turn.chatId, turn.streamId], ['con_1', 'run_1'])
  assert.deepEqual(await turn.result(), message)
  assert.equal(server.requests[0]!.headers['accept'], 'text/event-stream')
  assert.equal(server.requests[0]!.body, '{"message":"Hello","onDisconnect":"keep"}')
})

test('a cut at every byte is healed by re-attaching; a frame without its blank line is not told', async () => {
  const bytes = new TextEncoder().encode(whole).length
  const frames = [chat, ...rest.split(/(?<=\n\n)/), ...ending.split(/(?<=\n\n)/)]
  for (let at = 0; at < bytes; at += 1) {
    let heard = 0
    for (let length = 0; heard < frames.length; heard += 1) if ((length += new TextEncoder().encode(frames[heard]).length) > at) break
    const server = new FakeFetch().then(sse(whole, { cutAt: at }, named), sse(frames.slice(heard).join('')))
    const turn = await clientOf(server).client.assistant.send({ message: 'x' })
    assert.deepEqual((await collect(turn)).map(({ id }) => id), [0, 1, 2, 3, 4])
    assert.equal(server.asked[1], `GET /api/assistant/chat/stream?streamId=run_1${heard > 0 ? `&after=${heard - 1}` : ''}`)
  }
})

test('gaps and frames that are not JSON are a cut, and an unwell server is waited for', async () => {
  const server = new FakeFetch().then(sse(chat + frame(2, 'delta', {})), noAnswer(), page(502), problem(503, 'unavailable'), sse('id: 1\ndata: {\n\n'), sse(rest + ending))
  const turn = await clientOf(server).client.assistant.send({ message: 'x' })
  assert.equal((await collect(turn)).length, 5)
  server.assertDone()
})

test('unknown types of frame are skipped and count', async () => {
  const server = new FakeFetch().then(sse(chat + frame(1, 'from_the_future', {}) + frame(2, 'done', {})))
  const turn = await clientOf(server).client.assistant.send({ message: 'x' })
  assert.deepEqual((await collect(turn)).map(({ type }) => type), ['chat', 'done'])
})

test('a turn is never begun twice', async () => {
  const lost = new FakeFetch().then(noAnswer(), page(504))
  const { client } = clientOf(lost)
  await assert.rejects(client.assistant.send({ message: 'x' }), OutcomeUnknownError)
  await assert.rejects(client.assistant.send({ message: 'x' }), OutcomeUnknownError)
  const unnamed = await clientOf(new FakeFetch().then(sse('', { cutAt: 0 }))).client.assistant.send({ message: 'x' })
  await assert.rejects(unnamed.result(), OutcomeUnknownError)
})

test('A-3 a second turn is refused with the name of the first', async () => {
  const { client } = clientOf(new FakeFetch().then(problem(409, 'conversation-busy', {}, { streamId: 'run_9', messageId: 'msg_9' })))
  await assert.rejects(client.assistant.send({ message: 'x', chatId: 'con_1' }), (error) => error instanceof ProblemError && error.problem['streamId'] === 'run_9')
})

test('a turn that failed is thrown at the end', async () => {
  const server = new FakeFetch().then(sse(chat + frame(1, 'error', { code: 'run-cancelled', message: 'Stopped.', status: 409, messageId: 'msg_2' }) + frame(2, 'done', {})))
  const turn = await clientOf(server).client.assistant.send({ message: 'x' })
  await assert.rejects(turn.result(), (error) => error instanceof RunFailedError && error.slug === 'run-cancelled')
})

test('a page that was loaded again attaches to the turn in flight', async () => {
  const server = new FakeFetch().then(sse(whole), sse(rest + ending), problem(404, 'not-found'))
  const { client } = clientOf(server)
  assert.equal((await collect(await client.assistant.attach('run_1'))).length, 5)
  assert.equal((await collect(await client.assistant.attach('run_1', { after: 0 }))).length, 4)
  await assert.rejects(client.assistant.attach('run_2'), { slug: 'not-found' })
})

test('whoever leaves the loop closes the connection, and may come back', async () => {
  const server = new FakeFetch().then(sse(whole, {}, named), sse(rest + ending))
  const turn = await clientOf(server).client.assistant.send({ message: 'x' })
  for await (const _ of turn) break
  assert.deepEqual((await collect(turn)).map(({ id }) => id), [1, 2, 3, 4])
})

test('an abort ends a turn with its own reason', async () => {
  const leaving = new AbortController()
  const turn = await clientOf(new FakeFetch().then(sse(chat, { hang: true }))).client.assistant.send({ message: 'x' }, { signal: leaving.signal })
  await assert.rejects(async () => {
    for await (const _ of turn) setImmediate(() => leaving.abort(new Error('left')))
  }, /left/)
})

test('A-5 chats and files are asked for as the contract names them', async () => {
  const empty = () => new Response(null, { status: 204 })
  const server = new FakeFetch().then(json({ data: [] }), json({}), json({}), empty, json({}), json({ files: [{ id: 'fil_1' }] }, 201), json({ files: [] }, 201), json({ data: [] }), json({}), json({}), empty)
  const { assistant } = clientOf(server).client
  await assistant.chats.list({ limit: 5 })
  await assistant.chats.get('con_1', { before: 'msg_3' })
  await assistant.chats.rename('con_1', 'Better')
  await assistant.chats.delete('con_1')
  await assistant.chats.stop('con_1')
  const [file] = await assistant.files.upload('con_1', [{ name: 'a.csv', content: new Blob(['a,b']) }])
  await assistant.files.upload(null, [])
  await assistant.files.list('con_1')
  await assistant.files.download('fil_1')
  await assistant.files.downloadZip('con_1')
  await assistant.files.delete('fil_1')
  assert.equal(file!.id, 'fil_1')
  assert.deepEqual(server.asked, [
    'GET /api/assistant/chats?limit=5', 'GET /api/assistant/chats/con_1?before=msg_3', 'PATCH /api/assistant/chats/con_1',
    'DELETE /api/assistant/chats/con_1', 'POST /api/assistant/chats/con_1/stop', 'POST /api/assistant/chats/con_1/files',
    'POST /api/assistant/files', 'GET /api/assistant/chats/con_1/files', 'GET /api/assistant/files/fil_1',
    'GET /api/assistant/chats/con_1/files.zip', 'DELETE /api/assistant/files/fil_1',
  ])
  const form = server.requests[5]!.body as FormData
  assert.equal((form.get('files') as File).name, 'a.csv')
})
