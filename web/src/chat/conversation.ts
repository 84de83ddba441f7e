// One chat as it is on show: its messages, the turn that runs, and what can be done with it.
import { batch, signal } from '@preact/signals'
import { api, Problem, wordsOf } from '../api'
import { countApprovals } from '../app/approval-count'
import { applyFrame, emptyTurn, type Turn } from './fold'
import { attachTurn, startTurn, type Follower } from './follow'
import { Batch } from './frames'
import { noteChat, noteWait, type Wait } from './chats'
import { Outbox } from './outbox'
import { tellTabs } from './tabs'
import type { BagFile, Frame, Message, WholeChat } from './types'

const isLocal = (message: Message) => message.id.startsWith('local-') // on show, and the server has not named it yet

// What the run of a turn waits for, if it does not work.
function waitOf(turn: Turn): Wait | null {
  if (turn.queued) return 'slot'
  return turn.message.content.some((block) => block.type === 'approval' && block.status === 'pending') ? 'approval' : null
}

export type Link = 'live' | 'lost'

let made = 0

export class Conversation {
  readonly key = `conversation-${++made}` // stays when a new chat gets its id
  readonly id = signal<string | null>(null) // null: nothing was sent yet
  readonly title = signal('')
  readonly agentId = signal<string | null>(null)
  readonly messages = signal<Message[]>([])
  readonly files = signal<BagFile[]>([])
  readonly hasMore = signal(false)
  readonly loading = signal(false)
  readonly failure = signal<unknown>(null) // of loading
  readonly notice = signal('') // something worth a line above the message field
  readonly turn = signal<Turn | null>(null)
  readonly tick = signal(0) // the turn has changed: it is folded in place
  readonly link = signal<Link>('live')
  readonly stopping = signal(false)
  readonly outbox: Outbox // what is sent when this answer has ended
  onOpened: ((chatId: string) => void) | null = null // a new chat got its id

  private reading: AbortController | null = null
  private closed = false
  private isSendingNext = false
  private received = -1
  private pending: Frame[] = []
  private readonly drawing = new Batch(() => this.draw())

  constructor(chatId: string | null) {
    this.id.value = chatId
    this.outbox = new Outbox(chatId)
    if (chatId) void this.load()
  }

  // The reader leaves; a turn that runs goes on.
  close(): void {
    this.closed = true
    this.outbox.leave()
    this.reading?.abort()
    this.reading = null
  }

  async load(): Promise<void> {
    const chatId = this.id.value
    if (!chatId) return
    this.loading.value = this.messages.value.length === 0
    try {
      const chat = await api.get<WholeChat>(`/api/assistant/chats/${chatId}`)
      this.show(chat)
      if (chat.running && !this.turn.value) this.attach(chat.running.streamId)
      if (!chat.running) void this.sendNext()
    } catch (error) {
      this.failure.value = error
    } finally {
      this.loading.value = false
    }
  }

  private show(chat: WholeChat): void {
    batch(() => {
      this.failure.value = null
      this.title.value = chat.title
      this.agentId.value = chat.agentId
      this.files.value = chat.files
      const known = new Map(this.messages.value.map((message) => [message.id, message]))
      // What the stream did not bring whole (it ended with an error) is better here.
      const fresh = chat.messages.map((message) => (message.status === 'completed' ? known.get(message.id) ?? message : message))
      const oldest = fresh[0]?.id
      const older = oldest ? this.messages.value.slice(0, Math.max(0, this.messages.value.findIndex((message) => message.id === oldest))) : []
      const unsent = this.messages.value.filter((message) => isLocal(message) && this.turn.value)
      this.messages.value = [...older, ...fresh, ...unsent]
      if (!older.length) this.hasMore.value = chat.hasMore
    })
  }

  async loadEarlier(): Promise<void> {
    const first = this.messages.value[0]
    if (!first) return
    const chat = await api.get<WholeChat>(`/api/assistant/chats/${this.id.value}`, { before: first.id })
    batch(() => {
      this.messages.value = [...chat.messages, ...this.messages.value]
      this.hasMore.value = chat.hasMore
    })
  }

  // Shows the message at once and starts its turn. Throws, and takes it back, when the server refuses it.
  async send(text: string, attachments: BagFile[], agentId: string | null): Promise<void> {
    const shown: Message = {
      id: `local-${Date.now()}`, role: 'user', content: [{ type: 'text', text }], fileAttachments: attachments, createdAt: Date.now(), status: 'completed',
    }
    this.notice.value = ''
    this.messages.value = [...this.messages.value, shown]
    const follower = this.begin('')
    const takenBack = () => {
      this.turn.value = null
      this.messages.value = this.messages.value.filter((message) => message !== shown)
    }
    const body = {
      message: text, onDisconnect: 'keep' as const, ...(this.id.value ? { chatId: this.id.value } : agentId ? { agentId } : {}),
      ...(attachments.length ? { attachmentIds: attachments.map((file) => file.id) } : {}),
    }
    const started = startTurn(body, follower)
    try {
      await Promise.race([started, this.firstFrame()])
    } catch (error) {
      takenBack()
      if (error instanceof Problem && error.status === 409 && typeof error.body.streamId === 'string') {
        await this.load()
        throw new Error('This chat is already answering a message, sent from another tab or program. Here is that answer; yours was not sent.')
      }
      throw error
    }
    this.files.value = [...this.files.value, ...attachments]
    started.catch((error: unknown) => this.broke(error))
  }

  // Sends the first message that waits, unless an answer is still coming. One that is refused stays at the head of the
  // list with the reason; one that met an answer begun elsewhere waits for the end of that.
  async sendNext(): Promise<void> {
    if (this.closed || this.isSendingNext || this.turn.peek()) return
    const next = this.outbox.takeNext()
    if (!next) return
    this.isSendingNext = true
    let isRefused = false
    try {
      await this.send(next.text, next.attachments.flatMap((one) => (one.file ? [one.file] : [])), this.agentId.peek())
    } catch (error) {
      isRefused = true
      this.outbox.putBack(next, this.turn.peek() ? '' : wordsOf(error))
    }
    this.isSendingNext = false
    if (!isRefused) void this.sendNext() // a short answer may have ended before its sending was known to have worked
  }

  private firstFrame(): Promise<void> {
    return new Promise((resolve) => {
      const unsubscribe = this.tick.subscribe(() => {
        if (this.turn.peek() && this.received >= 0) queueMicrotask(() => { unsubscribe(); resolve() })
      })
    })
  }

  private attach(streamId: string): void {
    attachTurn(streamId, this.begin(streamId)).catch((error: unknown) => this.broke(error))
  }

  private begin(streamId: string): Follower {
    this.reading?.abort()
    const reading = (this.reading = new AbortController())
    this.received = -1
    this.pending = []
    batch(() => {
      this.turn.value = emptyTurn(streamId, Date.now())
      this.link.value = 'live'
      this.stopping.value = false
    })
    return {
      stop: reading.signal,
      lastId: () => this.received,
      onLink: (link) => { if (!reading.signal.aborted) this.link.value = link },
      onFrames: (frames) => reading.signal.aborted || this.take(frames),
    }
  }

  private take(frames: Frame[]): boolean {
    for (const frame of frames) {
      if (frame.id <= this.received) continue
      if (frame.id !== this.received + 1) return false
      this.received = frame.id
      this.pending.push(frame)
    }
    this.drawing.ask()
    return true
  }

  private draw(): void {
    const turn = this.turn.peek()
    if (!turn) return
    const isFirst = turn.lastId < 0 && this.pending.length > 0
    for (const frame of this.pending) applyFrame(turn, frame)
    if (turn.chatId) noteWait(turn.chatId, turn.over ? null : waitOf(turn))
    if (this.pending.some((frame) => frame.event === 'approval')) void countApprovals()
    this.pending = []
    batch(() => {
      if (isFirst) this.opened(turn)
      if (turn.over) this.ended(turn)
      this.tick.value++
    })
  }

  private opened(turn: Turn): void {
    const known = this.messages.value.some((message) => message.id === turn.userMessageId)
    this.messages.value = this.messages.value.flatMap((message) => (!isLocal(message) ? [message] : known ? [] : [{ ...message, id: turn.userMessageId }]))
    if (this.title.value === '') this.title.value = turn.title
    const isNew = this.id.value === null
    this.id.value = turn.chatId
    noteChat({ id: turn.chatId, title: this.title.value, running: turn.streamId, agentId: this.agentId.value ?? '' })
    tellTabs({ chatId: turn.chatId, streamId: turn.streamId })
    if (isNew) this.outbox.name(turn.chatId)
    if (isNew) this.onOpened?.(turn.chatId)
  }

  private ended(turn: Turn): void {
    this.turn.value = null
    this.stopping.value = false
    this.messages.value = [...this.messages.value.filter((message) => message.id !== turn.message.id), turn.message]
    const made = turn.message.content.flatMap((block) => (block.type === 'assets' ? block.files : []))
    if (made.length) this.files.value = [...this.files.value.filter((file) => !made.some((other) => other.id === file.id)), ...made]
    noteChat({ id: turn.chatId, title: this.title.value, running: null, agentId: this.agentId.value ?? '' })
    tellTabs({ chatId: turn.chatId, streamId: null })
    if (turn.message.status === 'failed') this.outbox.hold('The answer before it failed.')
    if (turn.message.status !== 'completed') void this.load()
    else void this.sendNext()
  }

  // The stream cannot be had any more: whatever became of the turn is in the chat.
  private broke(error: unknown): void {
    const messageId = this.turn.value?.message.id
    this.turn.value = null
    void this.load().then(() => {
      if (!this.messages.value.some((message) => message.id === messageId)) this.notice.value = wordsOf(error)
    })
  }

  // Another tab, or the list of chats, says that something happened here.
  heard(): void {
    if (this.id.value && !this.turn.value && !this.loading.value) void this.load()
  }

  async stop(): Promise<void> {
    this.stopping.value = true
    try {
      await api.post(`/api/assistant/chats/${this.id.value}/stop`)
    } catch (error) {
      this.stopping.value = false
      if (error instanceof Problem && error.status === 409) return // it had ended by itself
      throw error
    }
  }

  async rename(title: string): Promise<void> {
    await api.patch(`/api/assistant/chats/${this.id.value}`, { title })
    this.title.value = title
    noteChat({ id: this.id.value!, title })
  }
}
