// The key with which this browser decides. One that it made lies in IndexedDB, and cannot be taken out of it; one that
// was pasted is in memory, and gone with the page.
import { signal } from '@preact/signals'
import { api, session } from '../api'
import { base64url, readSigner, type Signer } from './signing'

export const signer = signal<(Signer & { kept: boolean }) | null>(null)
export const canSign = typeof crypto !== 'undefined' && crypto.subtle !== undefined // only over HTTPS, or on this machine

interface KeptKey { tenantId: string; keyId: string; key: CryptoKey }

let asked: string | null = null

// Finds this browser's key for the tenant that is acted in.
export async function findSigner(): Promise<void> {
  const tenantId = session.value?.tenant?.id ?? ''
  if (!canSign || asked === tenantId) return
  asked = tenantId
  signer.value = null
  const kept = await within('readonly', (keys) => keys.get(tenantId) as IDBRequest<KeptKey | undefined>).catch(() => undefined)
  if (kept && !signer.value) signer.value = { keyId: kept.keyId, algorithm: 'ed25519', key: kept.key, kept: true }
}

// Makes a key pair and registers its public half. Only an operator may.
export async function becomeApprover(name: string): Promise<void> {
  const tenantId = session.value?.tenant?.id
  if (!tenantId) throw new Error('Choose a tenant first.')
  const pair = (await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify'])) as CryptoKeyPair
  const public_key = base64url(await crypto.subtle.exportKey('raw', pair.publicKey))
  const { key_id: keyId } = await api.post<{ key_id: string }>(`/v1/tenants/${tenantId}/approver-keys`, { name, algorithm: 'ed25519', public_key })
  await within('readwrite', (keys) => keys.put({ tenantId, keyId, key: pair.privateKey } satisfies KeptKey))
  signer.value = { keyId, algorithm: 'ed25519', key: pair.privateKey, kept: true }
}

export async function takeKey(text: string): Promise<void> {
  signer.value = { ...(await readSigner(text)), kept: false }
}

export async function forgetKey(): Promise<void> {
  const tenantId = session.value?.tenant?.id ?? ''
  signer.value = null
  await within('readwrite', (keys) => keys.delete(tenantId))
}

function within<T>(mode: IDBTransactionMode, does: (keys: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open('sluice-approver', 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore('keys', { keyPath: 'tenantId' })
    opening.onerror = () => reject(new Error('This browser keeps no keys here: its storage is closed to this page.'))
    opening.onsuccess = () => {
      const request = does(opening.result.transaction('keys', mode).objectStore('keys'))
      request.onsuccess = () => { opening.result.close(); resolve(request.result) }
      request.onerror = () => { opening.result.close(); reject(request.error ?? new Error('The key could not be kept.')) }
    }
  })
}
