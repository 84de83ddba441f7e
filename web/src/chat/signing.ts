// Signs decisions on approvals as docs/approvals.md says, with the browser's own cryptography.
import type { RequestedItem } from './types'

export type Algorithm = 'hmac-sha256' | 'ed25519'
export interface Signer { keyId: string; algorithm: Algorithm; key: CryptoKey }
export interface Signature {
  key_id: string
  algorithm: Algorithm
  exp: number
  value: string
  items_digest: string
  secrets_digest: string
}

const utf8 = new TextEncoder()

// One line: members sorted, no white space (RFC 8785 for what occurs here: objects, arrays, texts and whole numbers).
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).filter(([, inner]) => inner !== undefined)
    members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    return `{${members.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`
  }
  return JSON.stringify(value)
}

export function base64url(bytes: ArrayBuffer | Uint8Array): string {
  const all = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)
  return btoa(Array.from(all, (byte) => String.fromCharCode(byte)).join('')).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

export function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) throw new Error('That is not base64url.')
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0))
}

async function digest(text: string): Promise<string> {
  return base64url(await crypto.subtle.digest('SHA-256', utf8.encode(text)))
}

// What was asked for, as it is shown: members that say nothing are left out.
export function itemsDigest(items: RequestedItem[]): Promise<string> {
  const shown = items.map(({ kind, description, alias, hosts, call }) => ({
    kind, description, ...(alias ? { alias } : {}), ...(hosts?.length ? { hosts } : {}),
    ...(call ? { call: { id: call.id, name: call.name, arguments: call.arguments } } : {}),
  }))
  return digest(canonicalJson(shown))
}

export function secretsDigest(secrets: Record<string, string>): Promise<string> {
  return digest(canonicalJson(secrets))
}

export interface Decision {
  approvalId: string
  decision: 'approve' | 'deny'
  exp: number // seconds since 1970
  items: RequestedItem[]
  secrets: Record<string, string>
}

export async function sign(signer: Signer, { approvalId, decision, exp, items, secrets }: Decision): Promise<Signature> {
  const [items_digest, secrets_digest] = await Promise.all([itemsDigest(items), secretsDigest(secrets)])
  const payload = canonicalJson({ approval_id: approvalId, decision, exp, items_digest, secrets_digest })
  const name = signer.algorithm === 'ed25519' ? 'Ed25519' : 'HMAC'
  const value = base64url(await crypto.subtle.sign(name, signer.key, utf8.encode(payload)))
  return { key_id: signer.keyId, algorithm: signer.algorithm, exp, value, items_digest, secrets_digest }
}

export function importHmac(secret: string): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', utf8.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

const pkcs8Head = Uint8Array.from([0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20])

export function importEd25519(raw: Uint8Array): Promise<CryptoKey> {
  if (raw.length !== 32) throw new Error('An Ed25519 private key has 32 bytes.')
  return crypto.subtle.importKey('pkcs8', new Uint8Array([...pkcs8Head, ...raw]), 'Ed25519', false, ['sign'])
}

// Takes what `sluice approver-keys create --json` and `approver-keys generate` write, and bootstrap.json. Errors quote
// nothing of what was given.
export async function readSigner(text: string): Promise<Signer> {
  let found: Record<string, unknown>
  try {
    const given = JSON.parse(text) as Record<string, unknown>
    found = (given.approver_key ?? given) as Record<string, unknown>
  } catch {
    throw new Error('That is not the JSON of an approver key.')
  }
  const { key_id, algorithm, secret, private_key } = found
  if (typeof key_id !== 'string' || !key_id.startsWith('apk_')) throw new Error('It has no key_id (apk_…).')
  if (algorithm === 'hmac-sha256' && typeof secret === 'string' && secret) return { keyId: key_id, algorithm, key: await importHmac(secret) }
  if (algorithm === 'ed25519' && typeof private_key === 'string') return { keyId: key_id, algorithm, key: await importEd25519(fromBase64url(private_key)) }
  throw new Error('It needs algorithm "hmac-sha256" with a secret, or "ed25519" with a private_key.')
}
