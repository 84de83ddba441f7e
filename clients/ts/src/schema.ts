// Written by scripts/generate.mjs from openapi/openapi.yaml. Do not edit: npm run generate.

/** The last part of a problem's `type`. */
export type KnownSlug =
  | 'malformed-request'
  | 'unauthenticated'
  | 'token-invalid'
  | 'insufficient-scope'
  | 'tenant-suspended'
  | 'approval-signature-invalid'
  | 'csrf'
  | 'not-found'
  | 'method-not-allowed'
  | 'request-timeout'
  | 'conversation-busy'
  | 'conversation-archived'
  | 'name-conflict'
  | 'resource-in-use'
  | 'run-finished'
  | 'approval-expired'
  | 'content-too-large'
  | 'uri-too-long'
  | 'unsupported-media-type'
  | 'expectation-failed'
  | 'validation-error'
  | 'idempotency-key-conflict'
  | 'headers-too-large'
  | 'rate-limited'
  | 'capacity-exhausted'
  | 'internal'
  | 'not-implemented'
  | 'agent-misconfigured'
  | 'model-error'
  | 'model-stream-cut'
  | 'model-timeout'
  | 'answer-too-large'
  | 'run-interrupted'
  | 'approval-denied'
  | 'run-cancelled'
  | 'runtime-exceeded'
  | 'sandbox-failed'
  | 'repository-failed'
  | 'skill-failed'
  | 'setup-failed'
  | 'agent-failed'
  | 'writeback-failed'
  | 'runner-unavailable'
  | 'runner-lost'
  | 'unavailable'
  | 'http-version-not-supported'

/** The events of the contract; a stream may have others, which are skipped. */
export const conversationEventTypes = [
  'queued',
  'message_start',
  'content_delta',
  'approval_required',
  'resumed',
  'message_end',
  'error',
] as const

export type TenantId = string

export type ServiceKeyId = string

export type ApproverKeyId = string

export type AgentId = string

export type ConversationId = string

export type MessageId = string

export type RunId = string

export type WorkspaceId = string

export type RepositoryId = string

export type WorkflowId = string

export type WorkflowRunId = string

export type SkillId = string

export type EnvironmentId = string

export type ExecutionId = string

export type FileId = string

export type ApprovalId = string

export type Timestamp = string

/** Words of the caller's own. At most 50 keys of 1–255 characters, values of at most 500. Replaced as a whole. */
export type Metadata = Record<string, string>

/** Whether short, flagged words bridge the time before the first real token. Message, then conversation, then tenant decide. */
export interface Filler {
  enabled: boolean
}

/**
 * What to do when no place is free: be refused with `capacity-exhausted`, or be accepted and wait in
 * line, told by `queued` events, at most `max_hold_seconds` (getCapacity).
 */
export type OnCapacity = 'reject' | 'hold'

export interface Problem {
  type: string
  title: string
  status: number
  detail?: string
  /** The path that was asked for. Absent when the problem is how a run ended, and when the HTTP request itself could not be read. */
  instance?: string
  request_id?: string
  conflicting_resource_id?: string
  /** The first 100 faults; `detail` says if there are more. Long pointers and messages are cut, and then end with "…". */
  errors?: {
    /** A JSON pointer into the body, or the name of a header or query parameter. */
    pointer: string
    message: string
  }[]
}

export interface ListEnvelope {
  object: 'list'
  data: unknown[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

/** Milliseconds since 1970. */
export type EpochMs = number

export interface ChatTurn {
  message: string
  /** The chat that it goes on. Absent: one is made. */
  chatId?: ConversationId
  /** That of your key. */
  workspaceId?: WorkspaceId
  /** Of a chat that is made; absent, the default agent's. */
  agentId?: AgentId
  /** Files of this chat, or of none yet; those join it. */
  attachmentIds?: FileId[]
  /** The runner that shall carry the turn: one that `runner.sandbox_urls` allows. */
  sandboxUrl?: string
  /** What becomes of the turn when nobody reads it any more. */
  onDisconnect?: 'cancel' | 'keep'
  /** What to do when all places are taken. */
  onCapacity?: 'hold' | 'reject'
}

export interface Chat {
  id: ConversationId
  object: 'chat'
  title: string
  agentId: AgentId
  createdAt: EpochMs
  /** When its last message came. */
  updatedAt: EpochMs
  /** The stream of the turn that is under way. */
  running: string | null
}

export interface ChatList {
  object: 'list'
  data: Chat[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface ChatWithMessages {
  id: ConversationId
  object: 'chat'
  title: string
  agentId: AgentId
  createdAt: EpochMs
  updatedAt: EpochMs
  messages: ChatMessage[]
  /** There are turns before these. */
  hasMore: boolean
  files: ChatFile[]
  running: {
    streamId: RunId
    messageId: MessageId
    /** The last frame when this was read. */
    lastEventId: number
  } | null
}

export interface ChatMessage {
  id: MessageId
  role: 'user' | 'assistant'
  /** In the order in which they appeared; [sendChatTurn](#sendChatTurn) says what each type has. */
  content: ({
    type: 'text' | 'reasoning' | 'step' | 'files' | 'diff' | 'run_diff' | 'approval' | 'tool_output' | 'subagent' | 'assets'
  })[]
  fileAttachments: ChatFile[]
  createdAt: EpochMs
  status: 'completed' | 'failed' | 'cancelled'
  error?: {
    /** The last part of a problem's type. */
    code: string
    message: string
  }
  usage?: {
    inputTokens: number
    outputTokens: number
  }
}

export interface ChatFile {
  id: FileId
  object: 'file'
  /** The chat whose it is; null: it was not attached yet. */
  chatId: string | null
  name: string
  /** Its media type. */
  type: string
  size: number
  sha256: string
  source: 'upload' | 'sandbox'
  createdAt: EpochMs
  /** Where its bytes are. */
  url: string
}

export interface ConversationList {
  object: 'list'
  data: Conversation[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface MessageList {
  object: 'list'
  data: Message[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface RunList {
  object: 'list'
  data: Run[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface AgentList {
  object: 'list'
  data: Agent[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface RepositoryList {
  object: 'list'
  data: Repository[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface WorkflowList {
  object: 'list'
  data: Workflow[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface WorkflowRunList {
  object: 'list'
  data: WorkflowRun[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface SkillList {
  object: 'list'
  data: Skill[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface EnvironmentList {
  object: 'list'
  data: Environment[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface ChatFileList {
  object: 'list'
  data: ChatFile[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface BagFileList {
  object: 'list'
  data: BagFile[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface FileList {
  object: 'list'
  data: File[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface TenantList {
  object: 'list'
  data: Tenant[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface ServiceKeyList {
  object: 'list'
  data: ServiceKey[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface ApprovalList {
  object: 'list'
  data: Approval[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface SecretList {
  object: 'list'
  data: Secret[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface EgressList {
  object: 'list'
  data: EgressEntry[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface AuditList {
  object: 'list'
  data: AuditEntry[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface ApproverKeyList {
  object: 'list'
  data: ApproverKey[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface Conversation {
  object: 'conversation'
  id: ConversationId
  tenant_id: TenantId
  agent_id: AgentId
  user_id: string | null
  title: string | null
  metadata: Metadata
  filler: Filler | null
  repository_id: string | null
  runtime: Runtime
  status: 'active' | 'archived'
  last_message_at: Timestamp
  created_at: Timestamp
  updated_at: Timestamp
}

/** Where the conversation's runs are carried out, and what there is of its sandbox right now. */
export interface Runtime {
  /** An open set; see AgentType. Fixed when the conversation is made. */
  agent_type: string
  mode: PlacementMode
  /** Null when pooled. */
  sticky_ttl_seconds: number | null
  sandbox_state: 'none' | 'warm' | 'running' | 'parked'
  /** When the sandbox that is kept is given up. */
  expires_at: Timestamp | null
}

/** What is left out stays as it is; at creation, it is the default. */
export interface RuntimeInput {
  /** At creation; absent, the agent's. It cannot be changed: a session belongs to its program. */
  agent_type?: AgentType | null
  mode?: PlacementMode | null
  /** Not above the tenant's `max_sticky_ttl_seconds`. */
  sticky_ttl_seconds?: number | null
}

/**
 * `pooled`: a sandbox for each run. `sticky`: the sandbox, its files and its processes stay between messages
 * until `sticky_ttl_seconds` after the last one. The events are the same.
 */
export type PlacementMode = 'pooled' | 'sticky'

export interface CreateConversation {
  user_id?: string | null
  title?: string | null
  metadata?: Metadata | null
  /** Absent, the tenant's default agent. */
  agent_id?: AgentId | null
  repository_id?: string | null
  filler?: Filler | null
  runtime?: RuntimeInput | null
  initial_message?: MessageInput | null
  on_capacity?: OnCapacity
}

export interface UpdateConversation {
  user_id?: string | null
  title?: string | null
  metadata?: Metadata | null
  agent_id?: AgentId
  repository_id?: string | null
  filler?: Filler | null
  runtime?: RuntimeInput | null
  status?: 'active' | 'archived'
}

export interface MessageInput {
  /** At least one character, at most 1 MiB as UTF-8, no NUL. */
  content: string
  /** A repository of the tenant; absent, the conversation's. */
  repository_id?: string | null
  /** Skills of the tenant. */
  skill_ids?: string[] | null
  /** Variables, or an environment by its id or name. Not for secrets; it is shown again with the message. */
  env?: Variables | string | null
  filler?: Filler | null
  /**
   * Another session of the agent program to go on with than the conversation's last: its id, or the value of the
   * `session-id` event as it came.
   */
  session_id?: SessionId | {
    sessionId: string
  }
}

export interface CreateMessage {
  /** At least one character, at most 1 MiB as UTF-8, no NUL. */
  content: string
  /** A repository of the tenant; absent, the conversation's. */
  repository_id?: string | null
  /** Skills of the tenant. */
  skill_ids?: string[] | null
  /** Variables, or an environment by its id or name. Not for secrets; it is shown again with the message. */
  env?: Variables | string | null
  filler?: Filler | null
  /**
   * Another session of the agent program to go on with than the conversation's last: its id, or the value of the
   * `session-id` event as it came.
   */
  session_id?: SessionId | {
    sessionId: string
  }
  on_capacity?: OnCapacity
  /** As putConversationSecrets takes them; put before the message is accepted, never shown with it. */
  secrets?: SecretValues | null
}

export interface Message {
  object: 'message'
  id: MessageId
  conversation_id: ConversationId
  role: 'user' | 'assistant' | 'system'
  content: string
  parts: {
    /** An open set; `text` has `text`. Ignore what you do not know. */
    type: string
    text?: string
  }[]
  repository_id: string | null
  skill_ids: string[] | null
  /** Variables, or the name of an environment. */
  env: Record<string, string> | string | null
  status: 'in_progress' | 'awaiting_approval' | 'completed' | 'failed'
  usage: null | {
    input_tokens: number
    output_tokens: number
  }
  created_at: Timestamp
}

/** The work of answering one message. */
export interface Run {
  object: 'run'
  id: RunId
  tenant_id: TenantId
  conversation_id: ConversationId
  user_message_id: MessageId
  /** The assistant message it produces. */
  message_id: MessageId
  agent_id: AgentId
  state: 'accepted' | 'held' | 'starting' | 'streaming' | 'parked' | 'finishing' | 'completed' | 'failed' | 'cancelled'
  created_at: Timestamp
  ended_at: Timestamp | null
}

export interface ModelChoice {
  /** `offline`, `anthropic`, `openai-responses`, `openai-chat`, or a provider the server is configured with. Any other is refused. */
  provider: string
  /** The provider's name for the model. */
  name: string
  /** An absolute http or https URL to use instead of the provider's own: a host, perhaps a port and a path; no user, query or fragment. */
  base_url?: string | null
  /** A secret of the agent's or the tenant's to call the model with; absent, the server's own key. */
  key_alias?: Alias | null
}

export interface AgentLimits {
  max_output_tokens?: number
  max_runtime_seconds?: number
  max_history_messages?: number
}

export interface Agent {
  object: 'agent'
  id: AgentId
  tenant_id: TenantId
  name: string
  system_prompt: string
  model: ModelChoice
  limits: AgentLimits
  /** Always at hand; a message's come on top. */
  skill_ids: SkillId[]
  /** For messages that name none. */
  environment_id: EnvironmentId | null
  policy: Policy
  agent_type: AgentType
  /** Of the type `acp`: the program and its arguments. */
  command: string[]
  mcp_servers: McpServer[]
  tools: WebhookTool[]
  /** The tool `run_script` is offered. */
  code_mode: boolean
  workspace: WorkspaceUse
  is_default: boolean
  created_at: Timestamp
  updated_at: Timestamp
}

/**
 * What the sandboxes of its runs may do with the API of the workspace, at `http://workspace.sluice`: nothing, read, or read
 * and write. A run that is given one of the server's own skills (a turn of the Assistant, a block that names them)
 * may write in any case. A rule of the policy that denies the host `workspace.sluice`, by this very name, closes it.
 */
export type WorkspaceUse = 'none' | 'read' | 'write'

/**
 * What the agent may do by itself. The strictest rule that matches decides: deny over ask over allow. Where
 * none matches, tools, commands and files are allowed, and hosts are denied.
 */
export type Policy = PolicyRule[]

export type PolicyRule = unknown

/** AG-UI's own; members that are not here are ignored. */
export interface RunAgentInput {
  threadId: string
  runId: string
  parentRunId?: string | null
  /** Any `1.x`. */
  protocolVersion?: string | null
  messages: Record<string, unknown>[]
  /** Carried out by the client. */
  tools?: Record<string, unknown>[] | null
  context?: Record<string, unknown>[] | null
  state?: unknown
  /** An object may have `sessionId` (of an agent program) and `onCapacity` (`hold` or `reject`). */
  forwardedProps?: unknown
  /** Answers to interrupts. */
  resume?: Record<string, unknown>[] | null
}

/** An event as [AG-UI](https://docs.ag-ui.com) has it. Never with a member that is null. */
export interface AguiEvent {
  type: string
  timestamp: number
}

/** An event; for TanStack AI's client, an event with the id of its frame. */
export type AguiLine = AguiEvent | {
  id?: string
  chunk: AguiEvent
}

export interface AguiThread {
  /** AG-UI's messages; TanStack AI's UI messages, with `parts`, where `protocolVersion` is absent. */
  messages: Record<string, unknown>[]
  activeRun: {
    runId?: string
  } | null
  interrupts: {
    runId?: string
    pending?: Record<string, unknown>[]
  } | null
  page: {
    truncated: boolean
    cursor?: string
  }
}

/**
 * Which program is the agent: the loop of the server itself, a coding agent that runs in the sandbox, or any
 * program that speaks the Agent Client Protocol (`acp`). Such a program decides itself what it asks about: rules of
 * the agent's policy about tools, commands and files hold for what it asks, rules about hosts for all that it does.
 */
export type AgentType = 'native' | 'claude-code' | 'codex' | 'opencode' | 'grok-build' | 'acp'

/**
 * A server of the Model Context Protocol: at a URL, called by the server where the agent's policy allows the host
 * and its operator the URL (`tools.urls`); or a command that is started in the sandbox. Its tools are named
 * NAME__TOOL.
 */
export interface McpServer {
  name: string
  url?: string | null
  /** May hold `{{secret:ALIAS}}`. */
  headers?: Record<string, string> | null
  /** Of a server with a `url`. */
  oauth?: McpOAuth | null
  command?: string[] | null
  environment?: Variables | null
}

/**
 * The server takes an OAuth token, which is got by client credentials, without a person. Each URL on the way to it must
 * be one that the operator allows (`tools.urls`) and whose host the agent's policy allows; the secret goes only to hosts
 * where its alias may go. The token is kept in memory for the run, and scrubbed like a secret.
 */
export interface McpOAuth {
  client_id: string
  /** The alias of a secret, `{{secret:ALIAS}}`; never its value. */
  client_secret: string
  /** Where tokens are issued. Absent, the metadata of the server (RFC 9728) and of its authorization server (RFC 8414) name it. */
  token_url?: string | null
  /** Scopes parted by spaces. Absent, those that the server's refusal names. */
  scope?: string | null
  /** The resource indicator (RFC 8707). Absent, the one that the metadata of the server name, or its `url`. */
  resource?: string | null
}

/**
 * A tool that the tenant's own server carries out. The call is a POST of
 * `{"object":"tool_call","id","run_id","conversation_id","agent_id","name","arguments"}` with the header
 * `Sluice-Signature`, signed as [webhooks are](#getWebhookSecret). Answer `{"result":…}` or `{"error":"…"}`. A call
 * is made once, never again.
 */
export interface WebhookTool {
  name: string
  description?: string | null
  /** JSON schema of the arguments. */
  parameters?: Record<string, unknown> | null
  /** One that the operator allows (`tools.urls`). */
  url: string
  timeout_seconds?: number | null
}

/** Of the agent program's session, as its `session-id` event told it. */
export type SessionId = string | null

export interface CreateAgent {
  name: string
  /** At most 1 MiB as UTF-8. */
  system_prompt?: string | null
  /** Absent, the one the server is configured with. */
  model?: ModelChoice | null
  limits?: AgentLimits | null
  skill_ids?: SkillId[] | null
  environment_id?: EnvironmentId | null
  policy?: Policy | null
  /** Of conversations that name none. */
  agent_type?: AgentType | null
  /** Of the type `acp`, which needs it. */
  command?: string[] | null
  mcp_servers?: McpServer[] | null
  tools?: WebhookTool[] | null
  code_mode?: boolean | null
  workspace?: WorkspaceUse | null
  /** `true`: the former default steps down. */
  is_default?: boolean
}

export interface UpdateAgent {
  name?: string
  system_prompt?: string | null
  model?: ModelChoice
  /** Replaced as a whole; members left out take their defaults. */
  limits?: AgentLimits | null
  skill_ids?: SkillId[] | null
  environment_id?: EnvironmentId | null
  policy?: Policy | null
  /** Of conversations that name none. */
  agent_type?: AgentType | null
  /** Of the type `acp`, which needs it. */
  command?: string[] | null
  mcp_servers?: McpServer[] | null
  tools?: WebhookTool[] | null
  code_mode?: boolean | null
  workspace?: WorkspaceUse | null
  /** Only `true`; make another agent the default instead of unsetting this one. */
  is_default?: true
}

/** At most 100 entries, values of at most 32 KiB. Names that begin with LD_ or SLUICE_ are not free. */
export type Variables = Record<string, string>

/** A small graph of blocks. */
export interface Workflow {
  object: 'workflow'
  id: WorkflowId
  name: string
  description: string
  definition: WorkflowDefinition
  created_at: Timestamp
  updated_at: Timestamp
}

export interface CreateWorkflow {
  name: string
  description?: string | null
  definition: WorkflowDefinition
}

export interface UpdateWorkflow {
  name?: string
  description?: string | null
  definition?: WorkflowDefinition
}

/**
 * At most 256 KiB. Texts called templates may have places in them: `{{inputs.NAME}}`, `{{blocks.ID.response}}`,
 * `{{blocks.ID.files}}`, `{{blocks.ID.status}}` and `{{blocks.ID.json.PATH}}`, of blocks from which edges lead here.
 */
export interface WorkflowDefinition {
  inputs?: WorkflowInput[] | null
  /**
   * Variables of agents blocks. `SANDBOX_URL` names the runner for blocks that name none. Sandboxes are shown `***` in
   * place of each value; a variable that a sandbox sends as `***`, or leaves out of a change, keeps its value.
   */
  environment?: Record<string, string> | null
  blocks: WorkflowBlock[]
  edges?: WorkflowEdge[] | null
  /** Templates. */
  outputs?: Record<string, string> | null
}

export interface WorkflowInput {
  name: string
  type: 'text' | 'number' | 'boolean' | 'json'
  required?: boolean | null
  /** Of the input's type. */
  default?: unknown
}

export interface WorkflowEdge {
  from: string
  to: string
  /** Needed from a condition, and only there. */
  when?: boolean | null
}

/**
 * Besides `id` and `type`, an `agents` block has `agent`, `prompt`, `sandbox_url`, `skills`; an `inference` block
 * `prompt`, `system`, `model`, `max_output_tokens`; an `http` block `method`, `url`, `headers`, `body`,
 * `timeout_seconds`, `idempotent`; a `condition` `left`, `op`, `right`.
 */
export interface WorkflowBlock {
  id: string
  type: 'agents' | 'inference' | 'http' | 'condition'
  /** agents: its id or its name. */
  agent?: string
  /** agents, inference: a template. */
  prompt?: string
  /** agents: the runner; before the workflow's, before the server's. */
  sandbox_url?: string | null
  skills?: ('tables' | 'files' | 'workflow_editor')[] | null
  /** inference: provider, name, base_url, key_alias; none: the default agent's. */
  model?: Record<string, unknown> | null
  /** inference: a template. */
  system?: string | null
  max_output_tokens?: number | null
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** http: a template; values in it are percent-encoded. */
  url?: string
  /** http: templates. */
  headers?: Record<string, string> | null
  /** http: a template, or JSON whose strings are templates. */
  body?: string | Record<string, unknown> | unknown[] | null
  timeout_seconds?: number | null
  /** http: it may be made again after a restart. */
  idempotent?: boolean | null
  /** condition: a template. */
  left?: string
  op?: 'eq' | 'ne' | 'contains' | 'starts_with' | 'lt' | 'gt' | 'is_empty'
  /** condition: a template. */
  right?: string | null
}

export interface WorkflowError {
  /** The slug of a problem, or `template-failed`, `condition-failed`, `agent-not-found`, `sandbox-not-allowed`, `sandbox-missing`, `http-not-allowed`, `http-failed`, `http-status` or `outcome-unknown`. */
  code: string
  message: string
}

export interface WorkflowRun {
  object: 'workflow_run'
  id: WorkflowRunId
  workflow_id: WorkflowId
  status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  inputs: Record<string, unknown>
  outputs: Record<string, string>
  error: WorkflowError | null
  blocks: ({
    id: string
    status: 'pending' | 'running' | 'succeeded' | 'failed' | 'skipped'
    run_id?: RunId
  })[]
  created_at: Timestamp
  ended_at: Timestamp | null
}

export interface StartWorkflowRun {
  /** As the definition's inputs say; at most 256 KiB. */
  inputs?: Record<string, unknown> | null
}

/**
 * `run.started` is the first, `run.finished` the last. Between `block.started` and `block.finished` of an agents or
 * inference block come the lines of its run, each as it is in the `line` of a `block.line`.
 */
export interface WorkflowLine {
  /** From 0, without gaps, for each profile. */
  seq: number
  type: 'run.started' | 'block.started' | 'block.line' | 'block.finished' | 'run.finished'
  run?: WorkflowRun
  block?: string
  kind?: 'agents' | 'inference' | 'http' | 'condition'
  run_id?: RunId
  line?: Record<string, unknown>
  status?: 'succeeded' | 'failed' | 'skipped' | 'cancelled'
  /** Of a block: response, files, json, status; of a run: its outputs. */
  outputs?: Record<string, unknown>
  error?: WorkflowError
  ts?: Timestamp
}

/** A git repository that runs can work in. */
export interface Repository {
  object: 'repository'
  id: RepositoryId
  tenant_id: TenantId
  name: string
  url: string
  /** Branch, tag or commit; null: the remote's default. */
  ref: string | null
  /** 0: the whole history. */
  depth: number
  /** The alias of a credential, never the credential. */
  credential: string | null
  created_at: Timestamp
  updated_at: Timestamp
}

export interface CreateRepository {
  name: string
  /** https, http, ssh or git, without credentials. */
  url: string
  ref?: string | null
  depth?: number | null
  credential?: string | null
}

export interface UpdateRepository {
  name?: string
  url?: string
  ref?: string | null
  depth?: number
  credential?: string | null
}

/** A bundle of files with a SKILL.md. */
export interface Skill {
  object: 'skill'
  id: SkillId
  tenant_id: TenantId
  name: string
  description: string
  /** Of the bundle: its version. */
  sha256: Sha256
  size: number
  file_count: number
  created_at: Timestamp
  updated_at: Timestamp
}

export type Sha256 = string

export interface SkillFiles {
  files: {
    /** Relative, without "..". */
    path: string
    content?: string
    /** Instead of content. */
    content_base64?: string
    executable?: boolean
  }[]
}

export type ModelEndpointId = string

/** A place where models are, under a name that agents can use. */
export interface ModelEndpoint {
  object: 'model_endpoint'
  id: ModelEndpointId
  tenant_id: TenantId
  name: string
  provider: string
  base_url: string | null
  /** The alias of a secret. Never the key. */
  key_alias: string | null
  /** Those that may be chosen; empty: any. */
  models: string[]
  created_at: Timestamp
  updated_at: Timestamp
}

export interface CreateModelEndpoint {
  name: string
  provider: string
  base_url?: string | null
  key_alias?: string | null
  models?: string[]
}

export interface UpdateModelEndpoint {
  name?: string
  provider?: string
  base_url?: string | null
  key_alias?: string | null
  models?: string[]
}

export interface ModelEndpointList {
  object: 'list'
  data: ModelEndpoint[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export type TableId = string

export type TableRowId = string

export interface TableColumn {
  name: string
  type: 'text' | 'number' | 'boolean' | 'timestamp' | 'json'
  required?: boolean
}

/** Rows with typed columns, kept in the workspace. */
export interface Table {
  object: 'table'
  id: TableId
  tenant_id: TenantId
  name: string
  columns: TableColumn[]
  row_count: number
  size_bytes: number
  created_at: Timestamp
  updated_at: Timestamp
}

export interface TableList {
  object: 'list'
  data: Table[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface CreateTable {
  name: string
  columns: TableColumn[]
}

export interface UpdateTable {
  name?: string
  add_columns?: TableColumn[]
}

/** A value for each column; null empties one. Times are RFC 3339 in UTC. */
export type TableCells = Record<string, unknown>

export interface TableRow {
  object: 'table_row'
  id: TableRowId
  values: TableCells
  created_at: Timestamp
  updated_at: Timestamp
}

export interface TableRowList {
  object: 'list'
  data: TableRow[]
  /** There are further rows in the direction asked for. */
  has_more: boolean
  /** When `has_more`: where to go on. Do not take it apart. */
  next_cursor: string | null
}

export interface InsertRows {
  rows: TableCells[]
}

export interface InsertedRows {
  rows: TableRow[]
}

/** A condition on one column, or `and`, `or`, `not` of others; at most 6 deep and 64 conditions. */
export interface TableFilter {
  column?: string
  op?: 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'contains' | 'starts_with' | 'in' | 'is_null'
  /** Of the column's type; a list for `in`. */
  value?: unknown
  and?: TableFilter[]
  or?: TableFilter[]
  not?: TableFilter
}

export interface TableQuery {
  filter?: TableFilter
  order?: ({
    column: string
    direction?: 'asc' | 'desc'
  })[]
  /** Those to be shown. All, where none is named. */
  columns?: string[]
  limit?: number
  offset?: number
}

export interface FoundRows {
  object: 'list'
  data: TableRow[]
  total: number
  has_more: boolean
}

/** Variables, and a script that runs before the first model call. */
export interface Environment {
  object: 'environment'
  id: EnvironmentId
  tenant_id: TenantId
  name: string
  variables: Variables
  script: string | null
  created_at: Timestamp
  updated_at: Timestamp
}

export interface CreateEnvironment {
  name: string
  /** Not for secrets; they are shown again. */
  variables?: Variables | null
  script?: string | null
}

export interface UpdateEnvironment {
  name?: string
  /** Replaced as a whole. */
  variables?: Variables | null
  script?: string | null
}

/** A file that a run or an execution handed back. */
export interface File {
  object: 'file'
  id: FileId
  run_id: RunId | null
  execution_id: ExecutionId | null
  name: string
  size: number
  sha256: Sha256
  created_at: Timestamp
}

/** A file that somebody uploaded, or that a chat's run handed back. */
export interface BagFile {
  object: 'file'
  id: FileId
  chat_id: ConversationId | null
  name: string
  /** The media type that its extension stands for. */
  type: string
  size_bytes: number
  sha256: Sha256
  source: 'upload' | 'sandbox'
  created_at: Timestamp
}

export interface UploadedFiles {
  files: {
    id: FileId
    name: string
    size: number
    sha256: Sha256
  }[]
}

export interface CreateExecution {
  /** Absent, the default agent. */
  agent_id?: AgentId | null
  prompt?: string | null
  repository_id?: string | null
  skill_ids?: string[] | null
  env?: Variables | string | null
  /** Whether files may be handed back. */
  upload?: boolean | null
}

/** What a runner is posted. The tokens are told here and nowhere else. */
export interface Execution {
  object: 'execution'
  id: ExecutionId
  agent_url: string
  otp_setup: string
  otp_run: string
  otp_upload?: string
  prompt?: string
  expires_at: Timestamp
}

export interface ExecutionEnv {
  variables: Record<string, string>
  script: string | null
}

/** Unknown members are to be ignored. */
export interface ExecutionConfig {
  agent: {
    name: string
    system_prompt: string
    agent_type: AgentType
    model: ModelChoice
    max_rounds?: number
  }
  skills: {
    id: string
    name: string
    bundle_version: string
    sha256: string
  }[]
  conversation?: {
    role: string
    content: string
  }[]
  callback: {
    base_url: string
    token: string
    expires_at: Timestamp
    workspace?: WorkspaceUse
  }
  limits: {
    max_runtime_seconds: number
  }
  /** The agent's servers of the Model Context Protocol that have a URL. */
  mcp_servers: {
    name: string
    url: string
    headers?: Record<string, string>
  }[]
  /** Everything the agent is made of besides its model, where that is not a plain native agent. */
  kit?: {
    agent_type: AgentType
    command: string[]
    mcp_servers: McpServer[]
    tools: WebhookTool[]
    code_mode: boolean
    workspace?: WorkspaceUse
  }
  /** What another runner told before it was lost. The agent goes on after it. */
  told?: {
    text: string
    reasoning: string
  }
}

export interface Tenant {
  object: 'tenant'
  id: TenantId
  name: string
  status: 'active' | 'suspended'
  settings: {
    filler_enabled: boolean
    /** Of its share of the places when others wait too. */
    weight: number
    /** 0: as many as there are places. */
    max_running: number
    /** 0: as many as the line takes. */
    max_held: number
    max_concurrent_sticky: number
    max_sticky_ttl_seconds: number
    /** Decisions must sign digests of what they decide. The tenant of the first start does not require it. */
    require_bound_decisions: boolean
    /** What an AG-UI client answers to an interrupt counts without a signature. */
    agui_unsigned_approvals: boolean
    /** Told when approvals are raised and resolved. One that the server is configured to call. */
    webhook_url: string | null
  }
  metadata: Metadata
  created_at: Timestamp
  updated_at: Timestamp
}

/** What is left out stays as it is. */
export interface TenantSettings {
  filler_enabled?: boolean
  /** Of its share of the places when others wait too. */
  weight?: number
  /** 0: as many as there are places. */
  max_running?: number
  /** 0: as many as the line takes. */
  max_held?: number
  max_concurrent_sticky?: number
  max_sticky_ttl_seconds?: number
  /** Decisions must sign digests of what they decide. The tenant of the first start does not require it. */
  require_bound_decisions?: boolean
  /** What an AG-UI client answers to an interrupt counts without a signature. */
  agui_unsigned_approvals?: boolean
  /** Told when approvals are raised and resolved. One that the server is configured to call. */
  webhook_url?: string | null
}

export interface WebhookSecret {
  object: 'webhook_secret'
  tenant_id: TenantId
  secret: string
}

export interface CreateTenant {
  name: string
  metadata?: Metadata | null
  settings?: TenantSettings | null
}

export interface UpdateTenant {
  name?: string
  status?: 'active' | 'suspended'
  metadata?: Metadata | null
  settings?: TenantSettings | null
}

export interface ServiceKey {
  object: 'service_key'
  id: ServiceKeyId
  tenant_id: TenantId
  name: string
  /** The last four characters of the secret. */
  hint: string
  created_at: Timestamp
  revoked_at: Timestamp | null
}

export interface ServiceKeyWithSecret {
  object: 'service_key'
  id: ServiceKeyId
  tenant_id: TenantId
  name: string
  /** The last four characters of the secret. */
  hint: string
  created_at: Timestamp
  revoked_at: Timestamp | null
  secret: string
}

export interface CreateServiceKey {
  name?: string | null
}

export interface ApproverKey {
  object: 'approver_key'
  id: ApproverKeyId
  key_id: ApproverKeyId
  tenant_id: TenantId
  name: string
  algorithm: SignatureAlgorithm
  created_at: Timestamp
  revoked_at: Timestamp | null
}

export interface ApproverKeyWithSecret {
  object: 'approver_key'
  id: ApproverKeyId
  key_id: ApproverKeyId
  tenant_id: TenantId
  name: string
  algorithm: SignatureAlgorithm
  created_at: Timestamp
  revoked_at: Timestamp | null
  /** Only for `hmac-sha256`; the bytes of this text are the key. */
  secret?: string
}

export interface CreateApproverKey {
  name?: string | null
  algorithm: SignatureAlgorithm
  /** For `ed25519`, and only then: the 32 raw bytes in base64url without padding. */
  public_key?: string | null
}

export type SignatureAlgorithm = 'hmac-sha256' | 'ed25519'

export interface IntegrationPrincipal {
  object: 'integration_principal'
  key_id: ServiceKeyId
  name: string
  tenant: Tenant
  scopes: string[]
  /** Those that are not revoked. */
  approver_keys: {
    key_id: ApproverKeyId
    algorithm: SignatureAlgorithm
    created_at: Timestamp
  }[]
}

export interface Approval {
  object: 'approval'
  id: ApprovalId
  tenant_id: TenantId
  conversation_id: ConversationId
  message_id: MessageId
  status: ApprovalStatus
  reason: string
  requested_items: RequestedItem[]
  expires_at: Timestamp
  /** `approver_key:apk_…`, `agui_client`, `expiry` or `cancel`. */
  resolved_by: string | null
  /** Of whoever decided. */
  note?: string
  resolved_at: Timestamp | null
  created_at: Timestamp
  updated_at: Timestamp
}

export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'expired'

export interface RequestedItem {
  /** `client_tool`: what is waited for is the result of a call that an AG-UI client carries out; it cannot be approved here. */
  kind: 'action' | 'secret' | 'client_tool'
  description: string
  /** Of a secret. */
  alias?: Alias
  /** Where the secret would go. */
  hosts?: string[]
  /** Where in a request the secret may stand if it is supplied without `places`: in its headers, and where the waiting request has it. */
  places?: SecretPlace[]
  /** The tool call that is asked about, or that the client carries out. */
  call?: {
    id: string
    name: string
    /** JSON. */
    arguments: string
  }
}

export interface DecisionSignature {
  /** Of an approver key of the tenant. */
  key_id: string
  /** That key's. */
  algorithm: string
  /** Seconds since 1970. */
  exp: number
  /** base64url without padding. */
  value: string
  /** base64url of the SHA-256 of `requested_items` as canonical JSON; binds the decision to what was asked. */
  items_digest?: string | null
  /** The same of the secrets supplied, `{ALIAS:value}` sorted by alias, `{}` for none; nobody on the way can swap them. */
  secrets_digest?: string | null
}

export interface Approve {
  signature: DecisionSignature
  secrets?: SecretValues | null
  note?: string | null
}

export interface Deny {
  signature: DecisionSignature
  note?: string | null
}

export type Alias = string

/**
 * At most 50, each a value or an object with bindings. A value is UTF-8 of 8 bytes to 64 KiB without NUL. A
 * conversation, an agent and a tenant have at most 100 each.
 */
export type SecretValues = Record<string, string | {
  value: string
  /** The only hosts it may be sent to, as in a policy. Absent: where the agent's policy lets it go. */
  hosts?: string[] | null
  /** Where in a request it may stand. Absent: `header` and `basic`, and where a request that waits for it has it. */
  places?: SecretPlace[] | null
}>

export type SecretPlace = 'header' | 'query' | 'body' | 'basic'

export interface PutSecrets {
  secrets: SecretValues
}

/** Its name and where it may go; never its value. */
export interface Secret {
  object: 'secret'
  alias: Alias
  scope: 'conversation' | 'agent' | 'tenant'
  hosts: string[]
  places: SecretPlace[]
  created_at: Timestamp
  updated_at: Timestamp
}

export interface RunTimeline {
  run_id: RunId
  /** When the run was created, in milliseconds since 1970. */
  started_at_ms: number
  ended_at_ms: number | null
  phases: ({
    phase: 'queue' | 'box' | 'first_token' | 'step' | 'gate' | 'text'
    label: string
    /** Since the run was created. */
    from_ms: number
    to_ms: number | null
    /** Of a step or a gate. */
    status?: string
    /** Of a step, a gate's approval, or which part of the box. */
    id?: string
  })[]
}

export interface CapacityHistory {
  interval_seconds: number
  samples: {
    at_ms: number
    running: number
    held: number
    parked: number
    sticky: number
    warm: number
    pool_size: number
  }[]
}

export interface ConsoleCode {
  object: 'console_code'
  code: string
  url: string
  expires_at: string
}

export interface ConsoleSession {
  kind: 'admin' | 'service'
  /** In which it acts; of an admin's session perhaps none. */
  tenant: {
    id: TenantId
    name: string
  } | null
  workspaceId: string | null
  /** For the header `X-CSRF-Token`. */
  csrfToken: string
  /** Milliseconds since 1970. */
  expiresAt: number
}

export interface Capacity {
  object: 'capacity'
  /** Places for runs. */
  pool_size: number
  /** Sandboxes that wait for work. */
  warm_available: number
  /** Places that are pinned to a conversation. */
  sticky_active: number
  /** How many may be pinned. */
  max_sticky: number
  at_capacity: boolean
  running: number
  /** Runs that wait for a place. */
  held: number
  /** Runs that wait for a human. */
  parked: number
  max_hold_seconds: number
  /** For whoever is refused now. */
  retry_hint_seconds: number
  checked_at: Timestamp
}

/** A request that left the sandbox, or was kept from it. Secrets by their aliases. */
export interface EgressEntry {
  object: 'egress_entry'
  position: number
  at: Timestamp
  host: string
  port?: number
  /** Empty for a tunnel whose inside is not seen. */
  method?: string
  /** Of the response; 0 if there was none. */
  status?: number
  sent_bytes?: number
  received_bytes?: number
  /** Of the secrets that were put into it. */
  aliases?: string[]
  /** Why it was kept from leaving; null if it left. */
  refused?: string | null
  duration_ms?: number
  /**
   * Only of a sum. Of a run, the first 1,000 requests are reported one by one; the rest at most once a minute,
   * and at the end, as one sum for each host (`*` for the hosts after the first 16): this many requests.
   * Bytes and aliases are of all of them, `refused` is of the last one that was refused.
   */
  more?: number
  /** Of a sum. How many of them were refused. */
  more_refused?: number
}

export interface AuditEntry {
  object: 'audit_entry'
  /** Without gaps. */
  number: number
  at: Timestamp
  tenant_id: TenantId | null
  /** `approval.approved`, `secret.put`, `approver_key.revoked` and so on. */
  action: string
  subject: string
  /** `approver_key:apk_…`, `service_key:key_…`, `run:run_…` or `execution:exe_…` of a sandbox, `admin` or `server`. */
  actor: string
  detail: Record<string, unknown>
  /** Empty for the first. */
  previous_sha256: string
  sha256: string
}

export interface AuditVerification {
  object: 'audit_verification'
  ok: boolean
  /** How many were looked at. */
  entries: number
  /** The number of the first that does not fit. */
  first_broken: number | null
  /** Of the last; null for none and for a broken chain. */
  head_sha256: string | null
}

export interface NodeList {
  object: 'list'
  data: Node[]
}

export interface Node {
  object: 'node'
  id: string
  /** `node.name` of its configuration. */
  name: string
  version: string
  /** It stops; what it lets go is taken by the others. */
  draining: boolean
  /** Since its last beat. */
  silent_ms: number
  slots: number
  free_slots: number
  running: number
  held: number
  parked: number
  sticky: number
  /** Boxes that wait for work. */
  warm: number
  started_at: string
}

export interface VaultRotation {
  object: 'vault_rotation'
  checked: number
  resealed: number
  /** Sealed under a key that the server does not have; left as they are. */
  unreadable: number
}

/**
 * One line of a stream. The grammar:
 *
 *     queued* message_start content_delta* ( approval_required resumed content_delta* )* message_end
 *
 * where `error` may take the place of anything after the first line. `seq` counts from 0 without
 * gaps. Exactly one terminal event, `message_end` or `error`, ends a stream.
 *
 * With `detail=full` lines of [DetailEvent](#schema-DetailEvent) stand between these.
 */
export type ConversationEvent = QueuedEvent | MessageStartEvent | ContentDeltaEvent | ApprovalRequiredEvent | ResumedEvent | MessageEndEvent | ErrorEvent

/** One line of a stream, a ConversationEvent or, with `detail=full` only, a DetailEvent. */
export type StreamLine = ConversationEvent | DetailEvent

/** One line of a stream with `detail=full`, besides those of ConversationEvent; what the run does besides talking. */
export type DetailEvent = LogEvent | ReasoningEvent | UsageEvent | StepEvent | OutputEvent | FileEvent | DiffEvent | EgressEvent | CustomEvent | ReplacedEvent | CallEvent | SubagentEvent | SubagentTextEvent

/** A remark of the run: its phases, warnings, what it does next. */
export interface LogEvent {
  object: 'conversation.event'
  type: 'log'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    level: 'debug' | 'info' | 'warn' | 'error'
    text: string
    /** The phase of the run that ended. */
    phase?: string
    /** Of the phase. */
    durationMs?: number
    /** Of asking the model. */
    attempt?: number
    retry_in_ms?: number
  }
  created_at: Timestamp
}

/** What the model thinks; never part of the message. */
export interface ReasoningEvent {
  object: 'conversation.event'
  type: 'reasoning'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    text: string
  }
  created_at: Timestamp
}

/** Tokens, summed over the run so far. */
export interface UsageEvent {
  object: 'conversation.event'
  type: 'usage'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    input_tokens: number
    output_tokens: number
  }
  created_at: Timestamp
}

/** A tool call begins or ends; sent at least twice with the same `id`. */
export interface StepEvent {
  object: 'conversation.event'
  type: 'step'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    /** Of the tool call. */
    id: string
    name: string
    status: 'running' | 'succeeded' | 'failed'
    /** Any JSON, at the beginning: what it is called with. */
    args?: unknown
    /** Any JSON, at the end of one that succeeded: what the model was shown. */
    result?: unknown
    /** Any JSON, at the end of one that failed; mostly a string. */
    error?: unknown
    /** At the end. */
    durationMs?: number
    /** The id of the subagent whose it is; absent for the agent's own. */
    subagent?: string
  }
  created_at: Timestamp
}

/** What a tool call prints, as it comes. */
export interface OutputEvent {
  object: 'conversation.event'
  type: 'output'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    /** Of the tool call. */
    id: string
    stream: 'stdout' | 'stderr'
    text: string
    /** The id of the subagent whose it is; absent for the agent's own. */
    subagent?: string
  }
  created_at: Timestamp
}

/** A file of the workspace was created, changed or deleted. */
export interface FileEvent {
  object: 'conversation.event'
  type: 'file'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    type: 'create' | 'change' | 'delete'
    /** Relative to the workspace. */
    path: string
    /** Milliseconds since 1970. */
    timestamp: number
  }
  created_at: Timestamp
}

/**
 * The whole workspace against the repository as it was fetched, or against the empty one that the conversation
 * began with, as `git diff` writes it. Sent after every run that leaves a difference, also if it opened no sandbox.
 */
export interface DiffEvent {
  object: 'conversation.event'
  type: 'diff'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    path: '.'
    diff: string
  }
  created_at: Timestamp
}

/** A request left the sandbox, or was kept from it. Secrets by their aliases. */
export interface EgressEvent {
  object: 'conversation.event'
  type: 'egress'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    host: string
    port?: number
    /** Empty for a tunnel whose inside is not seen. */
    method?: string
    /** Of the response; 0 if there was none. */
    status?: number
    sent_bytes?: number
    received_bytes?: number
    /** Of the secrets that were put into it. */
    aliases?: string[]
    /** Why it was kept from leaving; null if it left. */
    refused?: string | null
    duration_ms?: number
    /**
     * Only of a sum. Of a run, the first 1,000 requests are reported one by one; the rest at most once a minute,
     * and at the end, as one sum for each host (`*` for the hosts after the first 16): this many requests.
     * Bytes and aliases are of all of them, `refused` is of the last one that was refused.
     */
    more?: number
    /** Of a sum. How many of them were refused. */
    more_refused?: number
  }
  created_at: Timestamp
}

/**
 * An event of a tool or of the sandbox, under a name of its own. `sluice.run-diff` has `{"diff"}`: what this run
 * alone changed, sent before a `diff` that has more or less in it.
 */
export interface CustomEvent {
  object: 'conversation.event'
  type: 'custom'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    name: string
    /** Any JSON. */
    value: unknown
  }
  created_at: Timestamp
}

/** Of the text so far only its first bytes stand; what follows takes the place of the rest. */
export interface ReplacedEvent {
  object: 'conversation.event'
  type: 'replaced'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    kept_bytes: number
  }
  created_at: Timestamp
}

/** A tool call is being written: `id` and `name` first, then `id` and `args`. */
export interface CallEvent {
  object: 'conversation.event'
  type: 'call'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    /** Of the step to come. */
    id: string
    name?: string
    /** A piece of the arguments' JSON. */
    args?: string
    /** The id of the subagent whose it is; absent for the agent's own. */
    subagent?: string
  }
  created_at: Timestamp
}

/** An agent that the agent set to work starts or ends. */
export interface SubagentEvent {
  object: 'conversation.event'
  type: 'subagent'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    id: string
    name: string
    status: 'started' | 'finished' | 'failed'
    /** Of the tool call that started it. */
    step_id?: string
    /** Why it failed. */
    error?: string
  }
  created_at: Timestamp
}

/** What a subagent says or thinks; never part of the message. */
export interface SubagentTextEvent {
  object: 'conversation.event'
  type: 'subagent_text'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    /** Of the subagent. */
    id: string
    text?: string
    reasoning?: string
  }
  created_at: Timestamp
}

/**
 * One line of what a runner does. The plain profile has `log`, `step`, `result` and `error`; the others come with
 * `profile=extended`. A line may have members besides these.
 */
export type RunnerLine = RunnerLogLine | RunnerStepLine | RunnerResultLine | RunnerErrorLine | RunnerDeltaLine | RunnerReasoningLine | RunnerUsageLine | RunnerOutputLine | RunnerFileLine | RunnerDiffLine | RunnerEgressLine | RunnerCustomLine | RunnerReplacedLine | RunnerCallLine | RunnerSubagentLine | RunnerSubagentTextLine | RunnerQueuedLine | RunnerApprovalLine | RunnerResumedLine

/** A remark; of a phase with its name and duration. */
export interface RunnerLogLine {
  type: 'log'
  level: 'debug' | 'info' | 'warn' | 'error'
  message: string
  phase?: string
  durationMs?: number
  /** Milliseconds since 1970. */
  ts: number
}

/** A tool call begins or ends. */
export interface RunnerStepLine {
  type: 'step'
  /** Of the tool call. */
  id: string
  name: string
  status: 'running' | 'succeeded' | 'failed'
  /** Any JSON, at the beginning: what it is called with. */
  args?: unknown
  /** Any JSON, at the end of one that succeeded: what the model was shown. */
  result?: unknown
  /** Any JSON, at the end of one that failed; mostly a string. */
  error?: unknown
  /** At the end. */
  durationMs?: number
  /** The id of the subagent whose it is; absent for the agent's own. */
  subagent?: string
  /** Milliseconds since 1970. */
  ts: number
}

/** Last, once. No step is running. */
export interface RunnerResultLine {
  type: 'result'
  message: string
  usage?: {
    input_tokens: number
    output_tokens: number
  }
  /** Milliseconds since 1970. */
  ts: number
}

/** Last, instead of a result. */
export interface RunnerErrorLine {
  type: 'error'
  /** The name of a problem with underscores, or one of the codes that the guide on runners lists. */
  code: string
  message: string
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended. Some of the answer. */
export interface RunnerDeltaLine {
  type: 'delta'
  text: string
  /** It bridges silence and is never part of the answer. */
  filler?: boolean
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended. What the model thinks. */
export interface RunnerReasoningLine {
  type: 'reasoning'
  text: string
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended. Tokens, summed over the run so far. */
export interface RunnerUsageLine {
  type: 'usage'
  input_tokens: number
  output_tokens: number
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended. What a tool call prints, as it comes. */
export interface RunnerOutputLine {
  type: 'output'
  /** Of the tool call. */
  id: string
  stream: 'stdout' | 'stderr'
  text: string
  /** The id of the subagent whose it is; absent for the agent's own. */
  subagent?: string
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended. A file of the workspace was created, changed or deleted. */
export interface RunnerFileLine {
  type: 'file'
  event: 'create' | 'change' | 'delete'
  path: string
  /** Milliseconds since 1970. */
  ts: number
}

/**
 * Extended. The whole workspace against the repository as it was fetched, or against the empty one that the
 * conversation began with, as `git diff` writes it.
 */
export interface RunnerDiffLine {
  type: 'diff'
  diff: string
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended. A request left the sandbox, or was kept from it. */
export interface RunnerEgressLine {
  type: 'egress'
  host: string
  port?: number
  /** Empty for a tunnel whose inside is not seen. */
  method?: string
  /** Of the response; 0 if there was none. */
  status?: number
  sent_bytes?: number
  received_bytes?: number
  /** Of the secrets that were put into it. */
  aliases?: string[]
  /** Why it was kept from leaving; null if it left. */
  refused?: string | null
  duration_ms?: number
  /**
   * Only of a sum. Of a run, the first 1,000 requests are reported one by one; the rest at most once a minute,
   * and at the end, as one sum for each host (`*` for the hosts after the first 16): this many requests.
   * Bytes and aliases are of all of them, `refused` is of the last one that was refused.
   */
  more?: number
  /** Of a sum. How many of them were refused. */
  more_refused?: number
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended. An event of a tool or of the sandbox. */
export interface RunnerCustomLine {
  type: 'custom'
  name: string
  /** Any JSON. */
  value: unknown
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended. Of the deltas so far, joined, only the first bytes stand. */
export interface RunnerReplacedLine {
  type: 'replaced'
  kept_bytes: number
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended. A tool call is being written. */
export interface RunnerCallLine {
  type: 'call'
  /** Of the step to come. */
  id: string
  name?: string
  /** A piece of the arguments' JSON. */
  args?: string
  /** The id of the subagent whose it is; absent for the agent's own. */
  subagent?: string
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended. An agent that the agent set to work starts or ends. */
export interface RunnerSubagentLine {
  type: 'subagent'
  id: string
  name: string
  status: 'started' | 'finished' | 'failed'
  /** Of the tool call that started it. */
  step_id?: string
  /** Why it failed. */
  error?: string
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended. What a subagent says or thinks. */
export interface RunnerSubagentTextLine {
  type: 'subagent_text'
  /** Of the subagent. */
  id: string
  text?: string
  reasoning?: string
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended, in the trace of a run only. It waits for a slot. */
export interface RunnerQueuedLine {
  type: 'queued'
  position: number
  retry_hint_seconds?: number
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended, in the trace of a run only. It waits for a human. */
export interface RunnerApprovalLine {
  type: 'approval_required'
  approval_id: ApprovalId
  reason?: string
  requested_items?: RequestedItem[]
  expires_at?: Timestamp
  /** Milliseconds since 1970. */
  ts: number
}

/** Extended, in the trace of a run only. The approval was granted. */
export interface RunnerResumedLine {
  type: 'resumed'
  approval_id: ApprovalId
  decision: 'approved'
  /** Milliseconds since 1970. */
  ts: number
}

/** What a runner is asked to carry. Unknown members are ignored, so an Execution can be posted as it is. */
export interface Dispatch {
  /** Where the workspace answers. A plain http or https URL: no credentials, query, fragment or escapes. */
  agent_url: string
  otp_setup: string
  otp_run: string
  /** Without it no files come back. */
  otp_upload?: string | null
  prompt: string
}

export interface DispatchAcknowledgement {
  /** So many lines, counted from 1, are safe with the caller and need not be kept. */
  line: number
}

/** The envelope. Exactly these fields. */
export interface ConversationEventBase {
  object: 'conversation.event'
  type: string
  conversation_id: ConversationId
  /** The assistant message being produced; null only on `queued`. */
  message_id: MessageId | null
  seq: number
  data: Record<string, unknown>
  created_at: Timestamp
}

/**
 * Under `on_capacity` `hold`, while no place is free; before `message_start`, again as the queue moves, and when the
 * estimated wait has at least doubled. The position is never larger than before.
 */
export interface QueuedEvent {
  object: 'conversation.event'
  type: 'queued'
  conversation_id: ConversationId
  message_id: null
  seq: number
  data: {
    /** 1 is next. */
    position: number
    /** An estimate. */
    retry_hint_seconds?: number
  }
  created_at: Timestamp
}

/** The assistant message has opened. */
export interface MessageStartEvent {
  object: 'conversation.event'
  type: 'message_start'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    role: 'assistant'
    /** Only when createConversation began the stream. */
    conversation?: Conversation
  }
  created_at: Timestamp
}

/** Some of the answer. The texts without `filler` concatenate to the message's content. */
export interface ContentDeltaEvent {
  object: 'conversation.event'
  type: 'content_delta'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    text: string
    /** Bridges dead air; never part of the message. */
    filler?: boolean
  }
  created_at: Timestamp
}

/** The run waits for a human. The stream stays open. */
export interface ApprovalRequiredEvent {
  object: 'conversation.event'
  type: 'approval_required'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: Approval
  created_at: Timestamp
}

/** The approval was granted; the run goes on. */
export interface ResumedEvent {
  object: 'conversation.event'
  type: 'resumed'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    approval_id: ApprovalId
    decision: 'approved'
  }
  created_at: Timestamp
}

/** Terminal. The message as it is kept. */
export interface MessageEndEvent {
  object: 'conversation.event'
  type: 'message_end'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: {
    message: Message
  }
  created_at: Timestamp
}

/** Terminal. The run failed or was cancelled; the message is `failed`. */
export interface ErrorEvent {
  object: 'conversation.event'
  type: 'error'
  conversation_id: ConversationId
  message_id: MessageId
  seq: number
  data: Problem
  created_at: Timestamp
}
