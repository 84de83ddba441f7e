// Messages that wait for the end of an answer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forgetWaiting, Outbox, waitingMax } from '../src/chat/outbox'

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
  outbox.leave()
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

// What a tab has when it is loaded again: its storage, and nothing of the page before.
function tab(stored: Record<string, unknown> = {}): Map<string, string> {
  const values = new Map(Object.keys(stored).length ? [['sluice.waiting', JSON.stringify(stored)]] : [])
  const sessionStorage = {
    getItem: (key: string) => values.get(key) ?? null, setItem: (key: string, value: string) => { values.set(key, value) },
    removeItem: (key: string) => { values.delete(key) },
  }
  Object.assign(globalThis, { sessionStorage })
  return values
}

test('What waits is still there when the tab was loaded again, and is not sent before a person says so', () => {
  tab({ con_3: [{ text: 'a', files: [{ id: 'fil_1', name: 'a.csv', size: 3 }] }, { text: 'b', files: [] }] })
  const outbox = new Outbox('con_3')
  assert.deepEqual(texts(outbox), ['a', 'b'])
  assert.equal(outbox.all.value[0]!.attachments[0]!.file!.id, 'fil_1')
  assert.equal(outbox.takeNext(), null)
  assert.deepEqual(texts(new Outbox('con_3')), [], 'the page knows better by now')
  outbox.release()
  assert.equal(outbox.takeNext()!.text, 'a')
})

test('The storage of the tab has what waits, of each chat, until it is sent or the person signs out', () => {
  const values = tab()
  const fresh = new Outbox(null)
  fresh.add('of a chat that has no id yet', [])
  assert.equal(values.size, 0)
  fresh.name('con_4')
  const other = new Outbox('con_5')
  other.add('x', [])
  const has = () => JSON.parse(values.get('sluice.waiting')!) as Record<string, { text: string }[]>
  assert.deepEqual(Object.keys(has()), ['con_4', 'con_5'])
  fresh.takeNext()
  assert.deepEqual(has(), { con_5: [{ text: 'x', files: [] }] })
  forgetWaiting()
  assert.equal(values.size, 0)
})

test('A tab without storage, or with nonsense in it, keeps what waits in the page', () => {
  tab({ con_6: 'nonsense' })
  assert.deepEqual(texts(new Outbox('con_6')), [])
  Object.assign(globalThis, { sessionStorage: undefined })
  const outbox = new Outbox('con_7')
  outbox.add('a', [])
  assert.deepEqual(texts(outbox), ['a'])
})
