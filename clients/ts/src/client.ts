// The door: one client for one server and one key.
import { Approvals } from './approvals.js'
import { Assistant } from './assistant.js'
import { Conversations, Messages } from './conversations.js'
import { defaultPatience, realClock } from './patience.js'
import type { Clock, Patience } from './patience.js'
import { Agents, Files, Runs } from './runs.js'
import type { Capacity, IntegrationPrincipal } from './schema.js'
import { Secrets } from './secrets.js'
import { Transport } from './transport.js'
import type { CallOptions } from './transport.js'

export interface ClientOptions {
  /** "https://sluice.example", or with a path where a proxy has it under one. */
  baseUrl: string
  /** `sk_int_…`, or a function that finds it for each request. Absent where a session cookie speaks for the caller. */
  key?: string | (() => string | Promise<string>)
  /** With every request, as `X-CSRF-Token` with a session cookie. */
  headers?: Record<string, string>
  credentials?: RequestCredentials
  /** False: after a cut only ask for the message until it is over. */
  reattach?: boolean
  /** Whether 429 and 503 with Retry-After are waited out, unless a call says otherwise. */
  retryAtCapacity?: boolean
  patience?: Partial<Patience>
  fetch?: typeof fetch
  clock?: Clock
}

export class SluiceClient {
  readonly conversations: Conversations
  readonly messages: Messages
  readonly runs: Runs
  readonly approvals: Approvals
  readonly secrets: Secrets
  readonly agents: Agents
  readonly files: Files
  readonly assistant: Assistant
  readonly #transport: Transport

  constructor(options: ClientOptions) {
    const { baseUrl, key, headers, credentials, reattach = true, retryAtCapacity = false, patience } = options
    this.#transport = new Transport({
      baseUrl,
      key,
      headers,
      credentials,
      retryAtCapacity,
      // Browsers insist that fetch is called on the window.
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
      clock: options.clock ?? realClock,
      patience: { ...defaultPatience, ...patience },
    })
    this.conversations = new Conversations(this.#transport, { reattach })
    this.messages = new Messages(this.#transport, { reattach })
    this.runs = new Runs(this.#transport)
    this.approvals = new Approvals(this.#transport)
    this.secrets = new Secrets(this.#transport)
    this.agents = new Agents(this.#transport)
    this.files = new Files(this.#transport)
    this.assistant = new Assistant(this.#transport)
  }

  capacity(options: CallOptions = {}): Promise<Capacity> {
    return this.#transport.json({ ...options, method: 'GET', path: '/v1/capacity' })
  }

  /** Who this key is, and which approver keys its tenant has. */
  self(options: CallOptions = {}): Promise<IntegrationPrincipal> {
    return this.#transport.json({ ...options, method: 'GET', path: '/v1/integration/self' })
  }
}
