// Feeds every recorded stream (src/wire/testdata/agui) to the client it is for, and compares what the client made of it
// with what the run's history says it is.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import assert from 'node:assert/strict'
import { judgeCurrent, judgeOld } from './agui_judge.mjs'
import { judgeTanstack } from './tanstack_judge.mjs'

const goldens = path.join(fileURLToPath(import.meta.url), '../../../src/wire/testdata/agui')
const names = fs.readdirSync(goldens)
const stories = names.filter((name) => name.endsWith('.messages.json')).map((name) => name.split('.')[0])

function segmentsOf(story, peer) {
  const segments = []
  while (names.includes(`${story}.${segments.length}.${peer}.sse`)) {
    segments.push(fs.readFileSync(path.join(goldens, `${story}.${segments.length}.${peer}.sse`), 'utf8'))
  }
  return segments
}

// A message as far as both sides must agree on it. A client names its own tool's answers itself.
const essence = ({ id, role, content, toolCalls, toolCallId }) => ({
  id: role === 'tool' && id.startsWith('answer-') ? undefined : id,
  role,
  content: content || undefined,
  toolCalls,
  toolCallId,
})

function agree(messages, history) {
  const own = messages.filter((message) => message.subagentRunId === undefined).map(essence)
  const expected = history.map((message, index) =>
    own[index]?.role === 'tool' && own[index].id === undefined ? { ...message, id: 'answer-' } : message)
  assert.deepEqual(own, expected.map(essence))
}

const wordsOf = (history) => history.filter((m) => m.role === 'assistant').map((m) => m.content ?? '').join('')
const wordsShown = (messages) =>
  messages.filter((m) => m.role === 'assistant').flatMap((m) => m.parts).filter((part) => part.type === 'text')
    .map((part) => part.content).join('')

function showsAll(messages, history) {
  assert.equal(wordsShown(messages), wordsOf(history))
  const parts = messages.flatMap((message) => message.parts)
  for (const { toolCallId, content, error } of history.filter((m) => m.role === 'tool')) {
    const call = parts.find((part) => part.type === 'tool-call' && part.id === toolCallId)
    assert.deepEqual([call?.output, call?.state], [content, error ? 'error' : 'complete'])
  }
}

const failures = []
async function hear(title, judge, check) {
  let trouble
  const seen = await judge()
  try {
    trouble = seen.refused
    if (!trouble) check(seen)
  } catch (disagreement) {
    trouble = disagreement.message
  }
  console.log(`${trouble ? 'REFUSED ' : 'accepted'} ${title}: ${seen.events.length} events, ` +
    `${seen.messages.length} messages${seen.errors.length > 0 ? `, error ${seen.errors.join('; ')}` : ''}`)
  if (trouble) failures.push(`${title}: ${trouble}\n${seen.warnings.join('\n')}`)
}

for (const story of stories) {
  const history = JSON.parse(fs.readFileSync(path.join(goldens, `${story}.messages.json`), 'utf8'))
  await hear(`${story} by AG-UI 1.0`, () => judgeCurrent(segmentsOf(story, 'current')), (seen) => agree(seen.messages, history))
  await hear(`${story} by AG-UI 0.0.59`, () => judgeOld(segmentsOf(story, 'old')), (seen) => agree(seen.messages, history))
  const segments = segmentsOf(story, 'tanstack')
  const shows = (seen) => showsAll(seen.messages, history)
  await hear(`${story} by TanStack AI`, () => judgeTanstack(segments), shows)
  const frames = segments[0].split('\n\n').length - 1
  await hear(`${story} by TanStack AI, cut in the middle`, () => judgeTanstack(segments, { cut: frames >> 1 }), shows)
  await hear(`${story} by TanStack AI, cut at the end`, () => judgeTanstack(segments, { cut: frames - 1, bare: true }), shows)
}

// A judge that cannot say no says nothing.
const without = (stream, type) => stream.split('\n\n').filter((frame) => !frame.includes(type)).join('\n\n')
for (const [name, judge, peer] of [['AG-UI 1.0', judgeCurrent, 'current'], ['AG-UI 0.0.59', judgeOld, 'old']]) {
  const [text] = segmentsOf('text', peer)
  for (const type of ['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_END', 'RUN_FINISHED']) {
    const { refused } = await judge([without(text, type)])
    if (!refused) failures.push(`${name} takes a stream without ${type}`)
  }
}
const { refused } = await judgeTanstack([without(segmentsOf('text', 'tanstack')[0], 'RUN_FINISHED')])
if (!refused) failures.push('TanStack AI takes a stream without RUN_FINISHED')

for (const failure of failures) console.error(`\n${failure}`)
console.log(`${stories.length} stories, ${failures.length} refusals`)
process.exit(failures.length > 0 ? 1 : 0)
