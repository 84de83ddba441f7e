// Messages that wait for the end of an answer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outbox, waitingMax } from '../src/chat/outbox'

const texts = (outbox: Outbox) => outbox.all.value.map((one) => one.text)

test('Messages wait in the order in which they were written, and each can be taken out', () => {
  const outbox = new Outbox(null)
  for (const text of ['a', 'b', 'c']) outbox.add(text, [])
  outbox.take(outbox.all.value[1]!.key)
  assert.deepEqual(texts(outbox), ['a', 'c'])
  assert.equal(outbox.takeNext()!.text, 'a')
  assert.deepEqual(texts(outbox), ['c'])
})

test('A message that was refused stays first, and nothing is sent past it before a person says so', () => {
  const outbox = new Outbox(null)
  outbox.add('a', [])
  outbox.add('b', [])
  outbox.putBack(outbox.takeNext()!, 'It is too long.')
  assert.deepEqual(texts(outbox), ['a', 'b'])
  assert.equal(outbox.takeNext(), null)
  outbox.release()
  assert.equal(outbox.takeNext()!.text, 'a')
})

test('What waits in a chat that is left waits there when it is opened again, and in no other chat', () => {
  const outbox = new Outbox('con_1')
  outbox.add('a', [])
  outbox.keep('con_1')
  outbox.putBack({ key: 99, text: 'sent in vain', attachments: [], failure: '' }, 'gone')
  assert.deepEqual(texts(new Outbox('con_2')), [])
  assert.deepEqual(texts(new Outbox('con_1')), ['sent in vain', 'a'])
  assert.deepEqual(texts(new Outbox('con_1')), [], 'one page has it')
})

test('A bounded number of messages waits', () => {
  const outbox = new Outbox(null)
  for (let i = 0; i < waitingMax; i++) { assert.ok(outbox.hasRoom); outbox.add('x', []) }
  assert.equal(outbox.hasRoom, false)
})
