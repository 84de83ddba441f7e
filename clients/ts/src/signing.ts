// Decisions on approvals, signed by whoever holds an approver key (docs/approvals.md). Needs WebCrypto:
// in browsers a secure context; in Node 18 pass `webcrypto.subtle` of node:crypto.
import { SluiceError } from './errors.js'
import type { Approval, DecisionSignature, SecretValues } from './schema.js'

export type Signer =
  | { keyId: string; algorithm: 'hmac-sha256'; /** As it was shown, not decoded. */ secret: string }
  /** The 32 raw bytes in base64url, as `sluice approver-keys generate` writes them, or a key of WebCrypto's own. */
  | { keyId: string; algorithm: 'ed25519'; privateKey: string | CryptoKey }

export interface Decision {
  decision: 'approve' | 'deny'
  /** Seconds that the signature is good for; a server takes at most 15 minutes unless told otherwise. */
  ttlSeconds?: number
  /** Seconds since 1970, instead. */
  exp?: number
  /**
   * Binds the decision to what is asked and to these secrets, so that nobody on the way can swap them. It does unless
   * this is `false`, which tenants that require bound decisions do not take.
   */
  bind?: boolean
  /** To be sent along with an approval. */
  secrets?: SecretValues
}

export async function signDecision(
  signer: Signer,
  approval: Pick<Approval, 'id' | 'requested_items'>,
  decision: Decision,
  subtle: SubtleCrypto | undefined = globalThis.crypto?.subtle,
): Promise<DecisionSignature> {
  if (!subtle) throw new SluiceError('there is no WebCrypto here: serve the page over https; on Node 18 pass webcrypto.subtle of node:crypto')
  const exp = decision.exp ?? Math.floor(Date.now() / 1000) + (decision.ttlSeconds ?? 300)
  const digests = decision.bind !== false
    ? {
        items_digest: await digestOf(approval.requested_items, subtle),
        secrets_digest: await digestOf(plainValues(decision.secrets ?? {}), subtle),
      }
    : {}
  const payload = canonicalJson({ approval_id: approval.id, decision: decision.decision, exp, ...digests })
  const value = base64url(await sign(signer, bytesOf(payload), subtle))
  return { key_id: signer.keyId, algorithm: signer.algorithm, exp, value, ...digests }
}

/** RFC 8785 for what approvals are made of: members sorted, no white space, the shortest escapes. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}

/** Where a secret may go is not signed, only what it is. */
function plainValues(secrets: SecretValues): Record<string, string> {
  return Object.fromEntries(Object.entries(secrets).map(([alias, secret]) => [alias, typeof secret === 'string' ? secret : secret.value]))
}

async function digestOf(value: unknown, subtle: SubtleCrypto): Promise<string> {
  return base64url(await subtle.digest('SHA-256', bytesOf(canonicalJson(value))))
}

async function sign(signer: Signer, payload: BufferSource, subtle: SubtleCrypto): Promise<ArrayBuffer> {
  if (signer.algorithm === 'hmac-sha256') {
    const key = await subtle.importKey('raw', bytesOf(signer.secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
    return subtle.sign('HMAC', key, payload)
  }
  const { privateKey } = signer
  const key = typeof privateKey === 'string' ? await subtle.importKey('pkcs8', pkcs8Of(privateKey), 'Ed25519', false, ['sign']) : privateKey
  return subtle.sign('Ed25519', key, payload)
}

// WebCrypto takes a raw private key only inside PKCS #8, whose head is always the same (RFC 8410).
function pkcs8Of(privateKey: string): BufferSource {
  const raw = fromBase64url(privateKey)
  if (raw.length !== 32) throw new SluiceError('an Ed25519 private key is 32 bytes in base64url')
  const head = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20]
  return Uint8Array.from([...head, ...raw])
}

// Typed for both: TypeScript 5.9 tells buffers apart, older ones do not.
const bytesOf = (text: string): BufferSource => new TextEncoder().encode(text)

function base64url(bytes: ArrayBuffer): string {
  const text = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join('')
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function fromBase64url(text: string): number[] {
  return Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0))
}
