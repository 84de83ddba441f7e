// Decisions are signed as docs/approvals.md says (I-15, I-16): the same vectors as in src/gates, and node's own
// cryptography as the judge.
import assert from 'node:assert/strict'
import { createHash, createHmac, createPublicKey, verify, webcrypto } from 'node:crypto'
import { test } from 'node:test'
import { base64url, canonicalJson, fromBase64url, importEd25519, importHmac, itemsDigest, readSigner, secretsDigest, sign } from '../src/chat/signing'
import type { RequestedItem } from '../src/chat/types'

if (!globalThis.crypto) Object.defineProperty(globalThis, 'crypto', { value: webcrypto }) // Node 18

const digest = (text: string) => createHash('sha256').update(text).digest('base64url')
const hex = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'))
const items: RequestedItem[] = [{ kind: 'secret', description: 'API key for the CRM', alias: 'CRM_API_KEY', hosts: ['crm.example.com'] }]
const approvalId = 'apr_01hzx8appr00000000000000a1'

test('Payloads are canonical to the byte', () => {
  assert.equal(canonicalJson({ exp: 1782813720, decision: 'approve', approval_id: approvalId }),
    `{"approval_id":"${approvalId}","decision":"approve","exp":1782813720}`)
  assert.equal(canonicalJson({ secrets_digest: 'S', approval_id: approvalId, items_digest: 'I', exp: 1782813720, decision: 'deny' }),
    `{"approval_id":"${approvalId}","decision":"deny","exp":1782813720,"items_digest":"I","secrets_digest":"S"}`)
})

test('Digests are of canonical JSON', async () => {
  assert.equal(await itemsDigest([]), digest('[]'))
  assert.equal(await itemsDigest([
    { kind: 'action', description: 'Delete "prod"\n\b\f\u0001é' },
    { kind: 'secret', description: 'Key', alias: 'CRM_KEY', hosts: ['a.example', 'b.example'] },
  ]), digest('[{"description":"Delete \\"prod\\"\\n\\b\\f\\u0001é","kind":"action"},{"alias":"CRM_KEY","description":"Key","hosts":["a.example","b.example"],"kind":"secret"}]'))
  assert.equal(await secretsDigest({}), digest('{}'))
  assert.equal(await secretsDigest({ B: '2', A: '1\\' }), digest('{"A":"1\\\\","B":"2"}'))
})

test('The call that is asked about is part of what is signed; hosts that are none are not', async () => {
  const call = { id: 's1', name: 'bash', arguments: '{"c":1}' }
  assert.equal(await itemsDigest([{ kind: 'action', description: 'Run: ls', hosts: [], call }]),
    digest('[{"call":{"arguments":"{\\"c\\":1}","id":"s1","name":"bash"},"description":"Run: ls","kind":"action"}]'))
})

test('An HMAC is what RFC 4231 gives, over the line that is signed', async () => {
  const secret = "an approver's secret of some length"
  const signature = await sign({ keyId: 'apk_1', algorithm: 'hmac-sha256', key: await importHmac(secret) },
    { approvalId, decision: 'approve', exp: 1782813720, items, secrets: { CRM_API_KEY: 'hunter2!' } })
  const line = `{"approval_id":"${approvalId}","decision":"approve","exp":1782813720,"items_digest":"${await itemsDigest(items)}","secrets_digest":"${digest('{"CRM_API_KEY":"hunter2!"}')}"}`
  assert.equal(signature.value, createHmac('sha256', secret).update(line).digest('base64url'))
  assert.equal(signature.value.includes('='), false)
  const jefe = await crypto.subtle.sign('HMAC', await importHmac('Jefe'), new TextEncoder().encode('what do ya want for nothing?'))
  assert.equal(Buffer.from(jefe).toString('hex'), '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843')
})

test('An Ed25519 signature is what RFC 8032 gives, and proves the line', async () => {
  const key = await importEd25519(hex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'))
  const empty = await crypto.subtle.sign('Ed25519', key, new Uint8Array())
  assert.equal(Buffer.from(empty).toString('hex'), 'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b')
  const signature = await sign({ keyId: 'apk_1', algorithm: 'ed25519', key }, { approvalId, decision: 'deny', exp: 5, items, secrets: {} })
  const line = canonicalJson({ approval_id: approvalId, decision: 'deny', exp: 5, items_digest: signature.items_digest, secrets_digest: signature.secrets_digest })
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: base64url(hex('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a')) }, format: 'jwk' })
  assert.equal(verify(null, Buffer.from(line), publicKey, Buffer.from(signature.value, 'base64url')), true)
})

test('Keys cannot be taken out of the browser again', async () => {
  const { key } = await readSigner('{"approver_key":{"key_id":"apk_1","algorithm":"hmac-sha256","secret":"s3cret"}}')
  assert.equal(key.extractable, false)
  await assert.rejects(crypto.subtle.exportKey('raw', key))
  const pair = await readSigner(JSON.stringify({ key_id: 'apk_2', algorithm: 'ed25519', private_key: base64url(new Uint8Array(32).fill(7)) }))
  assert.equal(pair.key.extractable, false)
})

test('What is no key is refused in words that quote nothing of it', async () => {
  for (const bad of ['topsecret', '{"secret":"topsecret"}', '{"key_id":"apk_1","algorithm":"none","secret":"topsecret"}', '{"key_id":"apk_1","algorithm":"ed25519","private_key":"dG9wc2VjcmV0"}', '{"key_id":"apk_1","algorithm":"ed25519","private_key":"topsecret=="}']) {
    await assert.rejects(readSigner(bad), (error: Error) => !error.message.includes('topsecret') && !error.message.includes('dG9w'))
  }
})

test('base64url goes both ways, without padding', () => {
  for (let length = 0; length < 70; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 37 + length) & 255)
    assert.equal(base64url(bytes), Buffer.from(bytes).toString('base64url'))
    assert.deepEqual(fromBase64url(base64url(bytes)), bytes)
  }
})
