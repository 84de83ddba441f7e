// Serves the example in this folder, and passes /agui on to Sluice with the service key, which stays here: a browser
// must never have it. This is the part that your own application's server plays.
//
//   SLUICE_URL=http://127.0.0.1:8080 SLUICE_KEY=sk_int_… APPROVER_KEY_FILE=bootstrap.json PORT=3000 node ../serve.mjs
//
// With APPROVER_KEY_FILE it also signs what the user answers to an approval. Here everybody may approve; your own server
// knows who its users are, and signs for those who may.
import { createHash, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { readFile } from 'node:fs/promises'
import { dirname, extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const sluice = new URL(process.env.SLUICE_URL ?? 'http://127.0.0.1:8080')
const key = process.env.SLUICE_KEY
if (!key) {
  console.error('SLUICE_KEY is not set: take the service_key from bootstrap.json in the data directory')
  process.exit(2)
}
const approver = process.env.APPROVER_KEY_FILE ? approverKey(JSON.parse(readFileSync(process.env.APPROVER_KEY_FILE))) : null
const here = dirname(fileURLToPath(import.meta.url))
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css' }

// What `sluice approver-keys create --json` printed, or bootstrap.json.
function approverKey(file) {
  return file.approver_key ?? file
}

async function bodyOf(incoming) {
  const pieces = []
  for await (const piece of incoming) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function fromSluice(path) {
  const answer = await fetch(new URL(path, sluice), { headers: { authorization: `Bearer ${key}` } })
  if (!answer.ok) throw new Error(`${path} is ${answer.status}`)
  return answer.json()
}

// One line: members sorted, no white space (RFC 8785).
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`
}
const digest = (value) => createHash('sha256').update(canonical(value)).digest('base64url')

// Where a secret may go is not signed, only what it is.
function plainValues(secrets) {
  return Object.fromEntries(Object.entries(secrets).map(([alias, secret]) => [alias, secret.value ?? secret]))
}

// The user's answer, signed as docs/approvals.md says and bound to what is asked and to what is supplied.
async function signed(entry) {
  if (!String(entry.interruptId).startsWith('apr_')) return entry // the result of a tool of the page needs none
  const approves = entry.status === 'resolved' && entry.payload?.approved === true
  const { requested_items } = await fromSluice(`/v1/approvals/${encodeURIComponent(entry.interruptId)}`)
  const line = {
    approval_id: entry.interruptId,
    decision: approves ? 'approve' : 'deny',
    exp: Math.floor(Date.now() / 1000) + 60,
    items_digest: digest(requested_items),
    secrets_digest: digest(approves ? plainValues(entry.payload.secrets ?? {}) : {}),
  }
  const value = createHmac('sha256', approver.secret).update(canonical(line)).digest('base64url')
  const { exp, items_digest, secrets_digest } = line
  const signature = { key_id: approver.key_id, algorithm: 'hmac-sha256', exp, value, items_digest, secrets_digest }
  return { ...entry, metadata: { ...entry.metadata, signature } }
}

async function withSignatures(body) {
  const run = JSON.parse(body)
  if (!Array.isArray(run.resume)) return body
  return Buffer.from(JSON.stringify({ ...run, resume: await Promise.all(run.resume.map(signed)) }))
}

async function passOn(incoming, outgoing) {
  const kept = ['content-type', 'accept', 'last-event-id', 'x-run-id']
  const headers = { authorization: `Bearer ${key}` }
  for (const name of kept) if (incoming.headers[name]) headers[name] = incoming.headers[name]
  let body = await bodyOf(incoming)
  if (approver && incoming.method === 'POST') body = await withSignatures(body)
  if (body.length > 0) headers['content-length'] = body.length
  const upstream = request(new URL(incoming.url, sluice), { method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode, { 'content-type': answer.headers['content-type'] ?? 'text/plain' })
    answer.pipe(outgoing)
  })
  upstream.on('error', (error) => {
    if (!outgoing.headersSent) outgoing.writeHead(502, { 'content-type': 'text/plain' })
    outgoing.end(`Sluice cannot be reached: ${error.message}\n`)
  })
  // A reader who leaves detaches; the run goes on.
  outgoing.on('close', () => upstream.destroy())
  upstream.end(body)
}

async function file(path, outgoing) {
  const name = normalize(path === '/' ? '/index.html' : path)
  try {
    const body = await readFile(join(name === '/page.css' ? here : process.cwd(), name))
    outgoing.writeHead(200, { 'content-type': types[extname(name)] ?? 'application/octet-stream' })
    outgoing.end(body)
  } catch {
    outgoing.writeHead(404, { 'content-type': 'text/plain' })
    outgoing.end('There is nothing here.\n')
  }
}

const server = createServer((incoming, outgoing) => {
  const path = new URL(incoming.url, 'http://here').pathname
  if (path === '/agui' || path.startsWith('/agui/')) {
    passOn(incoming, outgoing).catch((error) => {
      if (!outgoing.headersSent) outgoing.writeHead(502, { 'content-type': 'text/plain' })
      outgoing.end(`It could not be passed on: ${error.message}\n`)
    })
  }
  else file(path, outgoing)
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
