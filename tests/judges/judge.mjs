// node judge.mjs current|old|tanstack FILE|URL…: what that client makes of a run's streams, one for each segment. A URL is
// posted to as the client would. Says what was seen; exits with 1 when the client refuses it.
import fs from 'node:fs'
import { judgeCurrent, judgeOld } from './agui_judge.mjs'
import { judgeTanstack } from './tanstack_judge.mjs'

const judges = { current: judgeCurrent, old: judgeOld, tanstack: judgeTanstack }
const [peer, ...sources] = process.argv.slice(2)
if (!judges[peer] || sources.length === 0) {
  console.error(`usage: node judge.mjs ${Object.keys(judges).join('|')} FILE|URL…`)
  process.exit(2)
}

async function streamOf(source) {
  if (!/^https?:/.test(source)) return fs.readFileSync(source, 'utf8')
  const input = { threadId: 'thread-1', runId: `judged-${Date.now()}`, state: {}, tools: [], context: [], forwardedProps: {} }
  input.messages = [{ id: 'user-1', role: 'user', content: 'Look around.' }]
  if (peer === 'current') input.protocolVersion = '1.0'
  if (peer === 'tanstack') input.data = {}
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
  if (process.env.SLUICE_KEY) headers.authorization = `Bearer ${process.env.SLUICE_KEY}`
  const response = await fetch(source, { method: 'POST', headers, body: JSON.stringify(input) })
  if (!response.ok) throw new Error(`${source} answered ${response.status}: ${await response.text()}`)
  return response.text()
}

const seen = await judges[peer](await Promise.all(sources.map(streamOf)))
for (const event of seen.events) console.log(JSON.stringify(event))
console.log(JSON.stringify(seen.messages, null, 2))
for (const words of [...seen.errors, ...seen.warnings]) console.log(words)
console.log(seen.refused ? `REFUSED: ${seen.refused}` : 'accepted')
process.exit(seen.refused ? 1 : 0)
