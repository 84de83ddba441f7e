// Plays the directives of docs/offline-model.md as frames of a chat's stream, and a few that only a fake needs:
//   queue N MS · filler TEXT · file PATH: TEXT (an answer's asset) · sub NAME: TEXT · custom NAME {json}
//   flood N RATE (N events of all kinds, RATE a second) · loud N (a command that prints N lines) · retake TEXT
import { setTimeout as wait } from 'node:timers/promises'
import { id } from './problem.mjs'
import { prints } from './scenes.mjs'

export class Stopped extends Error {}
export class Failed extends Error {
  constructor(status, message) { super(message); this.status = status }
}

// turn: {emit(event, data), stopped: AbortSignal, gate(request) → Promise<'approved'|'denied'>, asset(name, text), files: Map}
export async function play(turn, text) {
  const state = { calls: 0, last: '', said: '', tree: new Map(turn.files) }
  for (const line of text.split('\n').filter((line) => line.trim())) {
    await act(turn, state, line)
    if (turn.stopped.aborted) throw new Stopped()
  }
  const [own, whole] = [diffOf(turn.files, state.tree), diffOf(new Map(), state.tree)]
  if (own !== whole) turn.emit('custom', { name: 'sluice.run-diff', value: { diff: own } })
  if (whole) turn.emit('diff', { diff: whole })
  turn.files = state.tree
  return { inputTokens: text.length, outputTokens: state.said.length }
}

const directives = [
  [/^say (.*)$/, (turn, state, text) => words(turn, state, 'delta', line(state, text.replaceAll('{{last}}', state.last)))],
  [/^put (.*)$/, (turn, state, text) => tell(turn, state, text)],
  [/^think (.*)$/, (turn, state, text) => words(turn, state, 'reasoning', text + '\n')],
  [/^\$ (.*)$/, (turn, state, command) => bash(turn, state, command)],
  [/^loud (\d+)$/, (turn, state, count) => loud(turn, state, Number(count))],
  [/^write (\S+): (.*)$/, (turn, state, path, content) => write(turn, state, path, content.replaceAll('\\n', '\n'))],
  [/^edit (\S+): (.*?) -> (.*)$/, (turn, state, path, old, made) => edit(turn, state, path, old, made.replaceAll('\\n', '\n'))],
  [/^read (\S+)$/, (turn, state, path) => read(turn, state, path)],
  [/^ask (.*)$/, (turn, state, reason) => ask(turn, state, 'request_approval', reason, [{ kind: 'action', description: reason, call: { id: 'call_0', name: 'bash', arguments: '{"command":"psql -c delete"}' } }])],
  [/^need ([A-Z][A-Z0-9_]*)(?: for (\S+))?: (.*?)(?: because (.*))?$/, (turn, state, alias, host, description, reason) =>
    ask(turn, state, 'request_secret', reason ?? description, [{ kind: 'secret', description, alias, ...(host ? { hosts: [host] } : {}) }])],
  [/^tokens (\d+)(?: (\d+))?$/, (turn, state, count, rate) => tokens(turn, state, Number(count), Number(rate ?? 0))],
  [/^flood (\d+) (\d+)$/, (turn, state, count, rate) => flood(turn, state, Number(count), Number(rate))],
  [/^sleep (\d+)$/, (turn, state, ms) => pause(turn, Number(ms))],
  [/^queue (\d+) (\d+)$/, (turn, state, count, ms) => queue(turn, Number(count), Number(ms))],
  [/^filler (.*)$/, (turn, state, text) => turn.emit('filler', { text })],
  [/^file (\S+): (.*)$/, (turn, state, name, text) => turn.asset(name, text.replaceAll('\\n', '\n'))],
  [/^sub (\S+): (.*)$/, (turn, state, name, text) => subagent(turn, name, text)],
  [/^custom (\S+) (\{.*\})$/, (turn, state, name, value) => turn.emit('custom', { name, value: JSON.parse(value) })],
  [/^retake (.*)$/, (turn, state, text) => retake(turn, state, text)],
  [/^fail (\d+) (.*)$/, (turn, state, status, text) => { throw new Failed(Number(status), text) }],
  [/^hang$/, (turn) => pause(turn, 86_400_000)],
]

async function act(turn, state, text) {
  for (const [pattern, does] of directives) {
    const found = pattern.exec(text)
    if (found) return does(turn, state, ...found.slice(1))
  }
  await words(turn, state, 'delta', line(state, `You said: ${text}`))
}

const line = (state, text) => (state.said ? '\n' : '') + text.replaceAll('\\n', '\n')

function tell(turn, state, text) {
  state.said += text
  turn.emit('delta', { text })
}

async function pause(turn, ms) {
  await wait(ms, undefined, { signal: turn.stopped }).catch(() => { throw new Stopped() })
}

async function words(turn, state, event, text) {
  for (const word of text.match(/\s*\S+\s*?(?=\s|$)|\s+/g) ?? [text]) {
    if (event === 'delta') state.said += word
    turn.emit(event, { text: word })
    await pause(turn, turn.wordMs)
  }
}

function begin(turn, state, name, args) {
  const step = { id: `call_${++state.calls}`, name }
  turn.emit('step', { ...step, status: 'running', args, ts: Date.now() })
  return step
}

function end(turn, state, step, result, ms, error) {
  state.last = typeof result === 'string' ? result : JSON.stringify(result)
  turn.emit('step', { ...step, status: error ? 'failed' : 'succeeded', ...(error ? { error } : { result }), durationMs: ms, ts: Date.now() })
}

async function bash(turn, state, command) {
  const step = begin(turn, state, 'bash', { command })
  const printed = prints[command] ?? (command.startsWith('echo ') ? command.slice(5) + '\n' : `${command}: done\n`)
  await pause(turn, turn.wordMs * 4)
  if (command.startsWith('false')) {
    turn.emit('output', { id: step.id, stream: 'stderr', text: 'it did not work\n' })
    return end(turn, state, step, undefined, 21, 'The command ended with status 1.')
  }
  for (const part of printed.match(/[^\n]*\n/g)) {
    turn.emit('output', { id: step.id, stream: 'stdout', text: part })
    await pause(turn, turn.wordMs * 2)
  }
  end(turn, state, step, printed.trimEnd(), 84)
}

async function loud(turn, state, count) {
  const args = { command: `seq ${count}` }
  const step = begin(turn, state, 'bash', args)
  for (let i = 1; i <= count; i += 50) {
    turn.emit('output', { id: step.id, stream: 'stdout', text: Array.from({ length: Math.min(50, count - i + 1) }, (_, k) => `line ${i + k}\n`).join('') })
    await pause(turn, 5)
  }
  end(turn, state, step, `${count} lines`, 5 * count)
}

async function write(turn, state, path, content) {
  const args = { path, content }
  const step = begin(turn, state, 'write', args)
  await pause(turn, turn.wordMs * 3)
  turn.emit('file', { type: state.tree.has(path) ? 'change' : 'create', path, ts: Date.now() })
  state.tree.set(path, content)
  end(turn, state, step, `${content.length} bytes written`, 6)
}

async function edit(turn, state, path, old, made) {
  const args = { path, old, new: made }
  const step = begin(turn, state, 'edit', args)
  await pause(turn, turn.wordMs * 3)
  const content = state.tree.get(path)
  if (content === undefined || !content.includes(old)) return end(turn, state, step, undefined, 2, `There is no "${old}" in ${path}.`)
  state.tree.set(path, content.replace(old, made))
  turn.emit('file', { type: 'change', path, ts: Date.now() })
  end(turn, state, step, '1 place changed', 4)
}

async function read(turn, state, path) {
  const step = begin(turn, state, 'read', { path })
  await pause(turn, turn.wordMs)
  const content = state.tree.get(path)
  end(turn, state, step, content, 1, content === undefined ? `${path} is not there.` : undefined)
}

async function ask(turn, state, tool, reason, items) {
  const step = begin(turn, state, tool, { reason })
  const decision = await turn.gate({ reason, items })
  if (decision !== 'approved') throw new Failed(403, `The approval was ${decision}.`)
  end(turn, state, step, 'approved', 900)
}

async function tokens(turn, state, count, rate) {
  for (let i = 1; i <= count; i++) {
    tell(turn, state, (i === 1 ? line(state, '') : ' ') + `w${i}`)
    if (rate) await pause(turn, 1000 / rate)
    else if (i % 500 === 0) await pause(turn, 1)
  }
}

// A busy run: of every ten events six are text, two are steps and two are what those print.
async function flood(turn, state, count, rate) {
  const started = Date.now()
  let step = null
  for (let i = 0; i < count; i++) {
    const kind = i % 10
    if (kind === 3) step = begin(turn, state, 'bash', { command: `make part-${i}` })
    else if (kind === 4 || kind === 5) turn.emit('output', { id: step.id, stream: 'stdout', text: `part ${i}: compiled\n` })
    else if (kind === 6) end(turn, state, step, 'ok', 40)
    else tell(turn, state, kind === 0 ? `\n\nPart ${i} of ${count}: ` : `word${i} `)
    const ahead = started + ((i + 1) * 1000) / rate - Date.now()
    if (ahead > 4) await pause(turn, ahead)
  }
}

async function queue(turn, count, ms) {
  for (let position = count; position > 0; position--) {
    turn.emit('queued', { position, retryHintSeconds: position * 12 })
    await pause(turn, ms)
  }
}

async function subagent(turn, name, text) {
  const sub = { id: id('sub'), name }
  turn.emit('subagent', { ...sub, status: 'running' })
  for (const word of text.split(/(?= )/)) {
    await pause(turn, turn.wordMs * 3)
    turn.emit('subagent', { ...sub, status: 'running', text: word })
  }
  turn.emit('subagent', { ...sub, status: 'succeeded' })
}

async function retake(turn, state, text) {
  const kept = Buffer.byteLength(state.said)
  await words(turn, state, 'delta', '\nThis will be taken back.')
  turn.emit('replace', { keptBytes: kept })
  state.said = Buffer.from(state.said).subarray(0, kept).toString()
  await words(turn, state, 'delta', line(state, text))
}

// Enough of a diff for a screen: what is common at both ends stays, the middle is exchanged.
function diffOf(before, after) {
  let out = ''
  for (const path of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const [old, made] = [before.get(path), after.get(path)]
    if (old === made) continue
    const a = old === undefined ? [] : old.replace(/\n$/, '').split('\n')
    const b = made === undefined ? [] : made.replace(/\n$/, '').split('\n')
    let head = 0
    while (head < a.length && head < b.length && a[head] === b[head]) head++
    let tail = 0
    while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
    const from = Math.max(0, head - 3)
    const rest = Math.min(3, tail)
    const lines = [
      ...a.slice(from, head).map((text) => ` ${text}`), ...a.slice(head, a.length - tail).map((text) => `-${text}`),
      ...b.slice(head, b.length - tail).map((text) => `+${text}`), ...a.slice(a.length - tail, a.length - tail + rest).map((text) => ` ${text}`),
    ]
    const [lengthA, lengthB] = [a.length - tail + rest - from, b.length - tail + rest - from]
    out += `diff --git a/${path} b/${path}\n` + (old === undefined ? 'new file mode 100644\n' : made === undefined ? 'deleted file mode 100644\n' : '')
    out += `--- ${old === undefined ? '/dev/null' : `a/${path}`}\n+++ ${made === undefined ? '/dev/null' : `b/${path}`}\n`
    out += `@@ -${lengthA ? from + 1 : 0},${lengthA} +${lengthB ? from + 1 : 0},${lengthB} @@\n${lines.join('\n')}\n`
  }
  return out
}
