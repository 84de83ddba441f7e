// Drives the console as a person would, in Chromium, against the fake of dev/: chats, steps, files, approvals with a
// secret, reload in the middle of a run, lost connections, a second tab, stop, a phone's width, a stopped server, and
// axe's rules. Screenshots go to SHOTS (/tmp/console-shots).
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { buildConsole } from '../build.mjs'
import { demo, startFake } from '../dev/fake.mjs'
import { scenes } from '../dev/scenes.mjs'

const shots = process.env.SHOTS ?? '/tmp/console-shots'
const only = process.argv[2]
const patience = { timeout: 20_000 }
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
mkdirSync(shots, { recursive: true })
const dist = mkdtempSync(join(tmpdir(), 'sluice-console-'))
await buildConsole(dist)
let fake = await startFake({ dist, wordMs: 8 })
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
const errors = []
const hosts = new Set()
const expected = [/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED/, /ERR_CONNECTION_RESET/, /ERR_EMPTY_RESPONSE/, /status of (401|403|404|409|415)/]

async function visit({ width = 1280, height = 840, dark = false, path = '', context } = {}) {
  context ??= await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', bypassCSP: false })
  const page = await context.newPage()
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('console', (line) => { if (line.type() === 'error' && !expected.some((fine) => fine.test(line.text()))) errors.push(line.text()) })
  page.on('request', (request) => hosts.add(new URL(request.url()).host))
  await page.goto(`${fake.url}/console${path}#code=${demo.code}`)
  await page.locator('.navigation').waitFor({ ...patience, state: 'attached' })
  assert.equal(new URL(page.url()).hash, '', 'the code leaves the address bar')
  return page
}

const message = (page) => page.getByLabel('Message', { exact: true })
const say = async (page, text) => {
  await message(page).fill(text)
  await message(page).press('Enter')
}
const idle = (page) => page.locator('.message.live').waitFor({ ...patience, state: 'detached' })
const shown = (page, text) => page.getByText(text).first().waitFor(patience)
const shoot = (page, name) => page.screenshot({ path: join(shots, `${name}.png`) })

async function accessible(page, what) {
  await page.evaluate(axe) // by the debugger, which no policy stops
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
  const told = violations.map((found) => `${found.id}: ${found.help}\n  ${found.nodes.map((node) => `${node.html.slice(0, 160)} — ${node.failureSummary.split('\n')[1]}`).join('\n  ')}`)
  assert.equal(told.length, 0, `axe on ${what}:\n${told.join('\n')}`)
}

const stories = {
  async 'signs in with a key, and out'() {
    const page = await (await browser.newContext()).newPage()
    await page.goto(`${fake.url}/console/`)
    await page.getByLabel('Admin or service key').fill('sk_int_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await shown(page, 'does not know this key')
    await accessible(page, 'login')
    await shoot(page, 'login')
    await page.getByLabel('Admin or service key').fill(demo.serviceKey)
    await page.getByLabel('Admin or service key').press('Enter')
    await message(page).waitFor(patience)
    assert.equal(await page.getByRole('link', { name: 'Tenants & keys' }).count(), 0)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor(patience)
  },

  async 'begins a chat, opens a step, approves with a secret and shows the files'() {
    const page = await visit()
    await shown(page, 'What should')
    await shoot(page, 'chat-new')
    await accessible(page, 'a new chat')
    await say(page, Object.keys(scenes)[0])
    await page.getByText('Your approval is needed').waitFor(patience)
    assert.match(page.url(), /\/console\/chat\/con_/)
    await page.getByRole('button', { name: /^succeeded bash/ }).first().click()
    await page.getByRole('button', { name: 'Make this browser an approver' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await shown(page, 'CRM_API_KEY is asked for')
    await page.getByLabel('CRM_API_KEY').fill('hunter2-secret')
    await page.getByLabel('Note').fill('For the February books.')
    await shoot(page, 'chat-approval')
    await accessible(page, 'an approval')
    await page.getByRole('button', { name: 'Approve' }).click()
    await shown(page, 'The list is attached')
    await idle(page)
    assert.equal((await page.content()).includes('hunter2'), false, 'the secret is nowhere in the document')
    const kept = await page.evaluate(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, (await indexedDB.databases()).map((db) => db.name)]))
    assert.equal(kept.includes('hunter2'), false)
    await page.getByRole('button', { name: /^added reconcile.py/ }).click()
    await page.getByRole('group', { name: 'Changes of reconcile.py' }).waitFor(patience)
    await accessible(page, 'an answer')
    await shoot(page, 'chat-answer')
    await page.getByRole('button', { name: 'Show the files' }).click()
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('complementary', { name: 'Files' }).getByRole('link', { name: /february.csv/ }).click()])
    assert.equal(download.suggestedFilename(), 'february.csv')
    await page.locator('.thread').evaluate((box) => { box.scrollTop = 0 })
    await shoot(page, 'chat-files')
    await accessible(page, 'files')
    const told = await page.locator('.message.assistant').innerText()
    await page.reload()
    await shown(page, 'The list is attached')
    await page.getByRole('button', { name: /^succeeded bash/ }).first().click()
    await page.getByRole('button', { name: /^added reconcile.py/ }).click()
    const again = await page.locator('.message.assistant').innerText()
    assert.equal(again.replace(/\s+/g, ' '), told.replace(/\s+/g, ' '), 'a message that is loaded shows what the stream showed')
    await page.emulateMedia({ colorScheme: 'dark' })
    await shoot(page, 'chat-answer-dark')
    await accessible(page, 'an answer in the dark')
  },

  async 'denies with a pasted key, and shows what failed'() {
    const page = await visit()
    await say(page, 'say Before.\nask May I delete the table "orders"?\nsay After.')
    await page.getByRole('button', { name: 'Use a key…' }).click()
    await page.getByLabel('Key, as JSON').fill('{"key_id":"apk_01hzx8demokey000000000000a"}')
    await page.getByRole('button', { name: 'Use it' }).click()
    await shown(page, 'It needs algorithm')
    await page.getByLabel('Key, as JSON').fill('{"approver_key":{"key_id":"apk_01hzx8demokey000000000000a","algorithm":"hmac-sha256","secret":"the-demo-approver-secret"}}')
    await page.getByRole('button', { name: 'Use it' }).click()
    await page.getByRole('link', { name: /^Approvals/ }).click()
    await page.getByText('May I delete the table').first().waitFor(patience)
    await shoot(page, 'approvals')
    await accessible(page, 'approvals')
    await page.getByRole('button', { name: 'Deny' }).click()
    await shown(page, 'Nothing waits for you')
    await page.getByRole('button', { name: 'Decided' }).click()
    await page.getByRole('link', { name: /May I delete/ }).click()
    await shown(page, 'The approval was denied')
    assert.equal(await page.locator('.message.assistant').getByText('After.').count(), 0)
  },

  async 'reloads in the middle of a run and loses nothing'() {
    const page = await visit()
    await say(page, 'tokens 120 60\nsay Half.\ntokens 120 60\nsay The end.')
    await shown(page, 'w40')
    await page.reload()
    await shown(page, 'w60')
    fake.assistant.drop()
    await shown(page, 'The end.')
    await idle(page)
    const words = (await page.locator('.message.assistant').innerText()).match(/w\d+/g)
    assert.deepEqual(words, [...Array(240).keys()].map((i) => `w${(i % 120) + 1}`))
  },

  async 'shows a run in a second tab, and refuses a second message there'() {
    const page = await visit()
    await say(page, 'say Open.')
    await idle(page)
    const second = await visit({ context: page.context(), path: new URL(page.url()).pathname.replace('/console', '') })
    await shown(second, 'Open.')
    await say(page, 'tokens 200 60\nsay Finished.')
    await shown(second, 'w30')
    await second.getByRole('button', { name: 'Stop' }).waitFor(patience)
    await Promise.all([shown(second, 'Finished.'), shown(page, 'Finished.')])
    await idle(second)
    // Nobody told this tab of the turn that another program starts.
    const chat = [...fake.assistant.chats.values()].find((one) => page.url().endsWith(one.id))
    const turn = fake.assistant.start(chat, chat.messages[0], 'tokens 100 50\nsay From elsewhere.')
    await say(second, 'say Mine.')
    await shown(second, 'yours was not sent')
    await shown(second, 'From elsewhere.')
    assert.equal(await message(second).inputValue(), 'say Mine.')
    await turn.over
  },

  async 'sends what was written while an answer came, when it has ended'() {
    const page = await visit()
    await say(page, 'say Before.\nask May I go on?\nsay First.')
    await page.getByText('Your approval is needed').waitFor(patience)
    await page.locator('.chat-row').getByText('needs you').waitFor(patience)
    for (const text of ['say Second.', 'say Never sent.', 'say Third.']) await say(page, text)
    const waiting = page.getByRole('region', { name: 'Messages that wait' })
    await waiting.getByText('say Third.').waitFor(patience)
    await shoot(page, 'chat-waiting')
    await accessible(page, 'messages that wait')
    await waiting.getByRole('listitem').filter({ hasText: 'Never' }).getByRole('button', { name: 'Remove' }).click()
    await waiting.getByRole('listitem').filter({ hasText: 'Third' }).getByRole('button', { name: 'Edit' }).click()
    assert.equal(await message(page).inputValue(), 'say Third.')
    await message(page).fill('say Third and last.')
    await page.getByRole('button', { name: 'Queue this message' }).click()
    // Another chat is opened, and this one again: what waits is still there.
    await page.getByRole('button', { name: 'New', exact: true }).click()
    await shown(page, 'What should')
    assert.equal(await waiting.count(), 0)
    await page.locator('.chat-row a').first().click()
    await waiting.getByText('say Second.').waitFor(patience)
    // So it is in a tab that is loaded again, but nothing is sent there before a person says so.
    await page.reload()
    await waiting.getByText('The page was loaded again.').waitFor(patience)
    await waiting.getByRole('button', { name: 'Send it after this answer' }).click()
    await page.getByRole('button', { name: 'Make this browser an approver' }).click()
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.locator('.message.assistant').getByText('Third and last.').waitFor(patience)
    await idle(page)
    assert.equal(await waiting.count(), 0)
    const asked = await page.locator('.message.user .bubble').allInnerTexts()
    assert.deepEqual(asked.slice(1), ['say Second.', 'say Third and last.'])
  },

  async 'holds what waits when the answer before it failed'() {
    const page = await visit()
    await say(page, 'ask May I go on?\nfail 500 Out of order.')
    await page.getByText('Your approval is needed').waitFor(patience)
    await say(page, 'say Anyway.')
    await page.getByRole('button', { name: 'Make this browser an approver' }).click()
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await shown(page, 'The answer before it failed.')
    await accessible(page, 'a message that is held')
    await page.getByRole('button', { name: 'Send it now' }).click()
    await page.locator('.message.assistant').getByText('Anyway.').waitFor(patience)
  },

  async 'waits in the queue, shows filler, and stops'() {
    const page = await visit()
    await say(page, 'queue 3 700\nthink Let me see.\nfiller Still looking at the logs…\nsleep 900\nsay Working on it.\n$ false\nsub researcher: Found two sources.\ncustom progress {"done":3}\nretake Better words.\nhang')
    await shown(page, 'All slots are busy')
    await page.locator('.chat-row').first().getByText('queued').waitFor(patience)
    await shoot(page, 'chat-queue')
    await page.locator('.filler', { hasText: 'Still looking at the logs' }).waitFor(patience)
    const answer = page.locator('.message.assistant')
    await answer.getByText('Better words.').waitFor(patience)
    assert.equal(await answer.getByText('Still looking').count(), 0)
    assert.equal(await answer.getByText('taken back').count(), 0)
    await page.getByRole('button', { name: /^failed bash/ }).click()
    await shown(page, 'ended with status 1')
    await shoot(page, 'chat-steps')
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.locator('.ending', { hasText: 'Stopped.' }).waitFor(patience)
    await page.getByRole('button', { name: 'Send' }).waitFor(patience)
  },

  async 'attaches files, and says why one is refused'() {
    const page = await visit()
    await page.locator('input[type=file]').setInputFiles([
      { name: 'orders.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n') },
      { name: 'virus.exe', mimeType: 'application/octet-stream', buffer: Buffer.from('MZ') },
    ])
    await shown(page, 'are not taken')
    await shoot(page, 'chat-attachments')
    await accessible(page, 'attachments')
    await page.getByRole('button', { name: 'Remove virus.exe' }).click()
    await page.evaluate(() => {
      const carried = (name) => {
        const data = new DataTransfer()
        data.items.add(new File(['x'], name, { type: 'text/plain' }))
        return data
      }
      dispatchEvent(new DragEvent('drop', { dataTransfer: carried('dropped.txt'), cancelable: true }))
      document.querySelector('.composer textarea').dispatchEvent(new ClipboardEvent('paste', { clipboardData: carried('pasted.txt'), bubbles: true, cancelable: true }))
    })
    for (const name of ['dropped.txt', 'pasted.txt']) await page.getByRole('button', { name: `Remove ${name}` }).waitFor(patience)
    await page.getByRole('button', { name: 'Remove pasted.txt' }).click()
    await say(page, 'say Thank you for the file.')
    await idle(page)
    assert.deepEqual((await page.locator('.message.user .chip-name').allInnerTexts()), ['orders.csv', 'dropped.txt'])
  },

  async 'keeps scripts inert in every text'() {
    const page = await visit()
    await page.evaluate(() => { globalThis.owned = 0 })
    const evil = '<img src=x onerror="owned=1"><script>owned=1</script>[x](javascript:owned=1)'
    await say(page, `say ${evil}\nthink ${evil}\n$ echo ${evil}\nwrite <b>x</b>.html: ${evil}\nfiller ${evil}\ncustom ${'x'} {"a":"<svg onload=owned=1>"}\nfail 500 ${evil}`)
    await idle(page)
    for (const head of await page.locator('.step-head, .reasoning-head, .tree-file:is(button)').all()) await head.click()
    await page.getByRole('button', { name: 'Rename this chat' }).click()
    await page.getByLabel('Title').fill(evil)
    await page.getByRole('button', { name: 'Rename', exact: true }).click()
    await page.getByRole('heading', { name: evil }).waitFor(patience)
    assert.equal(await page.evaluate(() => globalThis.owned), 0)
    assert.equal(await page.locator('.thread img, .thread script, .thread a[href^="javascript"]').count(), 0)
    await page.getByRole('button', { name: 'Delete this chat' }).click()
    await page.getByRole('button', { name: 'Delete chat' }).click()
    await shown(page, 'What should')
  },

  async 'fits a phone'() {
    const page = await visit({ width: 360, height: 740 })
    await say(page, Object.keys(scenes)[0])
    await page.getByText('Your approval is needed').waitFor(patience)
    await page.getByRole('button', { name: 'Make this browser an approver' }).click()
    await page.getByLabel('CRM_API_KEY').fill('hunter2-secret')
    await page.locator('.approval').scrollIntoViewIfNeeded()
    await shoot(page, 'phone-approval')
    await page.getByRole('button', { name: 'Approve' }).click()
    await shown(page, 'The list is attached')
    await idle(page)
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(wide <= 360, `the page is ${wide} wide`)
    await shoot(page, 'phone-answer')
    await accessible(page, 'a phone')
    await page.getByRole('button', { name: 'Open the navigation' }).click()
    await page.getByRole('link', { name: 'Chat', exact: true }).waitFor(patience)
    await page.waitForTimeout(250)
    await shoot(page, 'phone-navigation')
    await page.getByRole('button', { name: 'Close the navigation' }).click()
    await page.getByRole('button', { name: 'Show the list of chats' }).click()
    await page.waitForTimeout(250)
    await shoot(page, 'phone-chats')
  },

  async 'works by keyboard'() {
    const page = await visit()
    await say(page, 'say An earlier one.')
    await idle(page)
    await page.keyboard.press('Escape')
    await page.keyboard.press('n')
    await shown(page, 'What should')
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor(patience)
    await shoot(page, 'keyboard')
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    await page.keyboard.type('say By hand.')
    await page.keyboard.press('Enter')
    await shown(page, 'By hand.')
    await idle(page)
    const first = page.url()
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.waitForURL((url) => String(url) !== first, patience)
    await page.keyboard.press('k')
    await page.waitForURL(first, patience)
    await page.keyboard.press('n')
    await shown(page, 'What should')
  },

  async 'says that the server is gone, and recovers'() {
    const page = await visit()
    await say(page, 'say Here.')
    await idle(page)
    await page.locator('input[type=file]').setInputFiles([{ name: 'orders.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n') }])
    await page.getByRole('button', { name: 'Send' }).click({ ...patience, trial: true })
    const { port } = fake
    await fake.close()
    await message(page).fill('say Later.')
    await message(page).press('Enter')
    await shown(page, 'The server is not reachable.')
    await shown(page, 'Your text is kept.')
    await shoot(page, 'unreachable')
    assert.equal(await message(page).inputValue(), 'say Later.')
    await page.getByRole('button', { name: 'Remove orders.csv' }).waitFor(patience)
    fake = await startFake({ dist, wordMs: 8, port })
    await page.locator('.banner').waitFor({ ...patience, state: 'detached' })
    await page.getByRole('button', { name: 'Sign in' }).waitFor(patience) // the fake forgets its sessions
  },

  async 'draws 60 frames a second while 200 events a second come'() {
    const page = await visit()
    await say(page, 'flood 10000 100000')
    await shown(page, 'Part 9990')
    await idle(page)
    await say(page, 'flood 1600 200')
    await shown(page, 'Part 50')
    const debug = await page.context().newCDPSession(page)
    await debug.send('Performance.enable', { timeDomain: 'threadTicks' })
    const busy = async () => (await debug.send('Performance.getMetrics')).metrics.find((metric) => metric.name === 'ThreadTime').value
    const before = await busy()
    const gaps = await page.evaluate(() => new Promise((resolve) => {
      const gaps = []
      let last = performance.now()
      const until = last + 4000
      const tick = (now) => {
        gaps.push(now - last)
        last = now
        if (now < until) requestAnimationFrame(tick)
        else resolve(gaps.slice(1))
      }
      requestAnimationFrame(tick)
    }))
    const used = (await busy()) - before
    const sorted = [...gaps].sort((a, b) => a - b)
    const nodes = await page.evaluate(() => document.querySelectorAll('*').length)
    console.log(`  frames ${gaps.length} in 4 s, median ${sorted[gaps.length >> 1].toFixed(1)} ms, p95 ${sorted[Math.floor(gaps.length * 0.95)].toFixed(1)} ms, worst ${sorted.at(-1).toFixed(1)} ms; ${(used / 0.04).toFixed(0)} % of the page's thread; ${nodes} elements`)
    // Processor time, not time: others may use this machine too.
    assert.ok(used < 2, 'the page leaves half of its thread to the pictures')
    assert.ok(nodes < 12_000, 'elements in the document')
    await page.getByRole('button', { name: 'Stop' }).click()
    await idle(page)
  },
}

let failed = 0
for (const [name, story] of Object.entries(stories)) {
  if (only && !name.includes(only)) continue
  const started = Date.now()
  try {
    await story()
    console.log(`ok    ${name} (${Date.now() - started} ms)`)
  } catch (error) {
    failed++
    console.log(`FAIL  ${name}\n${error.stack}`)
    const page = browser.contexts().flatMap((context) => context.pages()).at(-1)
    await page?.screenshot({ path: join(shots, `failed-${failed}.png`) }).catch(() => {})
  }
  for (const context of browser.contexts()) await context.close()
}
await browser.close()
await fake.close()
const foreign = [...hosts].filter((host) => !host.startsWith('127.0.0.1'))
if (foreign.length) console.log(`FAIL  requests to ${foreign}`)
if (errors.length) console.log(`FAIL  errors in the page:\n${[...new Set(errors)].join('\n')}`)
process.exit(failed || foreign.length || errors.length ? 1 : 0)
