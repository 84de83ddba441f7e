// Runs, what they handed back, and the agents that carry them out.
import { rowsOf } from './list.js'
import type { PageQuery } from './list.js'
import type { Agent, AgentList, CreateAgent, EgressList, File as SluiceFile, FileList as SluiceFileList, Run, RunList, UpdateAgent } from './schema.js'
import type { CallOptions, Transport } from './transport.js'

export class Runs {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list(query: PageQuery & { conversation_id?: string } = {}, options: CallOptions = {}): Promise<RunList> {
    return this.#transport.json({ ...options, method: 'GET', path: '/v1/runs', query })
  }

  all(query: PageQuery & { conversation_id?: string } = {}, options: CallOptions = {}): AsyncGenerator<Run> {
    return rowsOf((page) => this.list(page, options), query)
  }

  get(id: string, options: CallOptions = {}): Promise<Run> {
    return this.#transport.json({ ...options, method: 'GET', path: pathOf(id) })
  }

  /** Resolves when nothing of the run is left at work. */
  cancel(id: string, options: CallOptions = {}): Promise<Run> {
    return this.#transport.json({ ...options, method: 'POST', path: `${pathOf(id)}/cancel` })
  }

  files(id: string, options: CallOptions = {}): Promise<SluiceFileList> {
    return this.#transport.json({ ...options, method: 'GET', path: `${pathOf(id)}/files` })
  }

  /** The requests that left its sandbox, or were kept from it. */
  egress(id: string, query: Omit<PageQuery, 'ending_before'> = {}, options: CallOptions = {}): Promise<EgressList> {
    return this.#transport.json({ ...options, method: 'GET', path: `${pathOf(id)}/egress`, query })
  }
}

export class Files {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  get(id: string, options: CallOptions = {}): Promise<SluiceFile> {
    return this.#transport.json({ ...options, method: 'GET', path: `/v1/files/${encodeURIComponent(id)}` })
  }

  /** The bytes, as an answer whose body is to be read: `.body`, `.blob()`, `.arrayBuffer()`. */
  download(id: string, options: CallOptions = {}): Promise<Response> {
    return this.#transport.admitted({ ...options, method: 'GET', path: `/v1/files/${encodeURIComponent(id)}/content` })
  }
}

export class Agents {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list(query: PageQuery = {}, options: CallOptions = {}): Promise<AgentList> {
    return this.#transport.json({ ...options, method: 'GET', path: '/v1/agents', query })
  }

  all(query: PageQuery = {}, options: CallOptions = {}): AsyncGenerator<Agent> {
    return rowsOf((page) => this.list(page, options), query)
  }

  create(body: CreateAgent, options: CallOptions = {}): Promise<Agent> {
    return this.#transport.json({ ...options, method: 'POST', path: '/v1/agents', body })
  }

  get(id: string, options: CallOptions = {}): Promise<Agent> {
    return this.#transport.json({ ...options, method: 'GET', path: `/v1/agents/${encodeURIComponent(id)}` })
  }

  update(id: string, body: UpdateAgent, options: CallOptions = {}): Promise<Agent> {
    return this.#transport.json({ ...options, method: 'PATCH', path: `/v1/agents/${encodeURIComponent(id)}`, body })
  }

  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.done({ ...options, method: 'DELETE', path: `/v1/agents/${encodeURIComponent(id)}` })
  }
}

function pathOf(id: string): string {
  return `/v1/runs/${encodeURIComponent(id)}`
}
