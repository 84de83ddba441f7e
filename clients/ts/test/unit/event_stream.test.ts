// I-24: the parsing recipe, byte by byte.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CorruptStreamError, EventStream } from '@sluice/client'
import type { Line } from '@sluice/client'
import { lineBytesMax } from '../../dist/lines.js'
import { delta, end, failure, line, start, text, whole } from './wire.js'

const encoder = new TextEncoder()

function feed(stream: EventStream, bytes: Uint8Array): Line[] {
  return [...stream.feed(bytes)]
}

function textOf(lines: Line[]): string {
  return lines.map(({ event }) => (event.type === 'content_delta' ? (event.data as { text: string }).text : '')).join('')
}

test('I-24 a stream cut in two at every byte reads the same', () => {
  const bytes = encoder.encode(whole)
  for (let at = 0; at <= bytes.length; at += 1) {
    const stream = new EventStream()
    const lines = [...feed(stream, bytes.slice(0, at)), ...feed(stream, bytes.slice(at))]
    assert.equal(lines.length, 5)
    assert.equal(textOf(lines), text)
    assert.ok(stream.complete)
  }
})

test('I-24 a stream that comes byte by byte reads the same, and the buffer may be used again', () => {
  const stream = new EventStream()
  const one = new Uint8Array(1)
  const lines: Line[] = []
  for (const byte of encoder.encode(whole)) {
    one[0] = byte
    lines.push(...feed(stream, one))
  }
  assert.equal(textOf(lines), text)
})

test('I-24 blank lines are skipped, CR before LF too', () => {
  const stream = new EventStream()
  const lines = feed(stream, encoder.encode('\n\r\n  \n' + whole.replaceAll('\n', '\r\n\n') + '\n'))
  assert.equal(lines.length, 5)
  assert.ok(stream.complete)
})

test('I-24 unknown types are told apart, and count in seq', () => {
  const lines = feed(new EventStream(), encoder.encode(start() + line(1, 'from_the_future', { x: 1 }) + end(2)))
  assert.deepEqual(lines.map(({ known }) => known), [true, false, true])
})

test('I-24 a gap, a repetition and a wrong beginning are corruption; what came before stands', () => {
  for (const [lines, told] of [
    [start() + delta(2, 'x'), 1],
    [start() + delta(1, 'x') + delta(1, 'x'), 2],
    [start(1), 0],
  ] as const) {
    for (const piece of [1, 7, 10_000]) {
      const stream = new EventStream()
      const heard: Line[] = []
      const bytes = encoder.encode(lines)
      assert.throws(() => {
        for (let at = 0; at < bytes.length; at += piece) for (const event of stream.feed(bytes.slice(at, at + piece))) heard.push(event)
      }, CorruptStreamError)
      assert.equal(heard.length, told, 'however the bytes were split')
      assert.ok(!stream.complete)
    }
  }
})

test('I-24 a stream is over with its terminal event and not before', () => {
  for (const [lines, complete] of [
    [start() + delta(1, 'x'), false],
    [whole, true],
    [start() + failure(1), true],
    [whole.slice(0, -1), false],
    ['', false],
  ] as const) {
    const stream = new EventStream()
    feed(stream, encoder.encode(lines))
    assert.equal(stream.complete, complete)
  }
})

test('I-24 nothing may follow the terminal event', () => {
  assert.throws(() => feed(new EventStream(), encoder.encode(whole + delta(5, 'x'))), /follows the terminal/)
})

test('I-24 what is not an event is corruption', () => {
  for (const bad of ['{', '[]', 'null', '1', '{}', '{"type":"x"}', '{"type":"x","seq":"0","data":{}}', '{"type":"x","seq":0}', '{"type":"message_end","seq":0,"data":{}}']) {
    assert.throws(() => feed(new EventStream(), encoder.encode(bad + '\n')), CorruptStreamError, bad)
  }
  assert.throws(() => feed(new EventStream(), Uint8Array.of(0x22, 0xc3, 0x28, 0x22, 0x0a)), /not UTF-8/)
})

test('I-24 a line without end does not fill the memory', () => {
  const stream = new EventStream()
  const megabyte = new Uint8Array(1024 * 1024).fill(0x20)
  assert.throws(() => {
    for (let n = 0; n <= lineBytesMax / megabyte.length; n += 1) feed(stream, megabyte)
  }, /longer than 16 MiB/)
})
