// The Assistant: chats with files, one turn in flight each, told as server-sent events over fetch.
import type { AssistantChat, AssistantChatWithMessages, AssistantFile, AssistantTurn } from './assistant_types.js'
import { rowsOf } from './list.js'
import type { Page, PageQuery } from './list.js'
import type { CallOptions, Transport } from './transport.js'
import { TurnStream } from './turn_stream.js'

export { TurnStream } from './turn_stream.js'

export class Assistant {
  readonly chats: Chats
  readonly files: ChatFiles
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
    this.chats = new Chats(transport)
    this.files = new ChatFiles(transport)
  }

  /** Begins a turn, once, and resolves when the server has taken it. 409 while another is in flight. */
  send(request: AssistantTurn, options: CallOptions = {}): Promise<TurnStream> {
    return TurnStream.open(this.#transport, { request }, options)
  }

  /** A turn that was begun before, from after the frame `after`; absent, from its beginning. */
  attach(streamId: string, options: CallOptions & { after?: number } = {}): Promise<TurnStream> {
    return TurnStream.open(this.#transport, { streamId, after: options.after ?? -1 }, options)
  }
}

export class Chats {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list(query: PageQuery = {}, options: CallOptions = {}): Promise<Page<AssistantChat>> {
    return this.#transport.json({ ...options, method: 'GET', path: '/api/assistant/chats', query })
  }

  all(query: PageQuery = {}, options: CallOptions = {}): AsyncGenerator<AssistantChat> {
    return rowsOf((page) => this.list(page, options), query)
  }

  /** With its latest messages; `before` pages back. */
  get(id: string, query: { before?: string } = {}, options: CallOptions = {}): Promise<AssistantChatWithMessages> {
    return this.#transport.json({ ...options, method: 'GET', path: pathOf(id), query })
  }

  rename(id: string, title: string, options: CallOptions = {}): Promise<AssistantChat> {
    return this.#transport.json({ ...options, method: 'PATCH', path: pathOf(id), body: { title } })
  }

  /** Its files go with it. A turn in flight is cancelled first. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.done({ ...options, method: 'DELETE', path: pathOf(id) })
  }

  /** Resolves when nothing of the turn is left at work. */
  stop(id: string, options: CallOptions = {}): Promise<{ streamId: string; status: 'cancelled' }> {
    return this.#transport.json({ ...options, method: 'POST', path: `${pathOf(id)}/stop` })
  }
}

export class ChatFiles {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Into a chat's bag; without a chat, they join the one whose turn attaches them. */
  async upload(chatId: string | null, files: { name: string; content: Blob }[], options: CallOptions = {}): Promise<AssistantFile[]> {
    const form = new FormData()
    for (const { name, content } of files) form.append('files', content, name)
    const path = chatId === null ? '/api/assistant/files' : `${pathOf(chatId)}/files`
    const answer = await this.#transport.json<{ files: AssistantFile[] }>({ ...options, method: 'POST', path, form })
    return answer.files
  }

  list(chatId: string, options: CallOptions = {}): Promise<Page<AssistantFile>> {
    return this.#transport.json({ ...options, method: 'GET', path: `${pathOf(chatId)}/files` })
  }

  /** The bytes, as an answer whose body is to be read. */
  download(fileId: string, options: CallOptions = {}): Promise<Response> {
    return this.#transport.admitted({ ...options, method: 'GET', path: `/api/assistant/files/${encodeURIComponent(fileId)}` })
  }

  /** The whole bag. */
  downloadZip(chatId: string, options: CallOptions = {}): Promise<Response> {
    return this.#transport.admitted({ ...options, method: 'GET', path: `${pathOf(chatId)}/files.zip` })
  }

  delete(fileId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.done({ ...options, method: 'DELETE', path: `/api/assistant/files/${encodeURIComponent(fileId)}` })
  }
}

function pathOf(chatId: string): string {
  return `/api/assistant/chats/${encodeURIComponent(chatId)}`
}
