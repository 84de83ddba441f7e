// Idempotency keys: as good as unique, nothing secret.
import type { CreateOptions } from './transport.js'

export function keyOf(options: CreateOptions): string | null {
  return options.idempotencyKey === undefined ? makeKey() : options.idempotencyKey
}

function makeKey(): string {
  const bytes = new Uint8Array(16)
  // Not randomUUID, which pages without https do not have; Node 18 has no global crypto at all.
  if (globalThis.crypto) globalThis.crypto.getRandomValues(bytes)
  else for (let i = 0; i < bytes.length; i += 1) bytes[i] = Math.floor(Math.random() * 256)
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
