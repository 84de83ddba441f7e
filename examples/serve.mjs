// Serves the example in this folder, and passes /agui on to Sluice with the service key, which stays here: a browser
// must never have it. This is the part that your own application's server plays.
//
//   SLUICE_URL=http://127.0.0.1:8080 SLUICE_KEY=sk_int_… PORT=3000 node ../serve.mjs
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
const here = dirname(fileURLToPath(import.meta.url))
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css' }

function passOn(incoming, outgoing) {
  const kept = ['content-type', 'content-length', 'accept', 'last-event-id', 'x-run-id']
  const headers = { authorization: `Bearer ${key}` }
  for (const name of kept) if (incoming.headers[name]) headers[name] = incoming.headers[name]
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
  incoming.pipe(upstream)
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
  if (path === '/agui' || path.startsWith('/agui/')) passOn(incoming, outgoing)
  else file(path, outgoing)
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
