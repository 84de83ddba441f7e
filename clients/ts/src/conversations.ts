// Conversations and their messages.
import { keyOf } from './idempotency.js'
import type { FollowOptions } from './follow.js'
import { rowsOf } from './list.js'
import type { PageQuery } from './list.js'
import { MessageStream } from './message_stream.js'
import type { Conversation, ConversationList, CreateConversation, CreateMessage, Message, MessageInput, MessageList, UpdateConversation } from './schema.js'
import type { CallOptions, CreateOptions, Transport } from './transport.js'

export interface SendOptions extends FollowOptions, CreateOptions {}

export class Conversations {
  readonly #transport: Transport
  readonly #defaults: FollowOptions

  constructor(transport: Transport, defaults: FollowOptions) {
    this.#transport = transport
    this.#defaults = defaults
  }

  create(body: Omit<CreateConversation, 'initial_message'> = {}, options: CreateOptions = {}): Promise<Conversation> {
    const idempotencyKey = keyOf(options)
    return this.#transport.json({ ...options, method: 'POST', path: '/v1/conversations', body: JSON.stringify(body), idempotencyKey })
  }

  /** Creates a conversation with its first message. The conversation is in `message_start`'s data. */
  start(body: CreateConversation & { initial_message: MessageInput }, options: SendOptions = {}): Promise<MessageStream> {
    const target = { send: '/v1/conversations', body: JSON.stringify(body), idempotencyKey: keyOf(options) }
    return MessageStream.open(this.#transport, target, { ...this.#defaults, ...options })
  }

  list(query: PageQuery & { user_id?: string } = {}, options: CallOptions = {}): Promise<ConversationList> {
    return this.#transport.json({ ...options, method: 'GET', path: '/v1/conversations', query })
  }

  all(query: PageQuery & { user_id?: string } = {}, options: CallOptions = {}): AsyncGenerator<Conversation> {
    return rowsOf((page) => this.list(page, options), query)
  }

  get(id: string, options: CallOptions = {}): Promise<Conversation> {
    return this.#transport.json({ ...options, method: 'GET', path: `/v1/conversations/${encodeURIComponent(id)}` })
  }

  update(id: string, body: UpdateConversation, options: CallOptions = {}): Promise<Conversation> {
    return this.#transport.json({ ...options, method: 'PATCH', path: `/v1/conversations/${encodeURIComponent(id)}`, body })
  }

  /** Its history stays readable; its secrets are destroyed. */
  archive(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.done({ ...options, method: 'DELETE', path: `/v1/conversations/${encodeURIComponent(id)}` })
  }
}

export class Messages {
  readonly #transport: Transport
  readonly #defaults: FollowOptions

  constructor(transport: Transport, defaults: FollowOptions) {
    this.#transport = transport
    this.#defaults = defaults
  }

  /** Sends a message, once, and resolves when the server has taken it. */
  send(conversationId: string, body: CreateMessage, options: SendOptions = {}): Promise<MessageStream> {
    const target = { send: pathOf(conversationId), body: JSON.stringify(body), idempotencyKey: keyOf(options) }
    return MessageStream.open(this.#transport, target, { ...this.#defaults, ...options })
  }

  /**
   * Sends a message and waits for the end in one call. For short runs: a proxy's patience is shorter than
   * a human's, and a call that was cut is asked again under its key.
   */
  complete(conversationId: string, body: CreateMessage, options: CreateOptions = {}): Promise<Message> {
    const idempotencyKey = keyOf(options)
    const call = { method: 'POST', path: pathOf(conversationId), query: { stream: false }, body: JSON.stringify(body) }
    return this.#transport.json({ ...options, ...call, idempotencyKey })
  }

  /** The stream of a message that exists, from after `after`; absent, from its first event. */
  follow(messageId: string, options: FollowOptions & { after?: number } = {}): Promise<MessageStream> {
    return MessageStream.open(this.#transport, { messageId, after: options.after ?? -1 }, { ...this.#defaults, ...options })
  }

  get(messageId: string, options: CallOptions = {}): Promise<Message> {
    return this.#transport.json({ ...options, method: 'GET', path: `/v1/messages/${encodeURIComponent(messageId)}` })
  }

  list(conversationId: string, query: PageQuery & { order?: 'asc' | 'desc' } = {}, options: CallOptions = {}): Promise<MessageList> {
    return this.#transport.json({ ...options, method: 'GET', path: pathOf(conversationId), query })
  }

  all(conversationId: string, query: PageQuery & { order?: 'asc' | 'desc' } = {}, options: CallOptions = {}): AsyncGenerator<Message> {
    return rowsOf((page) => this.list(conversationId, page, options), query)
  }
}

function pathOf(conversationId: string): string {
  return `/v1/conversations/${encodeURIComponent(conversationId)}/messages`
}
