// What a client lives through, told to a real server. Nothing of Node's is used here: the same stories are told by
// Node and by a browser, with and without something in between.
import { ProblemError, RunFailedError, SluiceClient, signDecision } from '@sluice/client'
import type { Approval, ConversationEvent, MessageStream, Signer } from '@sluice/client'

export interface World {
  url: string
  key: string
  /** How long the road bears silence, or a short while where it bears a minute. */
  quietMs: number
  signers: { hmac: Signer; ed25519: Signer }
}

function check(truth: boolean, what: string): asserts truth {
  if (!truth) throw new Error(what)
}

function same(got: unknown, wanted: unknown, what: string): void {
  check(JSON.stringify(got) === JSON.stringify(wanted), `${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`)
}

function textOf(events: ConversationEvent[]): string {
  return events.map((event) => (event.type === 'content_delta' && !event.data.filler ? event.data.text : '')).join('')
}

async function eventsOf(stream: MessageStream): Promise<ConversationEvent[]> {
  const events: ConversationEvent[] = []
  for await (const event of stream) events.push(event)
  same(events.map(({ seq }) => seq), events.map((_, index) => index), 'seq')
  return events
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(() => undefined, (error: unknown) => error)
}

/** Reads until the run waits for a human, has `decide` decide, and reads to the end. */
async function throughGate(stream: MessageStream, decide: (approval: Approval) => Promise<unknown>): Promise<ConversationEvent[]> {
  const events: ConversationEvent[] = []
  for await (const event of stream) {
    events.push(event)
    // Whoever holds this line back until the stream ends waits for ever: the decision comes after it.
    if (event.type === 'approval_required') await decide(event.data)
  }
  return events
}

export const stories: Record<string, (sluice: SluiceClient, world: World) => Promise<void>> = {
  async 'an answer is told as it is kept'(sluice) {
    const conversation = await sluice.conversations.create({ user_id: 'ana', title: 'Grüße' })
    const stream = await sluice.messages.send(conversation.id, { content: 'say Grüße aus 東京 😀\nsay Zweite Zeile' })
    const events = await eventsOf(stream)
    const message = await stream.message()
    same(textOf(events), 'Grüße aus 東京 😀\nZweite Zeile', 'the text')
    same(message.content, textOf(events), 'the message')
    same(await sluice.messages.get(message.id), message, 'the history')
    const { data } = await sluice.messages.list(conversation.id)
    same(data.map(({ role }) => role), ['user', 'assistant'], 'the list')
  },

  async 'twenty thousand deltas come in order'(sluice) {
    const conversation = await sluice.conversations.create()
    const stream = await sluice.messages.send(conversation.id, { content: 'tokens 20000' })
    const events = await eventsOf(stream)
    same(events.length, 20_002, 'the count')
    check((await stream.message()).content === textOf(events), 'the text is not the message')
  },

  async 'a conversation begins with its first message'(sluice) {
    const stream = await sluice.conversations.start({ user_id: 'ben', initial_message: { content: 'say Hello' } })
    const [first] = await eventsOf(stream)
    check(first?.type === 'message_start' && first.data.conversation?.user_id === 'ben', 'no conversation in message_start')
    const page = await sluice.conversations.list({ user_id: 'ben', limit: 100 })
    check(page.data.some(({ id }) => id === first.conversation_id), 'it is not listed')
    await sluice.conversations.archive(first.conversation_id)
    const error = await errorOf(sluice.messages.send(first.conversation_id, { content: 'say more' }))
    check(error instanceof ProblemError && error.slug === 'conversation-archived', String(error))
  },

  async 'what comes before a gate is seen before the decision; it is bound, with a secret (I-15, I-17)'(sluice, { signers }) {
    const conversation = await sluice.conversations.create()
    const content = 'put Starting. \nneed CRM_API_KEY for crm.example: Key of the CRM "ü"\nput Done with {{secret:CRM_API_KEY}}.'
    const stream = await sluice.messages.send(conversation.id, { content })
    const events = await throughGate(stream, async (approval) => {
      const [listed] = (await sluice.approvals.list({ conversation_id: conversation.id, status: 'pending' })).data
      same(listed, approval, 'the listed gate')
      const secrets = { CRM_API_KEY: 'crm-hush-hush' }
      const signature = await signDecision(signers.hmac, approval, { decision: 'approve', bind: true, secrets })
      const swapped = await errorOf(sluice.approvals.approve(approval.id, { signature, secrets: { CRM_API_KEY: 'another-one' } }))
      check(swapped instanceof ProblemError && swapped.slug === 'approval-signature-invalid', `swapped: ${String(swapped)}`)
      same((await sluice.approvals.approve(approval.id, { signature, secrets, note: 'Fine.' })).status, 'approved', 'the decision')
    })
    same(events.map(({ type }) => type), ['message_start', 'content_delta', 'approval_required', 'resumed', 'content_delta', 'message_end'], 'the events')
    same((await stream.message()).content, 'Starting. Done with {{secret:CRM_API_KEY}}.', 'the message')
    const shelf = sluice.secrets.conversation(conversation.id)
    same((await shelf.list()).data.map(({ alias }) => alias), ['CRM_API_KEY'], 'the secrets')
    await shelf.delete('CRM_API_KEY')
    same((await shelf.list()).data, [], 'the secrets')
  },

  async 'a decision may be signed with Ed25519 (I-15)'(sluice, { signers }) {
    const conversation = await sluice.conversations.create()
    const stream = await sluice.messages.send(conversation.id, { content: 'ask May I?\nput Thank you.' })
    await throughGate(stream, async (approval) => {
      const signature = await signDecision(signers.ed25519, approval, { decision: 'approve' })
      await sluice.approvals.approve(approval.id, { signature })
    })
    same((await stream.message()).content, 'Thank you.', 'the message')
  },

  async 'a denial ends the run'(sluice, { signers }) {
    const conversation = await sluice.conversations.create()
    const stream = await sluice.messages.send(conversation.id, { content: 'ask May I?\nput Thank you.' })
    const events = await throughGate(stream, async (approval) => {
      await sluice.approvals.deny(approval.id, { signature: await signDecision(signers.hmac, approval, { decision: 'deny' }) })
    })
    same(events.at(-1)?.type, 'error', 'the last event')
    const error = await errorOf(stream.message())
    check(error instanceof RunFailedError && error.slug === 'approval-denied', String(error))
  },

  async 'whoever leaves comes back to the same run'(sluice, { signers }) {
    const conversation = await sluice.conversations.create()
    const leaving = new AbortController()
    const stream = await sluice.messages.send(conversation.id, { content: 'put One. \nask Go on?\nput Two.' }, { signal: leaving.signal })
    const left = await errorOf((async () => {
      for await (const { type } of stream) if (type === 'approval_required') leaving.abort(new Error('left'))
    })())
    check(left instanceof Error && left.message === 'left', String(left))
    const again = await sluice.messages.follow(stream.messageId!, { after: 1 })
    const events = await throughGate(again, async (approval) => {
      await sluice.approvals.approve(approval.id, { signature: await signDecision(signers.hmac, approval, { decision: 'approve' }) })
    })
    same(events.map(({ seq }) => seq), [2, 3, 4, 5], 'what was read on')
    same((await again.message()).content, 'One. Two.', 'the message')
  },

  async 'without re-attach the gate is found, and the end too (I-24)'(sluice, { signers }) {
    const conversation = await sluice.conversations.create()
    const told: Approval[] = []
    const decide = async (approval: Approval) => {
      told.push(approval)
      await sluice.approvals.approve(approval.id, { signature: await signDecision(signers.hmac, approval, { decision: 'approve' }) })
    }
    const sent = await sluice.messages.send(conversation.id, { content: 'put One. \nask Go on?\nput Two.' })
    for await (const { type } of sent) if (type === 'approval_required') break
    const stream = await sluice.messages.follow(sent.messageId!, { reattach: false, onApproval: (approval) => void decide(approval) })
    same((await stream.message()).content, 'One. Two.', 'the message')
    same(told.length, 1, 'how often it was told')
  },

  async 'a key that was used before is the same message (I-19)'(sluice) {
    const conversation = await sluice.conversations.create()
    const options = { idempotencyKey: `key-of-${conversation.id}` }
    const first = await sluice.messages.send(conversation.id, { content: 'say Once' }, options)
    const events = await eventsOf(first)
    const second = await sluice.messages.send(conversation.id, { content: 'say Once' }, options)
    check(second.replayed && !first.replayed, 'replayed')
    same(await eventsOf(second), events, 'the replay')
    const error = await errorOf(sluice.messages.send(conversation.id, { content: 'say Twice' }, options))
    check(error instanceof ProblemError && error.slug === 'idempotency-key-conflict', String(error))
    same((await sluice.messages.list(conversation.id)).data.length, 2, 'the messages')
  },

  async 'a run is cancelled, and says so'(sluice) {
    const conversation = await sluice.conversations.create()
    const stream = await sluice.messages.send(conversation.id, { content: 'say in\nhang' })
    for await (const { type } of stream) {
      if (type === 'content_delta') same((await sluice.runs.cancel(stream.runId!)).state, 'cancelled', 'the run')
    }
    const error = await errorOf(stream.message())
    check(error instanceof RunFailedError && error.slug === 'run-cancelled', String(error))
    same((await sluice.runs.list({ conversation_id: conversation.id })).data.map(({ state }) => state), ['cancelled'], 'the runs')
  },

  async 'the whole answer comes in one piece where that is wanted'(sluice) {
    const conversation = await sluice.conversations.create()
    same((await sluice.messages.complete(conversation.id, { content: 'say Hello' })).content, 'Hello', 'the message')
    const error = await errorOf(sluice.messages.complete(conversation.id, { content: 'fail 400 Broken' }))
    check(error instanceof ProblemError && error.slug === 'model-error', String(error))
  },

  // Longer than the patience of the proxy that has least of it: there it is cut, and read on or asked again under its key.
  async 'a quiet while changes nothing (I-24)'(sluice, { quietMs }) {
    const conversation = await sluice.conversations.create()
    const content = `put One. \nsleep ${1.5 * quietMs}\nput Two.`
    const stream = await sluice.messages.send(conversation.id, { content })
    same(textOf(await eventsOf(stream)), 'One. Two.', 'the text')
    same((await sluice.messages.complete(conversation.id, { content })).content, 'One. Two.', 'the message')
    same((await sluice.messages.list(conversation.id)).data.length, 4, 'the messages')
  },

  async 'a chat: told as it is kept, read again from any frame, stopped, and gone with its files (A-2, A-5)'(sluice) {
    const turn = await sluice.assistant.send({ message: 'say Grüße 😀\nthink Hm.\nsay And more.', onDisconnect: 'keep' })
    const told = await turn.result()
    const [chatId, streamId] = [turn.chatId ?? '', turn.streamId ?? '']
    const { messages } = await sluice.assistant.chats.get(chatId)
    same(messages.map(({ role }) => role), ['user', 'assistant'], 'the roles')
    same(messages[1], told, 'the history')
    same(await (await sluice.assistant.attach(streamId, { after: 2 })).result(), told, 'the turn, read again')

    const running = await sluice.assistant.send({ chatId, message: 'tokens 100000 20', onDisconnect: 'keep' })
    const second = await errorOf(sluice.assistant.send({ chatId, message: 'say too soon' }))
    check(second instanceof ProblemError && second.status === 409, String(second))
    await sluice.assistant.chats.stop(chatId)
    check((await errorOf(running.result())) instanceof RunFailedError, 'a turn that was stopped has no result')

    const [file] = await sluice.assistant.files.upload(chatId, [{ name: 'a.csv', content: new Blob(['a,b\n']) }])
    same(await (await sluice.assistant.files.download(file?.id ?? '')).text(), 'a,b\n', 'the file')
    await sluice.assistant.chats.delete(chatId)
    const gone = await errorOf(sluice.assistant.files.download(file?.id ?? ''))
    check(gone instanceof ProblemError && gone.status === 404, String(gone))
  },

  async 'problems are typed'(sluice, { url }) {
    const missing = await errorOf(sluice.messages.get('msg_00000000000000000000000000'))
    check(missing instanceof ProblemError && missing.status === 404 && missing.slug === 'not-found' && /^req_/.test(missing.requestId ?? ''), String(missing))
    const invalid = await errorOf(sluice.conversations.create({ title: 'x'.repeat(300) }))
    check(invalid instanceof ProblemError && invalid.problem.errors?.[0]?.pointer === '/title', String(invalid))
    const stranger = new SluiceClient({ baseUrl: url, key: 'sk_int_wrong' })
    const refused = await errorOf(stranger.capacity())
    check(refused instanceof ProblemError && refused.status === 401, String(refused))
  },

  async 'agents, capacity and who one is'(sluice) {
    const agent = await sluice.agents.create({ name: `agent-${Date.now()}-${Math.random()}` })
    same((await sluice.agents.update(agent.id, { system_prompt: 'Be brief.' })).system_prompt, 'Be brief.', 'the agent')
    let found = false
    for await (const { id } of sluice.agents.all({ limit: 1 })) found ||= id === agent.id
    check(found, 'the agent is not listed')
    await sluice.agents.delete(agent.id)
    same((await sluice.capacity()).object, 'capacity', 'capacity')
    same((await sluice.self()).object, 'integration_principal', 'self')
  },
}
