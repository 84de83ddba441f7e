// Feeds every recorded stream (src/wire/testdata/agui) to the client it is for, and compares what the client made of it
// with what the run's history says it is.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import assert from 'node:assert/strict'
import { judgeCurrent, judgeOld, next } from './agui_judge.mjs'
import { judgeTanstack } from './tanstack_judge.mjs'
import { strays } from './warnings.mjs'

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

const historyOf = (story) => JSON.parse(fs.readFileSync(path.join(goldens, `${story}.messages.json`), 'utf8'))

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

// Another run in the same thread: its messages have names of their own.
const renamed = (text) => text.replaceAll('msg_', 'msg_next_')
const afterwardsFor = (peer) => renamed(segmentsOf('text', peer)[0])
const [, ...said] = historyOf('text')
const withNext = (history) => [...history, next, ...said.map((message) => ({ ...message, id: renamed(message.id) }))]

const failures = []
// Each client mostly waits, so several are heard at once; what they made of it is printed in the order of this file.
const atOnce = 10
const hearings = []
const hear = (title, judge, check) => void hearings.push(async () => {
  const seen = await judge()
  return () => report(title, seen, check)
})

function report(title, seen, check) {
  let trouble
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

// What must be refused.
const refuse = (judge, failure) => void hearings.push(async () => {
  const { refused } = await judge()
  return () => void (refused || failures.push(failure))
})

for (const story of stories) {
  const history = historyOf(story)
  hear(`${story} by AG-UI 1.0`, () => judgeCurrent(segmentsOf(story, 'current')), (seen) => agree(seen.messages, history))
  hear(`${story} by AG-UI 0.0.59`, () => judgeOld(segmentsOf(story, 'old')), (seen) => agree(seen.messages, history))
  const segments = segmentsOf(story, 'tanstack')
  const shows = (seen) => showsAll(seen.messages, history)
  hear(`${story} by TanStack AI`, () => judgeTanstack(segments), shows)
  const frames = segments[0].split('\n\n').length - 1
  hear(`${story} by TanStack AI, cut in the middle`, () => judgeTanstack(segments, { cut: frames >> 1 }), shows)
  hear(`${story} by TanStack AI, cut at the end`, () => judgeTanstack(segments, { cut: frames - 1, bare: true }), shows)
}

// Whoever was asked and has answered, also with no, can say more in the thread.
const all = [['AG-UI 1.0', judgeCurrent, 'current'], ['AG-UI 0.0.59', judgeOld, 'old'], ['TanStack AI', judgeTanstack, 'tanstack']]
for (const story of ['gate', 'denied']) {
  for (const [name, judge, peer] of all) {
    const told = { approved: story !== 'denied', afterwards: afterwardsFor(peer) }
    const check = peer === 'tanstack' ? showsAll : agree
    hear(`${story}, and then a message, by ${name}`, () => judge(segmentsOf(story, peer), told), (seen) =>
      check(seen.messages, withNext(historyOf(story))))
  }
}

// A judge that cannot say no says nothing.
const without = (stream, type) => stream.split('\n\n').filter((frame) => !frame.includes(type)).join('\n\n')
for (const [name, judge, peer] of all.slice(0, 2)) {
  const [text] = segmentsOf('text', peer)
  for (const type of ['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_END', 'RUN_FINISHED']) {
    refuse(() => judge([without(text, type)]), `${name} takes a stream without ${type}`)
  }
}
for (const [name, judge, peer] of all) {
  refuse(() => judge(segmentsOf('expired', peer), { afterwards: afterwardsFor(peer) }),
    `${name} takes a message while it waits for an answer`)
}
refuse(() => judgeTanstack([without(segmentsOf('text', 'tanstack')[0], 'RUN_FINISHED')]),
  'TanStack AI takes a stream without RUN_FINISHED')

const reports = []
const queue = hearings.entries() // which all of them take from
const work = async () => {
  for (const [place, hearing] of queue) reports[place] = await hearing()
}
await Promise.all(Array.from({ length: atOnce }, work))
for (const reportNow of reports) reportNow()
if (strays.length > 0) failures.push(`warnings that belong to no judgement:\n${strays.join('\n')}`)
for (const failure of failures) console.error(`\n${failure}`)
console.log(`${stories.length} stories, ${failures.length} refusals`)
process.exit(failures.length > 0 ? 1 : 0)
