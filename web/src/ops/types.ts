// What the server answers, as openapi/openapi.yaml has it; members that no page reads are left out.
import type { StepStatus } from '../chat/types'

export type RunState = 'accepted' | 'held' | 'starting' | 'streaming' | 'parked' | 'finishing' | 'completed' | 'failed' | 'cancelled'
export interface Run {
  id: string
  tenant_id: string
  conversation_id: string
  user_message_id: string
  message_id: string
  agent_id: string
  state: RunState
  created_at: string
  ended_at: string | null
}
export interface Message { id: string; role: string; content: string; status: string; usage: { input_tokens: number; output_tokens: number } | null }
export type PhaseKind = 'queue' | 'box' | 'first_token' | 'step' | 'gate' | 'text'
export interface Phase { phase: PhaseKind; label: string; from_ms: number; to_ms: number | null; status?: string; id?: string }
export interface RunTimeline { run_id: string; started_at_ms: number; ended_at_ms: number | null; phases: Phase[] }
export interface RunStep { id: string; name: string; status: StepStatus; args?: unknown; result?: unknown; error?: unknown; durationMs?: number; subagent?: string }
export interface EgressEntry { position: number; at: string; host: string; port?: number; method?: string; status?: number; sent_bytes?: number; received_bytes?: number; aliases?: string[]; refused?: string; duration_ms?: number; more?: number; more_refused?: number }
export interface RunFile { id: string; name: string; size: number; sha256: string; created_at: string }

export interface Capacity { pool_size: number; warm_available: number; sticky_active: number; max_sticky: number; at_capacity: boolean; running: number; held: number; parked: number; max_hold_seconds: number; retry_hint_seconds: number; checked_at: string }
export interface Sample { at_ms: number; running: number; held: number; parked: number; sticky: number; warm: number; pool_size: number }
export interface CapacityHistory { interval_seconds: number; samples: Sample[] }

export interface ModelChoice { provider?: string; endpoint?: string; name: string; base_url?: string | null; key_alias?: string | null }
export type RuleKind = 'tool' | 'command' | 'file' | 'host'
export type PolicyRule = { effect: 'allow' | 'ask' | 'deny'; reason?: string; secrets?: string[] } & Partial<Record<RuleKind, string>>
export interface Agent {
  id: string
  name: string
  system_prompt: string
  model: ModelChoice
  limits: { max_output_tokens?: number; max_runtime_seconds?: number; max_history_messages?: number }
  skill_ids: string[]
  environment_id: string | null
  policy: PolicyRule[]
  agent_type: string
  command: string[]
  mcp_servers: unknown[]
  tools: unknown[]
  code_mode: boolean
  workspace: 'none' | 'read' | 'write'
  is_default: boolean
  updated_at: string
}
export interface ModelEndpoint { id: string; name: string; provider: string; base_url: string | null; key_alias: string | null; models: string[]; updated_at: string }
export interface Environment { id: string; name: string; variables: Record<string, string>; script: string | null; updated_at: string }
export interface Skill { id: string; name: string; description: string; sha256: string; size: number; file_count: number; created_at: string; updated_at: string }
export type SecretPlace = 'header' | 'query' | 'body' | 'basic'
export interface Secret { alias: string; scope: string; hosts: string[]; places: SecretPlace[]; updated_at: string }

export interface TenantSettings {
  filler_enabled: boolean
  weight: number
  max_running: number
  max_held: number
  max_concurrent_sticky: number
  max_sticky_ttl_seconds: number
  require_bound_decisions: boolean
  agui_unsigned_approvals: boolean
  webhook_url: string | null
}
export interface Tenant { id: string; name: string; status: 'active' | 'suspended'; settings: TenantSettings; created_at: string }
export interface ServiceKey { id: string; name: string; hint: string; created_at: string; revoked_at: string | null; secret?: string }
export interface ApproverKey { key_id: string; name: string; algorithm: string; created_at: string; revoked_at: string | null; secret?: string }

export type ColumnType = 'text' | 'number' | 'boolean' | 'timestamp' | 'json'
export interface TableColumn { name: string; type: ColumnType; required?: boolean }
export interface DataTable { id: string; name: string; columns: TableColumn[]; row_count: number; size_bytes: number; updated_at: string }
export interface TableRow { id: string; values: Record<string, unknown>; created_at: string; updated_at: string }
export interface FoundRows { data: TableRow[]; total: number; has_more: boolean }

export interface Block { id: string; type: 'agents' | 'inference' | 'http' | 'condition'; [member: string]: unknown }
export interface Edge { from: string; to: string; when?: boolean | null }
export interface WorkflowInput { name: string; type: 'text' | 'number' | 'boolean' | 'json'; required?: boolean | null; default?: unknown }
export interface Definition { inputs?: WorkflowInput[] | null; environment?: Record<string, string> | null; blocks: Block[]; edges?: Edge[] | null; outputs?: Record<string, string> | null }
export interface Workflow { id: string; name: string; description: string; definition: Definition; updated_at: string }
export type BlockStatus = 'pending' | 'running' | 'succeeded' | 'failed' | 'skipped' | 'cancelled'
export interface WorkflowRun {
  id: string
  workflow_id: string
  status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  inputs: Record<string, unknown>
  outputs: Record<string, string>
  error: { code: string; message: string } | null
  blocks: { id: string; status: BlockStatus; run_id?: string }[]
  created_at: string
  ended_at: string | null
}
export interface WorkflowLine { seq: number; type: string; run?: WorkflowRun; block?: string; kind?: Block['type']; run_id?: string; line?: Record<string, unknown>; status?: string; outputs?: Record<string, unknown>; error?: { code: string; message: string }; ts?: string }

export const isOver = (run: { ended_at: string | null }): boolean => run.ended_at !== null
