// The official client of AG-UI, of this version and of the one before 1.0: its verifier, and what its reducer makes of a
// stream.
import * as current from '@ag-ui/client'
import * as old from '@ag-ui/client-old'
import { stage } from './stage.mjs'

const user = { id: 'user-1', role: 'user', content: 'Look around.' }

function pendingCalls(messages) {
  const answered = new Set(messages.filter((m) => m.role === 'tool').map((m) => m.toolCallId))
  return messages.flatMap((m) => m.toolCalls ?? []).filter((call) => !answered.has(call.id))
}

// What a client does before it goes on: answers what is asked, or carries out what is left to it.
function answers(agent) {
  if (agent.pendingInterrupts.length > 0) {
    return {
      resume: agent.pendingInterrupts.map(({ id }) => ({
        interruptId: id,
        status: 'resolved',
        payload: { approved: true },
      })),
    }
  }
  for (const call of pendingCalls(agent.messages)) {
    agent.addMessage({ id: `answer-${call.id}`, role: 'tool', toolCallId: call.id, content: 'here' })
  }
  return {}
}

// What was seen: { refused, errors, events, messages, warnings }.
async function judge({ HttpAgent }, segments) {
  const scene = await stage(segments)
  const seen = { events: [], errors: [], warnings: [], refused: undefined, messages: [] }
  const { warn, error } = console
  console.warn = console.error = (...words) => seen.warnings.push(words.join(' '))
  try {
    const agent = new HttpAgent({ url: scene.url, threadId: 'thread-1', initialMessages: [user] })
    for (let segment = 0; segment < segments.length; ++segment) {
      const told = []
      try {
        await agent.runAgent(segment === 0 ? {} : answers(agent), {
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
        seen.warnings = []
      } else if (last?.type !== 'RUN_FINISHED') {
        seen.refused = `the stream was given up after ${last?.type}`
      }
      if (seen.failure) seen.refused = String(seen.failure)
      if (seen.refused) break
    }
    seen.messages = agent.messages
  } finally {
    Object.assign(console, { warn, error })
    scene.close()
  }
  if (!seen.refused && seen.warnings.length > 0) seen.refused = `it warns: ${seen.warnings.join('; ')}`
  return seen
}

export const judgeCurrent = (segments) => judge(current, segments)
export const judgeOld = (segments) => judge(old, segments)
