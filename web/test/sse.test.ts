// The stream of events, cut anywhere.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SseParser } from '../src/chat/sse'
import type { Frame } from '../src/chat/types'

const text = ': keep-alive\n\nid: 0\nevent: delta\ndata: {"text":"Grüße 👋🏽"}\n\nid: 1\r\nevent: delta\r\ndata: {"text":\r\ndata: "zwei"}\r\n\r\nid:2\nevent:done\ndata:{}\n\n'
const frames: Frame[] = [
  { id: 0, event: 'delta', data: { text: 'Grüße 👋🏽' } }, { id: 1, event: 'delta', data: { text: 'zwei' } }, { id: 2, event: 'done', data: {} },
]
const bytes = new TextEncoder().encode(text)

test('A whole stream is read', () => {
  assert.deepEqual(new SseParser().push(bytes), frames)
})

test('Cut at any one byte, it reads the same', () => {
  for (let at = 0; at <= bytes.length; at++) {
    const parser = new SseParser()
    assert.deepEqual([...parser.push(bytes.subarray(0, at)), ...parser.push(bytes.subarray(at))], frames, `cut at ${at}`)
  }
})

test('Byte by byte, it reads the same', () => {
  const parser = new SseParser()
  assert.deepEqual(Array.from(bytes, (byte) => parser.push(Uint8Array.of(byte))).flat(), frames)
})

test('What is not whole is not told', () => {
  assert.deepEqual(new SseParser().push(new TextEncoder().encode('id: 0\nevent: delta\ndata: {"text":"x"}\n')), [])
})

test('Events without a number, and data that is no JSON, are passed over', () => {
  const parser = new SseParser()
  assert.deepEqual(parser.push(new TextEncoder().encode('event: delta\ndata: {}\n\nid: 4\ndata: {oops\n\nid: x\ndata: {}\n\nid: 5\ndata: {}\n\n')), [{ id: 5, event: 'message', data: {} }])
})
