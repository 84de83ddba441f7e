// The official client of AG-UI, of this version and of the one before 1.0: its verifier, and what its reducer makes of a
// stream.
import * as current from '@ag-ui/client'
import * as old from '@ag-ui/client-old'
import { stage } from './stage.mjs'
import { collectWarnings } from './warnings.mjs'

const user = { id: 'user-1', role: 'user', content: 'Look around.' }
export const next = { id: 'user-2', role: 'user', content: 'And now?' }

function pendingCalls(messages) {
  const answered = new Set(messages.filter((m) => m.role === 'tool').map((m) => m.toolCallId))
  return messages.flatMap((m) => m.toolCalls ?? []).filter((call) => !answered.has(call.id))
}

// What a client does before it goes on: answers what is asked, or carries out what is left to it.
function answers(agent, approved) {
  if (agent.pendingInterrupts.length > 0) {
    return {
      resume: agent.pendingInterrupts.map(({ id }) => ({
        interruptId: id,
        status: 'resolved',
        payload: { approved },
      })),
    }
  }
  for (const call of pendingCalls(agent.messages)) {
    agent.addMessage({ id: `answer-${call.id}`, role: 'tool', toolCallId: call.id, content: 'here' })
  }
  return {}
}

// What the client begins the next run with. `afterwards` is a run of its own, after all that was asked is answered.
function inputOf(agent, segment, segments, approved) {
  if (segment === segments.length) agent.addMessage(next)
  return segment === 0 || segment === segments.length ? {} : answers(agent, approved)
}

async function watch(agent, streams, segments, approved, seen) {
  for (let segment = 0; segment < streams.length; ++segment) {
    const told = []
    try {
      await agent.runAgent(inputOf(agent, segment, segments, approved), {
        onEvent: ({ event }) => void told.push(event),
      })
    } catch (failure) {
      seen.failure = failure
    }
    seen.events.push(...told)
    const last = told.at(-1)
    if (last?.type === 'RUN_ERROR') {
      seen.errors.push(`${last.code}: ${last.message}`)
      seen.failure = undefined
      seen.warnings.length = 0
    } else if (last?.type !== 'RUN_FINISHED') {
      seen.refused = `the stream was given up after ${last?.type}`
    }
    if (seen.failure) seen.refused = String(seen.failure)
    if (seen.refused) break
  }
  seen.messages = agent.messages
}

// What was seen: { refused, errors, events, messages, warnings }.
async function judge({ HttpAgent }, segments, { approved = true, afterwards } = {}) {
  const streams = afterwards ? [...segments, afterwards] : segments
  const scene = await stage(streams)
  const seen = { events: [], errors: [], warnings: [], refused: undefined, messages: [] }
  try {
    const agent = new HttpAgent({ url: scene.url, threadId: 'thread-1', initialMessages: [user] })
    await collectWarnings(seen.warnings, () => watch(agent, streams, segments, approved, seen))
  } finally {
    scene.close()
  }
  if (!seen.refused && seen.warnings.length > 0) seen.refused = `it warns: ${seen.warnings.join('; ')}`
  return seen
}

export const judgeCurrent = (segments, story) => judge(current, segments, story)
export const judgeOld = (segments, story) => judge(old, segments, story)
