// Folding the frames of a turn gives the message that is persisted, whatever way they come in.
import assert from 'node:assert/strict'
import { test } from 'node:test'
// @ts-expect-error the fake is plain JavaScript
import { messageOf } from '../dev/fold.mjs'
// @ts-expect-error the fake is plain JavaScript
import { play } from '../dev/script.mjs'
// @ts-expect-error the fake is plain JavaScript
import { scenes } from '../dev/scenes.mjs'
import { applyFrame, cutNote, emptyTurn, firstBytes, outputBytesMax } from '../src/chat/fold'
import { rowsOf, textOf } from '../src/chat/rows'
import type { Frame, Message } from '../src/chat/types'

async function played(script: string): Promise<Frame[]> {
  const frames: Frame[] = []
  const emit = (event: string, data: unknown) => { frames.push({ id: frames.length, event, data: structuredClone(data) }) }
  emit('chat', { chatId: 'con_1', streamId: 'run_1', userMessageId: 'msg_1', messageId: 'msg_2', title: 'T', createdAt: 7 })
  const turn = {
    emit, stopped: new AbortController().signal, files: new Map(), wordMs: 0, asset: () => {},
    gate: async ({ reason, items }: { reason: string; items: unknown }) => {
      const told = { approvalId: 'apr_1', reason, items, expiresAt: 9 }
      emit('approval', { ...told, status: 'pending' })
      emit('approval', { ...told, status: 'approved' })
      return 'approved'
    },
  }
  await play(turn, script)
  return frames
}

function folded(frames: Frame[]): Message {
  const turn = emptyTurn('', 7)
  for (const frame of frames) assert.equal(applyFrame(turn, frame), true)
  return turn.message
}

const scripts: Record<string, string> = {
  'a scene': Object.values(scenes)[0] as string,
  'text that is taken back': 'say Grüße, 世界 👋🏽.\nretake Better.\nsay And on.',
  'steps, sub-agents and custom events': 'think a\nsay b\n$ echo c\n$ false\nsub s: d\ncustom n {"x":[1,{"y":"z"}]}\nthink e\nsay f',
  'a step that is done again, and a sub-agent that speaks': '$ echo a\nsub s: many words one by one\nsub t: more',
  'files that change again': 'write a/b.txt: one\nwrite a/b.txt: two\nsay in between\nedit a/b.txt: two -> three\nedit a/b.txt: nothing -> x',
  'a diff of the turn alone': 'custom sluice.run-diff {"diff":"a"}\nwrite a.txt: one\nsay b',
  'a loud command': 'loud 9000\nsay done',
  'a flood': 'flood 2000 1000000',
}

for (const [name, script] of Object.entries(scripts)) {
  test(`Folding ${name} gives what is persisted`, async () => {
    const frames = await played(script)
    assert.deepEqual(folded(frames), messageOf(frames, { id: 'msg_2', createdAt: 7, status: 'completed' }))
  })
}

test('Frames that come twice, as after a reattach, are folded once', async () => {
  const frames = await played(scripts['a scene']!)
  const turn = emptyTurn('', 7)
  for (let i = 0; i < frames.length; i += 5) {
    for (const frame of frames.slice(Math.max(0, i - 7), i + 5)) assert.equal(applyFrame(turn, frame), true)
  }
  assert.deepEqual(turn.message, folded(frames))
})

test('A frame that is missing is noticed, and nothing after it is folded', () => {
  const turn = emptyTurn()
  assert.equal(applyFrame(turn, { id: 0, event: 'delta', data: { text: 'a' } }), true)
  assert.equal(applyFrame(turn, { id: 2, event: 'delta', data: { text: 'c' } }), false)
  assert.equal(turn.lastId, 0)
  assert.equal(textOf(turn.message.content), 'a')
})

test('The result has the last word, and blocks that are as they were stay the same objects', async () => {
  const frames = await played('say One.\n$ echo two')
  const turn = emptyTurn()
  for (const frame of frames) applyFrame(turn, frame)
  const before = turn.message.content
  const message: Message = { ...structuredClone(turn.message), usage: { inputTokens: 1, outputTokens: 2 } }
  message.content.push({ type: 'assets', files: [] })
  applyFrame(turn, { id: frames.length, event: 'result', data: { messageId: 'msg_2', message, usage: message.usage } })
  assert.equal(turn.message.content[0], before[0])
  assert.equal(turn.message.content[1], before[1])
  assert.equal(turn.message.content.length, before.length + 1)
  assert.equal(turn.over, false)
  applyFrame(turn, { id: frames.length + 1, event: 'done', data: {} })
  assert.equal(turn.over, true)
})

test('An error without a message marks what has come as failed', () => {
  const turn = emptyTurn()
  applyFrame(turn, { id: 0, event: 'delta', data: { text: 'Half' } })
  applyFrame(turn, { id: 1, event: 'error', data: { code: 'run-cancelled', message: 'It was stopped.' } })
  assert.equal(turn.message.status, 'cancelled')
  assert.equal(textOf(turn.message.content), 'Half')
})

test('Filler and the place in the queue are gone with the next thing that happens', () => {
  const turn = emptyTurn()
  applyFrame(turn, { id: 0, event: 'queued', data: { position: 2, retryHintSeconds: 9 } })
  assert.equal(turn.queued?.position, 2)
  applyFrame(turn, { id: 1, event: 'filler', data: { text: 'One moment…' } })
  assert.equal(turn.queued, null)
  assert.equal(turn.filler, 'One moment…')
  applyFrame(turn, { id: 2, event: 'delta', data: { text: 'x' } })
  assert.equal(turn.filler, null)
  assert.deepEqual(turn.message.content, [{ type: 'text', text: 'x' }])
})

test('Events that nobody knows yet are passed over', () => {
  const turn = emptyTurn()
  assert.equal(applyFrame(turn, { id: 0, event: 'hologram', data: { shape: 'cube' } }), true)
  assert.deepEqual(turn.message.content, [])
})

test('Output is cut at its limit, never inside a letter', () => {
  assert.equal(firstBytes('aé', 2), 'a')
  assert.equal(firstBytes('aé', 3), 'aé')
  assert.equal(firstBytes('👋', 3), '')
  const turn = emptyTurn()
  applyFrame(turn, { id: 0, event: 'step', data: { id: 's', name: 'bash', status: 'running', ts: 1 } })
  for (let i = 1; i <= 3000; i++) applyFrame(turn, { id: i, event: 'output', data: { id: 's', stream: 'stdout', text: 'öäü\n' } })
  const step = turn.message.content[0] as { output: string }
  assert.ok(step.output.endsWith(cutNote))
  assert.ok(new TextEncoder().encode(step.output.slice(0, -cutNote.length)).length <= outputBytesMax)
  assert.ok(turn.tails.get('s')!.length < 25_000)
})

test('Text that a file interrupts is one row', () => {
  const rows = rowsOf([
    { type: 'text', text: 'One sen' }, { type: 'files', files: [{ type: 'create', path: 'a' }] }, { type: 'text', text: 'tence.' },
    { type: 'step', id: '1', name: 'bash', status: 'running' }, { type: 'text', text: 'Two.' },
  ])
  assert.deepEqual(rows.map((row) => row.block.type), ['text', 'step', 'text'])
  assert.equal((rows[0]!.block as { text: string }).text, 'One sentence.')
})

test('Rows of blocks that did not change are the same objects', () => {
  const blocks = [{ type: 'text', text: 'a' } as const, { type: 'step', id: '1', name: 'x', status: 'running' } as const]
  const first = rowsOf(blocks)
  const second = rowsOf([...blocks, { type: 'text', text: 'b' }])
  assert.equal(first[0], second[0])
  assert.equal(first[1], second[1])
})
