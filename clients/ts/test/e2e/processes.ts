// Real processes for the tests: a Sluice server, and what stands before it. Nothing here sleeps for a guess:
// every wait is for an event, and has a deadline.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const packageRoot = fileURLToPath(new URL('../../', import.meta.url))
export const repositoryRoot = fileURLToPath(new URL('../../../../', import.meta.url))
const binary = process.env['SLUICE_BINARY'] ?? join(repositoryRoot, 'build', 'sluice')
export const patienceMs = 1000 * Number(process.env['SLUICE_TEST_PATIENCE'] ?? 30)
/** How long a proxy that cuts what is quiet bears it: longer than an answer takes, also of a server that is slow. */
export const quietMs = patienceMs / 30
/** How many stories of one road are told at once: they wait more than they work. */
export const atOnce = 4

export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'sluice-client-ts-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export async function within<T>(what: string, promise: Promise<T>, ms = patienceMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(new Error(`waited ${ms} ms in vain: ${what}`)), ms)))
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** A port that nobody had a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

export async function listening(port: number, process: ChildProcess): Promise<void> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    assert.ok(process.exitCode === null, `a process that should listen on ${port} ended with ${process.exitCode}`)
    const socket = connect(port, '127.0.0.1')
    const isThere = await new Promise((resolve) => socket.once('connect', () => resolve(true)).once('error', () => resolve(false)))
    socket.destroy()
    if (isThere) return
    assert.ok(Date.now() < deadline, `nobody listens on ${port}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export async function ended(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return
  await within('the end of a process', new Promise((resolve) => process.once('exit', resolve)))
}

export interface Bootstrap {
  tenant_id: string
  service_key: string
  admin_key: string
  approver_key: { key_id: string; algorithm: string; secret: string }
}

export class SluiceServer {
  url = ''
  port = 0
  readonly #folder = temporaryFolder()
  readonly #flags: string[]
  #process: ChildProcess | undefined

  private constructor(flags: string[]) {
    this.#flags = flags
  }

  static async start(...flags: string[]): Promise<SluiceServer> {
    assert.ok(existsSync(binary), `${binary} does not exist: run ./dev build, or set SLUICE_BINARY`)
    const server = new SluiceServer(flags)
    await server.#spawn()
    return server
  }

  get bootstrap(): Bootstrap {
    return JSON.parse(readFileSync(join(this.#folder.path, 'data', 'bootstrap.json'), 'utf8')) as Bootstrap
  }

  /** SIGKILL, and up again on the same data and port. */
  async crash(): Promise<void> {
    this.#process!.kill('SIGKILL')
    await ended(this.#process!)
    await this.#spawn()
  }

  async stop(): Promise<void> {
    this.#process?.kill('SIGTERM')
    if (this.#process) await ended(this.#process)
    this.#folder.remove()
  }

  async #spawn(): Promise<void> {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^SLUICE_|_API_KEY$|proxy/i.test(name)))
    const args = ['serve', '--listen', `127.0.0.1:${this.port}`, '--data', join(this.#folder.path, 'data'), ...this.#flags]
    const child = spawn(binary, args, { env, stdio: ['ignore', 'pipe', 'pipe'], cwd: this.#folder.path })
    this.#process = child
    let log = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (log = (log + text).slice(-4000)))
    const line = await within('the line that says where the server listens', new Promise<string>((resolve) => {
      let said = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (said.includes('\n')) resolve(said)
      })
      child.once('exit', () => resolve(`it ended: ${said}${log}`))
    }))
    this.url = /listening on (\S+)/.exec(line)?.[1] ?? ''
    assert.ok(this.url, line)
    this.port = Number(new URL(this.url).port)
  }
}
