// A server that speaks what the console needs, for working on the console and for quick browser tests. It keeps
// everything in memory, knows one tenant, and takes the directives of script.mjs for a model.
import { createServer } from 'node:http'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { extname, join, normalize } from 'node:path'
import { Assistant } from './assistant.mjs'
import { Gates } from './approvals.mjs'
import { fixtures } from './fixtures.mjs'
import { Ops } from './ops.mjs'
import { bytesOf, json, jsonOf, problem } from './problem.mjs'

export const demo = { tenant: { id: 'tnt_01hzx8dem000000000000000a1', name: 'demo' }, code: 'demo-code', adminKey: 'sk_adm_demo', serviceKey: 'sk_int_demo' }
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml' }
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

export function startFake({ dist, port = 0, wordMs = 12 }) {
  const sessions = new Map()
  const gates = new Gates()
  const ops = new Ops(gates)
  const assistant = new Assistant(gates, { wordMs, tenant: demo.tenant.id })
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://fake')
    answer(request, response, url).catch((error) => {
      if (!response.headersSent) problem(response, 500, 'internal', String(error))
      else response.destroy()
    })
  })

  async function answer(request, response, url) {
    const path = url.pathname
    if (path === '/console/session') return sessionRoute(request, response)
    if (path === '/console' || path.startsWith('/console/')) return asset(response, path, request.headers['accept-encoding'])
    const session = sessions.get(/sluice_session=([^;]+)/.exec(request.headers.cookie ?? '')?.[1])
    if (!session) return problem(response, 401, 'unauthenticated', 'Sign in first.')
    const safe = request.method === 'GET' || request.method === 'HEAD'
    if (!safe && request.headers['x-csrf-token'] !== session.csrfToken) return problem(response, 403, 'csrf', 'The X-CSRF-Token header is missing or wrong.')
    if (await gates.answer(request, response, path, url.searchParams)) return
    if (await assistant.answer(request, response, path, url.searchParams)) return
    if (await ops.answer(request, response, path, url.searchParams)) return
    const fixed = fixtures(request.method, path, url.searchParams)
    if (fixed) return json(response, 200, fixed)
    await bytesOf(request)
    problem(response, 404, 'not-found', `There is no ${path}.`)
  }

  async function sessionRoute(request, response) {
    const held = /sluice_session=([^;]+)/.exec(request.headers.cookie ?? '')?.[1]
    const session = sessions.get(held)
    if (request.method === 'POST') {
      const { key, code } = await jsonOf(request)
      const kind = key === demo.adminKey || code === demo.code ? 'admin' : key === demo.serviceKey ? 'service' : null
      if (!kind) return problem(response, 401, 'unauthenticated', code ? 'This link was used before, or is too old. Sign in with a key.' : 'The server does not know this key.')
      const cookie = randomUUID()
      const made = { kind, tenant: demo.tenant, workspaceId: demo.tenant.id.replace('tnt_', 'wsp_'), csrfToken: randomUUID(), expiresAt: Date.now() + 12 * 3600_000 }
      sessions.set(cookie, made)
      return json(response, 200, made, { 'Set-Cookie': `sluice_session=${cookie}; HttpOnly; SameSite=Strict; Path=/` })
    }
    if (!session) return problem(response, 401, 'unauthenticated', 'Nobody is signed in.')
    if (request.method === 'DELETE') {
      sessions.delete(held)
      response.writeHead(204, { 'Set-Cookie': 'sluice_session=; Max-Age=0; Path=/' })
      return response.end()
    }
    if (request.method === 'PATCH') session.tenant = ops.tenant((await jsonOf(request)).tenantId) ?? session.tenant
    json(response, 200, session)
  }

  function asset(response, path, encodings = '') {
    const inside = path.startsWith('/console/assets/') ? normalize(path.slice('/console/'.length)) : 'index.html'
    const file = join(dist, inside)
    if (inside.startsWith('..') || !existsSync(file)) return problem(response, 404, 'not-found', 'There is no such file.')
    const packed = encodings.includes('gzip') && existsSync(`${file}.gz`)
    const body = readFileSync(packed ? `${file}.gz` : file)
    response.writeHead(200, {
      'Content-Type': types[extname(file)] ?? 'application/octet-stream', 'Content-Security-Policy': policy, 'X-Frame-Options': 'DENY',
      'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', ETag: `"${createHash('sha1').update(body).digest('hex')}"`,
      'Cache-Control': inside === 'index.html' ? 'no-cache' : 'public, max-age=31536000, immutable', ...(packed ? { 'Content-Encoding': 'gzip' } : {}),
    })
    response.end(body)
  }

  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => {
    const close = () => new Promise((done) => { server.close(done); server.closeAllConnections() })
    resolve({ url: `http://127.0.0.1:${server.address().port}`, port: server.address().port, close, assistant, gates, ops })
  }))
}
