// A server with somebody who can approve, for the stories.
import { webcrypto } from 'node:crypto'
import type { Signer } from '@sluice/client'
import { SluiceServer, quietMs } from './processes.js'
import type { World } from './stories.js'

// Node 18 has it and does not show it.
globalThis.crypto ??= webcrypto as unknown as Crypto

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')

/** Registers the public half; the private one stays here. */
async function ed25519Signer(server: SluiceServer): Promise<Signer> {
  const pair = (await webcrypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
  const { d } = await webcrypto.subtle.exportKey('jwk', pair.privateKey)
  const raw = new Uint8Array(await webcrypto.subtle.exportKey('raw', pair.publicKey))
  const { tenant_id, admin_key } = server.bootstrap
  const answer = await fetch(`${server.url}/v1/tenants/${tenant_id}/approver-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'e2e', algorithm: 'ed25519', public_key: base64url(raw) }),
  })
  if (answer.status !== 201) throw new Error(await answer.text())
  const { key_id } = (await answer.json()) as { key_id: string }
  return { keyId: key_id, algorithm: 'ed25519', privateKey: d! }
}

/** The server's world without an address: each road has its own, and one of them bears less silence than the others. */
export async function worldOf(server: SluiceServer): Promise<Omit<World, 'url'>> {
  const { service_key, approver_key } = server.bootstrap
  const hmac: Signer = { keyId: approver_key.key_id, algorithm: 'hmac-sha256', secret: approver_key.secret }
  return { key: service_key, quietMs: quietMs / 4, signers: { hmac, ed25519: await ed25519Signer(server) } }
}
