// What the Assistant says, as it travels.
export interface BagFile {
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

export type StepStatus = 'running' | 'succeeded' | 'failed'
export type FileChange = 'create' | 'change' | 'delete'
export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'expired'

export interface RequestedItem {
  kind: 'action' | 'secret' | 'client_tool'
  description: string
  alias?: string
  hosts?: string[]
  call?: { id: string; name: string; arguments: string }
}

export interface TextBlock { type: 'text'; text: string }
export interface ReasoningBlock { type: 'reasoning'; text: string }
export interface StepBlock {
  type: 'step'
  id: string
  name: string
  status: StepStatus
  subagent?: string // whose it is; absent: the agent's own
  args?: unknown
  result?: unknown
  error?: unknown
  durationMs?: number
  output?: string
}
export interface FilesBlock { type: 'files'; files: { type: FileChange; path: string }[] }
export interface DiffBlock { type: 'diff'; diff: string }
export interface RunDiffBlock { type: 'run_diff'; diff: string } // what this turn alone changed, where the diff is of more
export interface ApprovalBlock { type: 'approval'; approvalId: string; status: ApprovalStatus; reason: string; items: RequestedItem[]; expiresAt: number }
export interface ToolOutputBlock { type: 'tool_output'; name: string; value: unknown }
export interface SubagentBlock { type: 'subagent'; id: string; name: string; status: string; text?: string; error?: string }
export interface AssetsBlock { type: 'assets'; files: BagFile[] }

export type Block =
  | TextBlock | ReasoningBlock | StepBlock | FilesBlock | DiffBlock | RunDiffBlock | ApprovalBlock | ToolOutputBlock | SubagentBlock | AssetsBlock

export interface Message {
  id: string
  role: 'user' | 'assistant'
  content: Block[]
  fileAttachments: BagFile[]
  createdAt: number
  status: 'completed' | 'failed' | 'cancelled'
  error?: { code: string; message: string }
  usage?: { inputTokens: number; outputTokens: number }
}

export interface Chat {
  id: string
  object: 'chat'
  title: string
  agentId: string
  createdAt: number
  updatedAt: number
  running: string | null
}

export interface WholeChat extends Omit<Chat, 'running'> {
  messages: Message[]
  hasMore: boolean
  files: BagFile[]
  running: { streamId: string; messageId: string; lastEventId: number } | null
}

// One event of a stream. The names of the events are the server's; what is not known is passed over.
export interface Frame { id: number; event: string; data: unknown }
