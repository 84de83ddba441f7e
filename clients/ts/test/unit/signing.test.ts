// I-15: what is signed, to the byte; checked with node's own cryptography.
import assert from 'node:assert/strict'
import { createHash, createHmac, createPublicKey, generateKeyPairSync, verify, webcrypto } from 'node:crypto'
import { test } from 'node:test'
import { SluiceError, canonicalJson, signDecision } from '@sluice/client'
import type { RequestedItem } from '@sluice/client'

const subtle = webcrypto.subtle as unknown as SubtleCrypto
const items: RequestedItem[] = [{ kind: 'secret', description: 'Key of the CRM: "ü"\n', alias: 'CRM_API_KEY', hosts: ['crm.example'] }]
const approval = { id: 'apr_1', requested_items: items }
const hmac = { keyId: 'apk_1', algorithm: 'hmac-sha256', secret: 'as-shown' } as const
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')

test('I-15 the plain line is signed with HMAC-SHA256', async () => {
  const signature = await signDecision(hmac, approval, { decision: 'approve', exp: 1782813720, bind: false }, subtle)
  const value = createHmac('sha256', 'as-shown').update('{"approval_id":"apr_1","decision":"approve","exp":1782813720}').digest('base64url')
  assert.deepEqual(signature, { key_id: 'apk_1', algorithm: 'hmac-sha256', exp: 1782813720, value })
})

test('I-15 a decision is bound: it signs digests of what is asked and of the secrets', async () => {
  const secrets = { ZED: 'z', CRM_API_KEY: { value: 'hush', hosts: ['crm.example'] } }
  const signature = await signDecision(hmac, approval, { decision: 'approve', exp: 1, secrets }, subtle)
  const itemsDigest = sha256('[{"alias":"CRM_API_KEY","description":"Key of the CRM: \\"ü\\"\\n","hosts":["crm.example"],"kind":"secret"}]')
  const secretsDigest = sha256('{"CRM_API_KEY":"hush","ZED":"z"}')
  assert.deepEqual([signature.items_digest, signature.secrets_digest], [itemsDigest, secretsDigest])
  const payload = `{"approval_id":"apr_1","decision":"approve","exp":1,"items_digest":"${itemsDigest}","secrets_digest":"${secretsDigest}"}`
  assert.equal(signature.value, createHmac('sha256', 'as-shown').update(payload).digest('base64url'))
  const call = { id: 's1', name: 'bash', arguments: '{"c":1}' }
  const ruled = { id: 'apr_1', requested_items: [{ kind: 'action', description: 'Run: ls', call }] satisfies RequestedItem[] }
  const bound = await signDecision(hmac, ruled, { decision: 'approve', exp: 1, bind: true }, subtle)
  assert.equal(bound.items_digest, sha256('[{"call":{"arguments":"{\\"c\\":1}","id":"s1","name":"bash"},"description":"Run: ls","kind":"action"}]'))
  const denial = await signDecision(hmac, approval, { decision: 'deny', exp: 1, bind: true }, subtle)
  assert.equal(denial.secrets_digest, sha256('{}'))
})

test('I-15 the same with Ed25519, from raw bytes and from a key of WebCrypto', async () => {
  const pair = generateKeyPairSync('ed25519')
  const { d, x } = pair.privateKey.export({ format: 'jwk' })
  const key = await subtle.importKey('pkcs8', Uint8Array.from(pair.privateKey.export({ format: 'der', type: 'pkcs8' })), 'Ed25519', false, ['sign'])
  for (const privateKey of [d!, key]) {
    const signature = await signDecision({ keyId: 'apk_2', algorithm: 'ed25519', privateKey }, approval, { decision: 'deny', exp: 7, bind: false }, subtle)
    const payload = Buffer.from('{"approval_id":"apr_1","decision":"deny","exp":7}')
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: x! }, format: 'jwk' })
    assert.ok(verify(null, payload, publicKey, Buffer.from(signature.value, 'base64url')))
    assert.ok(!signature.value.includes('='))
  }
  await assert.rejects(signDecision({ keyId: 'k', algorithm: 'ed25519', privateKey: 'AAAA' }, approval, { decision: 'deny' }, subtle), SluiceError)
})

test('a signature is good for five minutes unless said', async () => {
  const now = Math.floor(Date.now() / 1000)
  const { exp } = await signDecision(hmac, approval, { decision: 'approve' }, subtle)
  assert.ok(exp >= now + 300 && exp <= now + 310)
})

test('canonical JSON sorts members and leaves out what is undefined', () => {
  assert.equal(canonicalJson({ b: [1, { d: null, c: true }], a: 'x', e: undefined }), '{"a":"x","b":[1,{"c":true,"d":null}]}')
  assert.equal(canonicalJson('\b\f\u0001é€😀'), '"\\b\\f\\u0001é€😀"')
})
