// The Assistant's wire: what its frames and its answers carry. Times are milliseconds since 1970.
import type { RequestedItem } from './schema.js'

export interface AssistantTurn {
  message: string
  /** Absent: the turn begins a chat. */
  chatId?: string
  workspaceId?: string
  agentId?: string
  attachmentIds?: string[]
  sandboxUrl?: string
  /** What becomes of the turn when nobody listens any more; `cancel` unless said. */
  onDisconnect?: 'cancel' | 'keep'
  /** `hold` unless said. */
  onCapacity?: 'reject' | 'hold'
}

export interface AssistantFile {
  id: string
  object: 'file'
  chatId: string | null
  name: string
  type: string
  size: number
  sha256: string
  source: 'upload' | 'sandbox'
  createdAt: number
  url: string
}

export interface AssistantStep {
  id: string
  name: string
  status: 'running' | 'succeeded' | 'failed'
  args?: unknown
  result?: unknown
  error?: string
  durationMs?: number
  /** The id of the agent that did it, where the agent set another to work. */
  subagent?: string
}

export interface AssistantApproval {
  approvalId: string
  status: 'pending' | 'approved' | 'denied' | 'expired'
  reason: string
  items: RequestedItem[]
  expiresAt: number
}

export interface AssistantSubagent {
  id: string
  name: string
  status: string
  text?: string
  error?: string
}

/** What each type of frame carries. */
export interface AssistantData {
  chat: { chatId: string; streamId: string; userMessageId: string; messageId: string; title: string; createdAt: number }
  queued: { position: number; retryHintSeconds?: number }
  delta: { text: string }
  /** The text so far is taken back but for its first bytes, of UTF-8. */
  replace: { keptBytes: number }
  reasoning: { text: string }
  /** Bridges dead air; gone when the next delta or step comes. */
  filler: { text: string }
  /** The same id updates the same row. */
  step: AssistantStep & { ts: number }
  output: { id: string; stream: 'stdout' | 'stderr'; text: string }
  file: { type: 'create' | 'change' | 'delete'; path: string; ts: number }
  diff: { diff: string }
  approval: AssistantApproval
  custom: { name: string; value: unknown }
  subagent: AssistantSubagent
  result: { messageId: string; message: AssistantMessage; usage: AssistantUsage }
  error: { code: string; message: string; status: number; messageId: string }
  done: Record<string, never>
}

export type AssistantEventType = keyof AssistantData

export type AssistantEvent = { [Type in AssistantEventType]: { id: number; type: Type; data: AssistantData[Type] } }[AssistantEventType]

export interface AssistantUsage {
  inputTokens: number
  outputTokens: number
}

export type AssistantBlock =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | ({ type: 'step'; output?: string } & AssistantStep)
  | { type: 'files'; files: { type: string; path: string }[] }
  | { type: 'diff'; diff: string }
  | { type: 'run_diff'; diff: string }
  | ({ type: 'approval' } & AssistantApproval)
  | { type: 'tool_output'; name: string; value: unknown }
  | ({ type: 'subagent' } & AssistantSubagent)
  | { type: 'assets'; files: AssistantFile[] }

export interface AssistantMessage {
  id: string
  role: 'user' | 'assistant'
  content: AssistantBlock[]
  fileAttachments: AssistantFile[]
  createdAt: number
  status: 'completed' | 'failed' | 'cancelled'
  error?: { code: string; message: string }
  usage?: AssistantUsage
}

export interface AssistantChat {
  id: string
  object: 'chat'
  title: string
  agentId: string
  createdAt: number
  updatedAt: number
  /** The stream of the turn in flight. */
  running: string | null
}

export interface AssistantChatWithMessages extends Omit<AssistantChat, 'running'> {
  /** Oldest first. The answer of a turn in flight is not among them: attach to its stream. */
  messages: AssistantMessage[]
  hasMore: boolean
  files: AssistantFile[]
  running: { streamId: string; messageId: string; lastEventId: number } | null
}
