// Values that enter requests at the network boundary only. They go in, and never come out again.
import type { SecretList, SecretValues } from './schema.js'
import type { CallOptions, Transport } from './transport.js'

/** The secrets of a conversation, of an agent, or of the tenant. */
export class SecretShelf {
  readonly #transport: Transport
  readonly #path: string

  constructor(transport: Transport, path: string) {
    this.#transport = transport
    this.#path = path
  }

  /** By alias; never a value. */
  list(options: CallOptions = {}): Promise<SecretList> {
    return this.#transport.json({ ...options, method: 'GET', path: this.#path })
  }

  /** Alias by alias: one that is there is replaced, others stay. */
  put(secrets: SecretValues, options: CallOptions = {}): Promise<SecretList> {
    return this.#transport.json({ ...options, method: 'PUT', path: this.#path, body: { secrets } })
  }

  delete(alias: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.done({ ...options, method: 'DELETE', path: `${this.#path}/${encodeURIComponent(alias)}` })
  }
}

export class Secrets {
  readonly tenant: SecretShelf
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
    this.tenant = new SecretShelf(transport, '/v1/secrets')
  }

  conversation(id: string): SecretShelf {
    return new SecretShelf(this.#transport, `/v1/conversations/${encodeURIComponent(id)}/secrets`)
  }

  agent(id: string): SecretShelf {
    return new SecretShelf(this.#transport, `/v1/agents/${encodeURIComponent(id)}/secrets`)
  }
}
