// What a run must not do without a human, and the human's signed decision (signing.ts makes it).
import { rowsOf } from './list.js'
import type { PageQuery } from './list.js'
import type { Approval, ApprovalList, ApprovalStatus, Approve, Deny } from './schema.js'
import type { CallOptions, Transport } from './transport.js'

export interface ApprovalQuery extends PageQuery {
  conversation_id?: string
  user_id?: string
  status?: ApprovalStatus
}

export class Approvals {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list(query: ApprovalQuery = {}, options: CallOptions = {}): Promise<ApprovalList> {
    return this.#transport.json({ ...options, method: 'GET', path: '/v1/approvals', query })
  }

  all(query: ApprovalQuery = {}, options: CallOptions = {}): AsyncGenerator<Approval> {
    return rowsOf((page) => this.list(page, options), query)
  }

  get(id: string, options: CallOptions = {}): Promise<Approval> {
    return this.#transport.json({ ...options, method: 'GET', path: `/v1/approvals/${encodeURIComponent(id)}` })
  }

  approve(id: string, body: Approve, options: CallOptions = {}): Promise<Approval> {
    return this.#transport.json({ ...options, method: 'POST', path: `/v1/approvals/${encodeURIComponent(id)}/approve`, body })
  }

  deny(id: string, body: Deny, options: CallOptions = {}): Promise<Approval> {
    return this.#transport.json({ ...options, method: 'POST', path: `/v1/approvals/${encodeURIComponent(id)}/deny`, body })
  }
}
