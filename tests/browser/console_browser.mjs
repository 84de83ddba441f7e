// A person at the console, in Debian's Chromium: pages that are watched for mistakes, foreign requests and dialogs; what
// one does in a chat; and axe's rules.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

export const patience = { timeout: 1000 * Number(process.env.SLUICE_TEST_PATIENCE ?? 60) }
const shots = process.env.SLUICE_SCREENSHOTS
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
// What Chromium itself says of an answer that is an error, or of a server that is stopped.
const expected = [/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED/, /ERR_CONNECTION_RESET/, /ERR_EMPTY_RESPONSE/, /status of (401|409)/]
mkdirSync(shots, { recursive: true })

export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })

// The browsers of one story, and what was seen in them. `ask` asks the test: for an "address" that opens the console, or
// to "stop" or "start" the server.
export class Person {
  errors = []
  origins = new Set()
  #contexts = []
  #expected = [...expected]

  constructor(ask) {
    this.ask = ask
  }

  // From here on the server is stopped now and then: until its socket is closed it answers 503, which Chromium notes.
  expectStops() {
    this.#expected.push(/status of 503/)
  }

  watch(page) {
    page.on('pageerror', (error) => this.errors.push(String(error)))
    page.on('dialog', (dialog) => { this.errors.push(`a dialog: ${dialog.message()}`); void dialog.dismiss() })
    page.on('console', (line) => { if (line.type() === 'error' && !this.#expected.some((fine) => fine.test(line.text()))) this.errors.push(line.text()) })
    page.on('request', (request) => { if (/^(https?|wss?):/.test(request.url())) this.origins.add(new URL(request.url()).origin) })
    return page
  }

  // A page of a browser of its own. What is done in it without a word about time waits as long as everything else.
  async openPage(options) {
    const context = await browser.newContext(options)
    this.#contexts.push(context)
    context.setDefaultTimeout(patience.timeout)
    return context.newPage()
  }

  // Opens the console as somebody who was given its address.
  async visit({ width = 1280, height = 800, dark = false } = {}) {
    const page = this.watch(await this.openPage({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light' }))
    await page.goto(await this.ask('address'))
    await message(page).waitFor(patience)
    assert.equal(new URL(page.url()).hash, '', 'the code leaves the address bar')
    return page
  }

  // Another tab of the same browser.
  async tab(page, address) {
    const second = this.watch(await page.context().newPage())
    await second.goto(address)
    await second.locator('.navigation').waitFor({ ...patience, state: 'attached' })
    return second
  }

  // Has the story told, and says what came of it.
  async live(name, story) {
    const end = { ok: true }
    try {
      await story(this)
    } catch (error) {
      const page = this.#contexts.flatMap((context) => context.pages()).at(-1)
      if (page) await shoot(page, `failed-${name.replace(/\W+/g, '-')}`).catch(() => {})
      Object.assign(end, { ok: false, failure: error.stack })
    }
    for (const context of this.#contexts) await context.close()
    return { ...end, errors: this.errors, origins: [...this.origins] }
  }
}

export const message = (page) => page.getByLabel('Message', { exact: true })
export const shown = (page, text) => page.getByText(text).first().waitFor(patience)
export const idle = (page) => page.locator('.message.live').waitFor({ ...patience, state: 'detached' })
export const answer = (page) => page.locator('.message.assistant').last()

export async function say(page, text) {
  await message(page).fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click({ ...patience, trial: true }) // not before files are there
  await message(page).press('Enter')
}

// Says it, and waits for the whole answer.
export async function hear(page, text) {
  const before = await page.locator('.message.assistant:not(.live)').count()
  await say(page, text)
  await page.locator('.message.assistant:not(.live)').nth(before).waitFor(patience)
}

export async function rename(page, title) {
  await page.getByRole('button', { name: 'Rename this chat' }).click()
  await page.getByLabel('Title').fill(title)
  await page.getByRole('button', { name: 'Rename', exact: true }).click()
  await page.getByRole('heading', { name: title }).waitFor(patience)
}

export const chatId = (page) => /con_\w+/.exec(page.url())[0]
export const get = (page, path) => page.evaluate(async (from) => (await fetch(from)).json(), path)
export const stored = async (page) => (await get(page, `/api/assistant/chats/${chatId(page)}`)).messages.at(-1)
export const textOf = (stored) => stored.content.filter((block) => block.type === 'text').map((block) => block.text).join('')
export const squeezed = (text) => text.replace(/\s+/g, ' ').trim()

export async function makeApprover(page) {
  await page.getByRole('button', { name: 'Make this browser an approver' }).click()
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor(patience)
}

// A picture of the page at rest: its animations are over.
export const shoot = (page, name) => page.screenshot({ path: join(shots, `${name}.png`), animations: 'disabled', caret: 'initial' })

// In other colours a page is judged by the rules that look at colours: what it is made of has been judged already.
export const coloursOnly = { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } }

export async function accessible(page, what, rules = {}) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe) // by the debugger, which no policy stops
  // A colour on its way to another is neither.
  await page.evaluate(() => Promise.allSettled(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished)))
  const { violations } = await page.evaluate((chosen) => globalThis.axe.run(document, { resultTypes: ['violations'], selectors: false, ...chosen }), rules)
  const told = violations.map(({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.map((node) => `${node.html.slice(0, 160)} — ${node.failureSummary.split('\n')[1]}`).join('\n  ')}`)
  assert.equal(told.length, 0, `axe on ${what}:\n${told.join('\n')}`)
}

export async function fits(page, what) {
  const [has, wide] = await page.evaluate(() => [innerWidth, document.documentElement.scrollWidth])
  assert.ok(wide <= has, `${what} is ${wide} wide on a screen of ${has}`)
}

// Everything in which a page could keep something.
export const kept = (page) => page.evaluate(async () => {
  const asked = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error) })
  const stores = []
  for (const { name } of await indexedDB.databases()) {
    const database = await asked(indexedDB.open(name))
    for (const store of database.objectStoreNames) stores.push(await asked(database.transaction(store).objectStore(store).getAll()))
    database.close()
  }
  const fields = [...document.querySelectorAll('input, textarea')].map((field) => field.value)
  return JSON.stringify({ local: { ...localStorage }, session: { ...sessionStorage }, stores, caches: await caches.keys(), cookies: document.cookie, name: window.name, history: history.state, fields, html: document.documentElement.outerHTML })
})
