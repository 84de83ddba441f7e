// The gates of the fake: approvals that wait, approver keys, and decisions that must be signed as docs/approvals.md says.
import { createHash, createHmac, createPublicKey, randomBytes, timingSafeEqual, verify } from 'node:crypto'
import { id, json, jsonOf, problem } from './problem.mjs'

const canonical = (value) => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value && typeof value === 'object') return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`
  return JSON.stringify(value)
}
const digest = (text) => createHash('sha256').update(text).digest('base64url')

export class Gates {
  approvals = new Map()
  keys = new Map([['apk_01hzx8demokey000000000000a', { key_id: 'apk_01hzx8demokey000000000000a', algorithm: 'hmac-sha256', secret: 'the-demo-approver-secret', name: 'demo' }]])

  raise({ chatId, messageId, reason, items, tenant }) {
    const now = new Date()
    const approval = {
      object: 'approval', id: id('apr'), tenant_id: tenant, conversation_id: chatId, message_id: messageId, status: 'pending', reason,
      requested_items: items, expires_at: new Date(now.getTime() + 15 * 60_000).toISOString(), resolved_by: null, resolved_at: null,
      created_at: now.toISOString(), updated_at: now.toISOString(),
    }
    let decide
    const decided = new Promise((resolve) => { decide = resolve })
    this.approvals.set(approval.id, { approval, decide })
    return { approval, decided }
  }

  fault(approval, decision, signature, secrets) {
    const key = this.keys.get(signature?.key_id)
    if (!key || key.algorithm !== signature.algorithm) return 'signature.key_id names no approver key of this tenant.'
    if (signature.exp <= Date.now() / 1000 || signature.exp > Date.now() / 1000 + 900) return 'signature.exp is past, or too far ahead.'
    const payload = canonical({ approval_id: approval.id, decision, exp: signature.exp, ...(signature.items_digest ? { items_digest: signature.items_digest } : {}), ...(signature.secrets_digest ? { secrets_digest: signature.secrets_digest } : {}) })
    const value = Buffer.from(signature.value, 'base64url')
    const good = key.algorithm === 'ed25519'
      ? verify(null, Buffer.from(payload), createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.public_key }, format: 'jwk' }), value)
      : value.length === 32 && timingSafeEqual(createHmac('sha256', key.secret).update(payload).digest(), value)
    if (!good) return "signature.value is not this key's signature of this decision on this approval."
    if (signature.items_digest !== digest(canonical(approval.requested_items))) return 'signature.items_digest is not the digest of what is decided on.'
    if (signature.secrets_digest !== digest(canonical(secrets ?? {}))) return 'signature.secrets_digest is not the digest of what is decided on.'
    return null
  }

  async decision(request, response, approvalId, decision) {
    const found = this.approvals.get(approvalId)
    const body = await jsonOf(request)
    if (!found) return problem(response, 404, 'not-found', 'There is no such approval.')
    const { approval, decide } = found
    const fault = this.fault(approval, decision, body.signature, body.secrets)
    if (fault) return problem(response, 403, 'approval-signature-invalid', fault)
    if (approval.status !== 'pending') return problem(response, 409, 'approval-expired', 'It was decided before, or its time is over.')
    const missing = decision === 'approve' && approval.requested_items.find((item) => item.kind === 'secret' && !body.secrets?.[item.alias])
    if (missing) return problem(response, 422, 'validation-error', `The secret ${missing.alias} is asked for and not on file.`)
    const now = new Date().toISOString()
    Object.assign(approval, { status: decision === 'approve' ? 'approved' : 'denied', resolved_by: `approver_key:${body.signature.key_id}`, resolved_at: now, updated_at: now, ...(body.note ? { note: body.note } : {}) })
    decide(approval.status)
    json(response, 200, approval)
  }

  // Answers what is this room's business; false if it is not.
  async answer(request, response, path, query) {
    let found
    if (path === '/v1/approvals') {
      const status = query.get('status')
      const all = [...this.approvals.values()].map(({ approval }) => approval).reverse().filter((approval) => !status || approval.status === status)
      json(response, 200, { object: 'list', data: all.slice(0, Number(query.get('limit') ?? 20)), has_more: false })
    } else if ((found = /^\/v1\/approvals\/([^/]+)\/(approve|deny)$/.exec(path))) {
      await this.decision(request, response, found[1], found[2])
    } else if ((found = /^\/v1\/approvals\/([^/]+)$/.exec(path))) {
      const known = this.approvals.get(found[1])
      if (known) json(response, 200, known.approval)
      else problem(response, 404, 'not-found', 'There is no such approval.')
    } else if (/^\/v1\/tenants\/[^/]+\/approver-keys$/.test(path) && request.method === 'POST') {
      const body = await jsonOf(request)
      const shared = body.algorithm === 'hmac-sha256' ? { object: 'approver_key', key_id: id('apk'), name: body.name, algorithm: body.algorithm, secret: randomBytes(32).toString('base64url'), created_at: new Date().toISOString(), revoked_at: null } : null
      if (shared) {
        this.keys.set(shared.key_id, shared)
        return json(response, 201, shared) ?? true
      }
      if (body.algorithm !== 'ed25519' || Buffer.from(body.public_key ?? '', 'base64url').length !== 32) return problem(response, 422, 'validation-error', 'public_key must be 32 bytes in base64url.') ?? true
      const key = { object: 'approver_key', key_id: id('apk'), name: body.name, algorithm: 'ed25519', public_key: body.public_key, created_at: new Date().toISOString(), revoked_at: null }
      this.keys.set(key.key_id, key)
      json(response, 201, key)
    } else return false
    return true
  }
}
