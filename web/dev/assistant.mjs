// The fake's Assistant: chats, their turns and streams, and their bags of files.
import { createHash } from 'node:crypto'
import { messageOf } from './fold.mjs'
import { bytesOf, id, json, jsonOf, problem } from './problem.mjs'
import { scenes } from './scenes.mjs'
import { Failed, play, Stopped } from './script.mjs'

const fileBytesMax = 10 * 1024 * 1024

export class Assistant {
  chats = new Map()
  files = new Map()
  turns = new Map() // by stream

  constructor(gates, options) {
    this.gates = gates
    this.options = options
  }

  async answer(request, response, path, query) {
    if (path === '/v1/runs' && query.get('state') === 'parked,held') return json(response, 200, this.waiting()) ?? true
    if (!path.startsWith('/api/assistant/')) return false
    const rest = path.slice('/api/assistant/'.length).split('/')
    const verb = `${request.method} ${rest.map((part, i) => (i % 2 === 1 && rest[0] !== 'chat' ? '*' : part)).join('/')}`
    const routes = {
      'POST chat/stream': () => this.begin(request, response),
      'GET chat/stream': () => this.attach(request, response, query),
      'GET chats': () => this.list(response, query),
      'GET chats/*': () => this.withChat(response, rest[1], (chat) => this.show(response, chat, query)),
      'PATCH chats/*': () => this.withChat(response, rest[1], (chat) => this.rename(request, response, chat)),
      'DELETE chats/*': () => this.withChat(response, rest[1], (chat) => this.remove(response, chat)),
      'POST chats/*/stop': () => this.withChat(response, rest[1], (chat) => this.stop(response, chat)),
      'POST chats/*/files': () => this.withChat(response, rest[1], (chat) => this.upload(request, response, chat)),
      'GET chats/*/files': () => this.withChat(response, rest[1], (chat) => json(response, 200, { object: 'list', data: this.bag(chat.id), has_more: false })),
      'POST files': () => this.upload(request, response, null),
      'GET files/*': () => this.download(response, rest[1], query),
      'DELETE files/*': () => { this.files.delete(rest[1]); response.writeHead(204).end() },
    }
    if (!routes[verb]) return false
    await routes[verb]()
    return true
  }

  withChat(response, chatId, does) {
    const chat = this.chats.get(chatId)
    return chat ? does(chat) : problem(response, 404, 'not-found', 'There is no such chat in this workspace.')
  }

  bag(chatId) {
    return [...this.files.values()].map(({ about }) => about).filter((file) => file.chatId === chatId)
  }

  async begin(request, response) {
    const body = await jsonOf(request)
    if (!body.message?.trim() && !body.attachmentIds?.length) return problem(response, 422, 'validation-error', 'message must not be empty.', { errors: [{ pointer: '/message', message: 'must not be empty' }] })
    const chat = body.chatId ? this.chats.get(body.chatId) : this.open(body)
    if (!chat) return problem(response, 404, 'not-found', 'There is no such chat in this workspace.')
    if (chat.turn) return problem(response, 409, 'conversation-busy', 'A turn of this chat is not over.', { streamId: chat.turn.streamId, messageId: chat.turn.messageId })
    const attached = (body.attachmentIds ?? []).map((fileId) => this.files.get(fileId)?.about).filter(Boolean)
    for (const file of attached) file.chatId = chat.id
    const user = { id: id('msg'), role: 'user', content: [{ type: 'text', text: body.message }], fileAttachments: attached, createdAt: Date.now(), status: 'completed' }
    chat.messages.push(user)
    chat.updatedAt = Date.now()
    const turn = this.start(chat, user, body.message)
    this.stream(response, turn, -1)
  }

  open(body) {
    const chat = { id: id('con'), title: body.message.split('\n')[0].slice(0, 80), agentId: body.agentId ?? 'agt_01hzx8agent0000000000000a1', createdAt: Date.now(), updatedAt: Date.now(), messages: [], turn: null, tree: new Map() }
    this.chats.set(chat.id, chat)
    return chat
  }

  start(chat, user, text) {
    const stopper = new AbortController()
    const turn = {
      streamId: id('run'), messageId: id('msg'), createdAt: Date.now(), frames: [], readers: new Set(), chat,
      stopped: stopper.signal, stop: () => stopper.abort(), files: chat.tree, wordMs: this.options.wordMs,
      emit: (event, data) => {
        const frame = { id: turn.frames.length, event, data }
        turn.frames.push(frame)
        for (const reader of turn.readers) tell(reader, frame)
      },
      asset: (name, content) => turn.emit('custom', { name: 'sluice.assets', value: { files: [this.keep(chat.id, name, 'text/csv', Buffer.from(content), 'sandbox')] } }),
      gate: async ({ reason, items }) => {
        const { approval, decided } = this.gates.raise({ chatId: chat.id, messageId: turn.messageId, reason, items, tenant: this.options.tenant })
        const told = { approvalId: approval.id, reason, items, expiresAt: Date.parse(approval.expires_at) }
        turn.emit('approval', { ...told, status: 'pending' })
        const status = await Promise.race([decided, new Promise((_, no) => stopper.signal.addEventListener('abort', () => no(new Stopped())))])
        turn.emit('approval', { ...told, status })
        return status
      },
    }
    chat.turn = turn
    this.turns.set(turn.streamId, turn)
    turn.emit('chat', { chatId: chat.id, streamId: turn.streamId, userMessageId: user.id, messageId: turn.messageId, title: chat.title, createdAt: turn.createdAt })
    turn.over = this.finish(turn, scenes[text.trim()] ?? text)
    return turn
  }

  async finish(turn, script) {
    const about = { id: turn.messageId, createdAt: turn.createdAt, status: 'completed' }
    try {
      about.usage = await play(turn, script)
    } catch (error) {
      about.status = error instanceof Stopped ? 'cancelled' : 'failed'
      about.error = error instanceof Stopped ? { code: 'run-cancelled', message: 'It was stopped.' } : { code: 'upstream-failed', message: error instanceof Failed ? error.message : String(error) }
    }
    const message = messageOf(turn.frames, about)
    turn.chat.tree = turn.files
    turn.chat.messages.push(message)
    turn.chat.turn = null
    turn.chat.updatedAt = Date.now()
    if (about.error) turn.emit('error', { ...about.error, status: about.status === 'cancelled' ? 409 : 502, messageId: turn.messageId })
    else turn.emit('result', { messageId: turn.messageId, message, usage: about.usage })
    turn.emit('done', {})
    for (const reader of turn.readers) reader.end()
    turn.readers.clear()
  }

  stream(response, turn, after) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Chat-Id': turn.chat.id, 'X-Stream-Id': turn.streamId })
    response.socket?.setNoDelay(true)
    for (const frame of turn.frames.slice(after + 1)) tell(response, frame)
    if (turn.frames.at(-1)?.event === 'done') return response.end()
    turn.readers.add(response)
    response.on('close', () => turn.readers.delete(response))
  }

  attach(request, response, query) {
    const turn = this.turns.get(query.get('streamId'))
    if (!turn) return problem(response, 404, 'not-found', 'There is no such stream.')
    this.stream(response, turn, Number(query.get('after') ?? request.headers['last-event-id'] ?? -1))
  }

  // Every reader is hung up on, as a network would.
  drop() {
    for (const turn of this.turns.values()) for (const reader of turn.readers) reader.destroy()
  }

  // The runs of chats that wait for an approval or for a slot.
  waiting() {
    const data = [...this.chats.values()].flatMap((chat) => {
      const last = chat.turn?.frames.findLast(({ event }) => event === 'approval' || event === 'queued')
      const state = last?.event === 'approval' ? (last.data.status === 'pending' ? 'parked' : null) : last === chat.turn?.frames.at(-1) ? 'held' : null
      return last && state ? [{ id: chat.turn.streamId, conversation_id: chat.id, state }] : []
    })
    return { object: 'list', data, has_more: false }
  }

  brief(chat) {
    return { id: chat.id, object: 'chat', title: chat.title, agentId: chat.agentId, createdAt: chat.createdAt, updatedAt: chat.updatedAt, running: chat.turn?.streamId ?? null }
  }

  list(response, query) {
    const all = [...this.chats.values()].sort((a, b) => b.updatedAt - a.updatedAt).map((chat) => this.brief(chat))
    const limit = Number(query.get('limit') ?? 20)
    const place = (id) => { const at = all.findIndex((chat) => chat.id === id); return at < 0 ? all.length : at } // a conversation that is no chat is older than all
    const end = query.get('ending_before')
    if (end) return json(response, 200, { object: 'list', data: all.slice(Math.max(0, place(end) - limit), place(end)), has_more: place(end) > limit, next_cursor: place(end) > limit ? all[place(end) - limit].id : null })
    const from = query.get('starting_after') ? place(query.get('starting_after')) + 1 : 0
    json(response, 200, { object: 'list', data: all.slice(from, from + limit), has_more: all.length > from + limit, next_cursor: all.length > from + limit ? all[from + limit - 1].id : null })
  }

  show(response, chat, query) {
    const before = query.get('before') ? chat.messages.findIndex((message) => message.id === query.get('before')) : chat.messages.length
    const from = Math.max(0, before - 100)
    const running = chat.turn ? { streamId: chat.turn.streamId, messageId: chat.turn.messageId, lastEventId: chat.turn.frames.length - 1 } : null
    json(response, 200, { ...this.brief(chat), messages: chat.messages.slice(from, before), hasMore: from > 0, files: this.bag(chat.id), running })
  }

  async rename(request, response, chat) {
    const { title } = await jsonOf(request)
    if (!title?.trim()) return problem(response, 422, 'validation-error', 'title must not be empty.')
    chat.title = title
    json(response, 200, this.brief(chat))
  }

  async remove(response, chat) {
    chat.turn?.stop()
    this.chats.delete(chat.id)
    response.writeHead(204).end()
  }

  async stop(response, chat) {
    const turn = chat.turn
    if (!turn) return problem(response, 409, 'run-not-running', 'Nothing runs in this chat.')
    turn.stop()
    await turn.over
    json(response, 200, { streamId: turn.streamId, status: 'cancelled' })
  }

  keep(chatId, name, type, bytes, source) {
    const fileId = id('fil')
    const about = { id: fileId, object: 'file', chatId, name, type, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex'), source, createdAt: Date.now(), url: `/api/assistant/files/${fileId}` }
    this.files.set(fileId, { about, bytes })
    return about
  }

  async upload(request, response, chat) {
    const boundary = /boundary=(.+)$/.exec(request.headers['content-type'] ?? '')?.[1]
    if (!boundary) return problem(response, 415, 'unsupported-media-type', 'Send multipart/form-data.')
    const bytes = await bytesOf(request)
    if (bytes.length > fileBytesMax) return problem(response, 413, 'payload-too-large', 'A file may have at most 10 MB.')
    const made = []
    for (const part of bytes.toString('latin1').split(`--${boundary}`).slice(1, -1)) {
      const at = part.indexOf('\r\n\r\n')
      const head = Buffer.from(part.slice(0, at), 'latin1').toString()
      const name = /filename="([^"]*)"/.exec(head)?.[1] ?? 'file'
      const type = /content-type: *([^\r\n]+)/i.exec(head)?.[1] ?? 'application/octet-stream'
      if (name.endsWith('.exe')) return problem(response, 415, 'unsupported-media-type', `Files of the type of ${name} are not taken.`)
      made.push(this.keep(chat?.id ?? null, name.split('/').pop(), type, Buffer.from(part.slice(at + 4, -2), 'latin1'), 'upload'))
    }
    json(response, 201, { files: made })
  }

  download(response, fileId, query) {
    const file = this.files.get(fileId)
    if (!file) return problem(response, 404, 'not-found', 'There is no such file.')
    const inline = query.get('inline') && /^(image\/(png|jpeg|gif|webp)|text\/plain)$/.test(file.about.type)
    response.writeHead(200, { 'Content-Type': file.about.type, 'X-Content-Type-Options': 'nosniff', 'Content-Security-Policy': 'sandbox', 'Content-Disposition': `${inline ? 'inline' : 'attachment'}; filename*=UTF-8''${encodeURIComponent(file.about.name)}` })
    response.end(file.bytes)
  }
}

function tell(response, frame) {
  response.write(`id: ${frame.id}\nevent: ${frame.event}\ndata: ${JSON.stringify(frame.data)}\n\n`)
}
