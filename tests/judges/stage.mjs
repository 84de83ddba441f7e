// A server that tells recorded streams: to each request the next one, as if the run in it were the one asked for.
import http from 'node:http'

const runIdIn = (text) => /"runId":"([^"]+)"/.exec(text)?.[1]

async function read(request) {
  let body = ''
  for await (const piece of request) body += piece
  return body === '' ? {} : JSON.parse(body)
}

// `cut`: the first answer breaks off after that many frames; the client may come back with the last id it saw, and is told
// the rest. `bare`: without ids, as the end is told to those who have it already.
export async function stage(segments, { cut, bare = false } = {}) {
  const asked = []
  const names = new Map() // what the recording calls a run: what the client calls it
  let told = 0
  const server = http.createServer(async (request, response) => {
    const input = await read(request)
    const last = request.headers['last-event-id']
    asked.push({ input, last })
    const index = last === undefined ? told++ : told - 1
    const recorded = segments[index]
    if (recorded === undefined) return response.writeHead(500).end('nobody should have asked again')
    if (input.runId) names.set(runIdIn(recorded), input.runId)
    let text = recorded
    for (const [theirs, ours] of names) text = text.replaceAll(theirs, ours)
    let frames = text.split('\n\n').filter(Boolean).map((frame) => frame + '\n\n')
    if (last !== undefined) frames = frames.slice(frames.findIndex((frame) => frame.startsWith(`id: ${last}\n`)) + 1)
    else if (cut !== undefined) frames = frames.slice(0, cut)
    if (last !== undefined && bare) frames = frames.map((frame) => frame.slice(frame.indexOf('data: ')))
    // Each answer ends its connection: one that is kept is closed by either side after some seconds, and on a busy machine
    // that is just when the client sends its next request on it.
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
    response.end(frames.join(''))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/agui`,
    asked,
    close: () => server.close(),
  }
}
