// TanStack AI's chat client.
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client'
import { stage } from './stage.mjs'
import { collectWarnings } from './warnings.mjs'

const typeOfLast = (stream) => /.*"type":"(RUN_FINISHED|RUN_ERROR)"/s.exec(stream)?.[1]

const settled = async (client) => {
  // Whatever it still wants to do by itself, it does within some turns of the event loop.
  for (let quiet = 0; quiet < 40; quiet = client.getIsLoading() ? 0 : quiet + 1) {
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

const locate = {
  __toolSide: 'client',
  name: 'locate',
  description: 'Where the user is',
  execute: async () => 'here',
}

async function watch(url, segments, approved, afterwards, seen) {
  const client = new ChatClient({
    connection: fetchServerSentEvents(url, { reconnect: { delayMs: 1 } }),
    threadId: 'thread-1',
    tools: [locate],
    onChunk: (chunk) => seen.events.push(chunk),
    onError: (failure) => seen.errors.push(failure.message),
  })
  await client.sendMessage('Look around.')
  await settled(client)
  for (let segment = 1; segment < segments.length; ++segment) {
    const waiting = client.getInterrupts()
    if (waiting.some((item) => !item.canResolve)) seen.refused = `it cannot answer ${JSON.stringify(waiting)}`
    if (waiting.length > 0) client.resolveInterrupts((item) => item.resolveInterrupt({ approved }))
    await settled(client)
  }
  if (afterwards) await client.sendMessage('And now?')
  await settled(client)
  seen.messages = client.getMessages()
  seen.interrupts = client.getInterrupts()
  client.dispose()
}

// What was seen: { refused, errors, events, messages, asked }.
export async function judgeTanstack(segments, { approved = true, afterwards, ...cutting } = {}) {
  const streams = afterwards ? [...segments, afterwards] : segments
  const scene = await stage(streams, cutting)
  const seen = { events: [], errors: [], warnings: [], refused: undefined, messages: [], asked: scene.asked }
  try {
    await collectWarnings(seen.warnings, () => watch(scene.url, segments, approved, afterwards, seen))
  } catch (failure) {
    seen.refused = String(failure.stack ?? failure)
  } finally {
    scene.close()
  }
  const last = seen.events.at(-1)?.type
  const runs = seen.asked.filter((request) => request.last === undefined).length
  // It makes up an error of its own when it gives up.
  if (!seen.refused && last !== typeOfLast(streams.at(-1))) seen.refused = `it stopped with ${last}`
  if (!seen.refused && runs !== streams.length) seen.refused = `it asked for ${runs} runs, not ${streams.length}`
  if (!seen.refused && last === 'RUN_FINISHED' && seen.errors.length > 0) seen.refused = seen.errors.join('; ')
  return seen
}
