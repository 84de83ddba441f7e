// Visits every operations page in Chromium, against the fake of dev/: wide and on a phone, in the light and in the dark,
// by mouse and by keyboard, with axe's rules. Screenshots go to SHOTS (/tmp/console-shots), as ops-NAME.png.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { buildConsole } from '../build.mjs'
import { demo, startFake } from '../dev/fake.mjs'
import { runAt } from '../dev/ops-data.mjs'

const shots = process.env.SHOTS ?? '/tmp/console-shots'
const only = process.argv[2]
const patience = { timeout: 20_000 }
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
mkdirSync(shots, { recursive: true })
const dist = mkdtempSync(join(tmpdir(), 'sluice-console-'))
await buildConsole(dist)
let fake = await startFake({ dist })
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
const errors = []
const expected = [/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED/, /ERR_CONNECTION_RESET/, /ERR_EMPTY_RESPONSE/, /status of (401|409|422)/]

async function visit(path, { width = 1280, height = 840, dark = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light' })
  const page = await context.newPage()
  page.on('pageerror', (error) => errors.push(`${path}: ${error}`))
  page.on('console', (line) => { if (line.type() === 'error' && !expected.some((fine) => fine.test(line.text()))) errors.push(`${path}: ${line.text()}`) })
  await page.goto(`${fake.url}/console${path}#code=${demo.code}`)
  await page.locator('.navigation').waitFor({ ...patience, state: 'attached' })
  return page
}

const shown = (page, text) => page.getByText(text).first().waitFor(patience)
const shoot = (page, name) => page.screenshot({ path: join(shots, `ops-${name}.png`) })

async function accessible(page, what) {
  await page.evaluate(axe) // by the debugger, which no policy stops
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
  const told = violations.map((found) => `${found.id}: ${found.help}\n  ${found.nodes.map((node) => `${node.html.slice(0, 160)} — ${node.failureSummary.split('\n')[1]}`).join('\n  ')}`)
  assert.equal(told.length, 0, `axe on ${what}:\n${told.join('\n')}`)
}

const run = 'run_01kfz8m4qq0000000t00099989'
const places = {
  runs: ['/runs', 'run_01kf'], run: [`/runs/${run}`, 'reconcile.py'], 'run-trace': [`/runs/${run}?show=trace`, '10,001 lines'], 'run-egress': [`/runs/${run}?show=egress`, 'tracker.example'], 'run-files': [`/runs/${run}?show=files`, 'differences.csv'],
  capacity: ['/capacity', 'Over time'], agents: ['/agents', 'bookkeeper'], agent: ['/agents/agt_01hzx8agent0000000000000a2', 'What it works with'], 'agent-new': ['/agents/new', 'Create the agent'], endpoints: ['/agents?tab=endpoints', 'house-models'],
  environments: ['/environments', 'books'], environment: ['/environments/env_01hzx8env00000000000000001', 'Add a variable'], skills: ['/skills', 'house-style'], skill: ['/skills/skl_01hzx8skill000000000000001', 'New version'], secrets: ['/secrets', 'CRM_API_KEY'],
  tenants: ['/tenants', 'old-customer'], tenant: ['/tenants/tnt_01hzx8dem000000000000000a2', 'back office'], tables: ['/tables', 'contacts'], table: ['/tables/tbl_01hzx8table000000000000001', 'Ada Byron'],
  workflows: ['/workflows', 'month-end'], workflow: ['/workflows/wfl_01hzx8flow0000000000000001', 'reconcile'], 'workflow-start': ['/workflows/wfl_01hzx8flow0000000000000001?tab=run', 'Run it'], 'workflow-runs': ['/workflows/wfl_01hzx8flow0000000000000001?tab=runs', 'succeeded'],
}

const each = async (how, suffix) => {
  const wrong = []
  for (const [name, [path, text]] of Object.entries(places)) {
    const page = await visit(path, how)
    await page.locator('#content').getByText(text).first().waitFor({ ...patience, state: 'attached' })
    await page.waitForTimeout(200)
    await shoot(page, `${name}${suffix}`)
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    if (wide > (how.width ?? 1280)) wrong.push(`${name} is ${wide} wide`)
    await accessible(page, `${name}${suffix}`).catch((error) => wrong.push(error.message))
    await page.context().close()
  }
  assert.equal(wrong.join('\n'), '')
}

const stories = {
  'every page, wide': () => each({}, ''),
  'every page, on a phone': () => each({ width: 360, height: 740 }, '-360'),
  'every page, in the dark': () => each({ dark: true }, '-dark'),

  async 'runs: scrolls on, filters, walks by keyboard, cancels'() {
    const { conversation_id: chatId } = runAt(0)
    fake.assistant.chats.set(chatId, { ...fake.assistant.open({ message: 'Invoices of February' }), id: chatId })
    const page = await visit('/runs')
    await shown(page, 'run_01kf')
    const rows = () => page.locator('tbody tr:not(.spacer)').count()
    for (let i = 0; i < 12; i++) {
      await page.locator('.table-box').evaluate((box) => { box.scrollTop = box.scrollHeight })
      await page.waitForTimeout(120)
    }
    assert.ok(Number(await page.locator('table').getAttribute('aria-rowcount')) > 500, 'further pages were loaded')
    assert.ok((await rows()) < 60, 'only rows near the view are in the document')
    await page.locator('.table-box').evaluate((box) => { box.scrollTop = 0 })
    await page.getByLabel('State').selectOption('failed')
    await page.waitForURL(/state=failed/, patience)
    await page.locator('tbody .badge').filter({ hasText: 'Completed' }).first().waitFor({ ...patience, state: 'detached' })
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.locator('tbody .badge').filter({ hasText: 'Streaming' }).first().waitFor(patience)
    await page.getByRole('button', { name: /^Cancel run_/ }).first().click()
    await shoot(page, 'run-cancel')
    await accessible(page, 'cancelling')
    await page.getByRole('button', { name: 'Cancel the run' }).click()
    await page.locator('tbody tr').nth(0).getByText('Cancelled').waitFor(patience)
    await page.getByRole('link', { name: 'Invoices of February' }).first().waitFor(patience)
    await shoot(page, 'runs-chat')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/runs\/run_/, patience)
    await page.getByRole('link', { name: 'Open the chat' }).waitFor(patience)
  },

  async 'a run: the timeline by keyboard and as a table, a step, ten thousand lines, live ones'() {
    const page = await visit(`/runs/${run}`)
    await page.getByRole('group', { name: /^Timeline/ }).focus()
    for (let i = 0; i < 6; i++) await page.keyboard.press('ArrowRight')
    await page.locator('.timeline-told strong', { hasText: 'bash' }).waitFor(patience)
    await shoot(page, 'run-timeline')
    await page.getByText('The phases as a table').click()
    await page.getByRole('region', { name: 'Phases' }).getByText('first token', { exact: true }).waitFor(patience)
    await page.getByRole('button', { name: /^succeeded bash/ }).first().click()
    await shown(page, 'read 16 invoices')
    await accessible(page, 'an open step')
    await page.getByRole('button', { name: 'Trace' }).click()
    await shown(page, '10,001 lines')
    assert.ok((await page.locator('.trace-line').count()) < 80)
    await page.getByRole('listbox').focus()
    await page.keyboard.press('End')
    await page.getByRole('region', { name: 'Line 10001' }).waitFor(patience)
    await shoot(page, 'run-trace-line')
    await accessible(page, 'a line of the trace')
    const live = await visit('/runs/run_01kfz8m4qq0000000t00099995?show=trace')
    await shown(live, ', live')
    const count = async () => Number(/([\d,]+) lines/.exec(await live.locator('.trace-foot').innerText())[1].replace(',', ''))
    const before = await count()
    await live.waitForFunction((n) => Number(/([\d,]+) lines/.exec(document.querySelector('.trace-foot').innerText)[1].replace(',', '')) > n + 5, before, patience)
    await shoot(live, 'run-live')
  },

  async 'forms: mistakes stand at their fields, secrets in none, keys are shown once'() {
    const page = await visit('/agents/agt_01hzx8agent0000000000000a2')
    await page.getByRole('button', { name: 'Add a rule' }).click()
    await page.getByLabel('Output tokens').fill('9000000')
    await page.getByRole('button', { name: 'Save' }).click()
    await shown(page, 'must be at most 1000000')
    await shown(page, 'host: must not be empty')
    await page.getByText('must be at most').first().scrollIntoViewIfNeeded()
    await shoot(page, 'agent-mistakes')
    await accessible(page, 'mistakes')
    await page.getByRole('button', { name: 'Remove rule 4' }).click()
    await page.getByLabel('Output tokens').fill('4096')
    await page.getByRole('button', { name: 'Save' }).click()
    await shown(page, 'bookkeeper is saved')
    const secrets = await visit('/secrets')
    await secrets.getByRole('button', { name: 'New secret' }).click()
    await secrets.getByLabel('Alias').fill('mail_key')
    await secrets.getByLabel('Value').fill('abc')
    await secrets.getByRole('button', { name: 'Seal' }).click()
    await shown(secrets, 'at least 4 bytes')
    await shoot(secrets, 'secret-new')
    await accessible(secrets, 'a secret')
    await secrets.getByLabel('Value').fill('hunter2-secret')
    await secrets.getByRole('button', { name: 'Seal' }).click()
    await shown(secrets, 'MAIL_KEY is sealed')
    assert.equal((await secrets.content()).includes('hunter2'), false)
    const tenant = await visit('/tenants/tnt_01hzx8dem000000000000000a2')
    await tenant.getByRole('button', { name: 'New key' }).first().click()
    await tenant.getByLabel('Name').last().fill('reports')
    await tenant.getByRole('button', { name: 'Make the key' }).click()
    await shown(tenant, 'Keep it now')
    await shoot(tenant, 'key-once')
    await accessible(tenant, 'a key')
    await tenant.getByRole('button', { name: 'I have kept it' }).click()
    assert.equal((await tenant.content()).includes('sk_int_Z'), false)
    await tenant.getByRole('button', { name: 'Act in this tenant' }).click()
    await shown(tenant, 'You act in harbour now')
    await tenant.getByText('you act here').waitFor(patience)
  },

  async 'skills: writes one, uploads a bundle and a folder'() {
    const page = await visit('/skills')
    await page.getByRole('button', { name: 'New skill' }).click()
    await page.getByRole('button', { name: 'Upload' }).click()
    await shown(page, 'choose a .tar.gz')
    await page.getByLabel('Bundle').setInputFiles({ name: 'x.tar.gz', mimeType: 'application/gzip', buffer: Buffer.from([31, 139, 8]) })
    await shoot(page, 'skill-upload')
    await accessible(page, 'an upload')
    await page.getByRole('button', { name: 'Upload' }).click()
    await shown(page, 'uploaded is kept')
    await page.getByRole('button', { name: 'New skill' }).click()
    await page.getByRole('button', { name: 'Write it' }).click()
    await page.getByRole('button', { name: 'Upload' }).click()
    await shown(page, 'greet is kept, with 1 file')
    const folder = mkdtempSync(join(tmpdir(), 'skill-'))
    mkdirSync(join(folder, 'bin'))
    writeFileSync(join(folder, 'SKILL.md'), '---\nname: tidy\ndescription: Tidies up.\n---\n')
    writeFileSync(join(folder, 'bin/tidy'), '#!/bin/sh\n')
    await page.getByRole('button', { name: 'New skill' }).click()
    await page.getByRole('button', { name: 'Folder' }).click()
    await page.getByLabel('Folder', { exact: true }).setInputFiles(folder)
    await page.getByRole('button', { name: 'Upload' }).click()
    await shown(page, 'tidy is kept, with 2 files')
  },

  async 'tables: filters, orders, inserts, edits, deletes, and exports without formulas'() {
    const page = await visit('/tables/tbl_01hzx8table000000000000001')
    await shown(page, '1,200 rows')
    await page.getByRole('button', { name: 'New row' }).click()
    await page.getByRole('button', { name: 'Insert' }).click()
    await shown(page, 'is required')
    await page.getByLabel('name (required)').fill('=1+1')
    await page.getByRole('textbox', { name: 'city' }).fill('Basel')
    await page.getByRole('spinbutton', { name: 'deals' }).fill('-5')
    await shoot(page, 'row-new')
    await accessible(page, 'a row')
    await page.getByRole('button', { name: 'Insert' }).click()
    await shown(page, '1,201 rows')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByLabel('Column').selectOption('city')
    await page.getByLabel('Value').fill('Basel')
    await page.getByText('1 row', { exact: true }).waitFor(patience)
    await page.getByLabel('Order by').selectOption('deals')
    await shoot(page, 'table-filtered')
    await accessible(page, 'a filtered table')
    await page.getByRole('button', { name: '=1+1' }).click()
    await page.getByRole('spinbutton', { name: 'deals' }).fill('-7')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: '-7' }).waitFor(patience)
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()])
    const csv = readFileSync(await download.path(), 'utf8')
    assert.equal(csv, "\ufeffname,city,deals,active,seen,extra\r\n'=1+1,Basel,-7,,,\r\n")
    await page.getByRole('button', { name: 'Delete the row' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await shown(page, 'No row is like that')
    const list = await visit('/tables')
    await list.getByRole('button', { name: 'New table' }).click()
    await list.getByLabel('Name', { exact: true }).fill('leads')
    await list.getByRole('button', { name: 'Create the table' }).click()
    await shown(list, 'must not be empty')
    await shoot(list, 'table-new')
    await accessible(list, 'a new table')
    await list.getByLabel('Name of the column').fill('company')
    await list.getByRole('button', { name: 'Create the table' }).click()
    await list.waitForURL(/\/tables\/tbl_/, patience)
    await shown(list, 'No rows yet')
  },

  async 'workflows: mistakes lead to their place, a run is seen live and cancelled'() {
    const page = await visit('/workflows/new')
    await page.getByLabel('Name', { exact: true }).fill('news')
    const editor = page.getByLabel('Definition, as JSON')
    const text = await editor.inputValue()
    await editor.fill(text.replace('"to": "summary"', '"to": "sumary"'))
    await shown(page, 'there is no block "sumary"')
    await editor.fill(text.replace('{{blocks.research.response}}"\n', '{{blocks.reserch.response}}"\n').replace('\\n{{blocks.research', '\\n{{blocks.reserch'))
    await page.getByRole('button', { name: 'Create the workflow' }).click()
    await shown(page, 'names no block before it')
    await page.getByRole('button', { name: /^Line \d+/ }).click()
    assert.match(await editor.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd)), /^"Summarize/)
    await shoot(page, 'workflow-mistakes')
    await accessible(page, 'mistakes of a workflow')
    await editor.fill(text)
    await page.getByRole('button', { name: 'Create the workflow' }).click()
    await page.waitForURL(/\/workflows\/wfl_/, patience)
    const start = await visit('/workflows/wfl_01hzx8flow0000000000000001?tab=run')
    await start.getByLabel('month (required)').fill('')
    await start.getByRole('button', { name: 'Run it' }).click()
    await shown(start, 'is required')
    await start.getByLabel('month (required)').fill('2026-03')
    await start.getByRole('button', { name: 'Run it' }).click()
    await start.waitForURL(/\/runs\/wfr_/, patience)
    await shown(start, 'Looking at invoice 2')
    await shoot(start, 'workflow-live')
    await accessible(start, 'a live workflow')
    await shown(start, 'Two differ')
    await shoot(start, 'workflow-run')
    await start.reload()
    await shown(start, 'Two differ')
    await start.setViewportSize({ width: 360, height: 740 })
    await start.waitForTimeout(400) // the navigation goes away
    await shoot(start, 'workflow-run-360')
    await accessible(start, 'a workflow run on a phone')
    const again = await visit('/workflows/wfl_01hzx8flow0000000000000001?tab=run')
    await again.getByRole('button', { name: 'Run it' }).click()
    await again.getByRole('button', { name: 'Cancel the run' }).click()
    await again.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click()
    await shown(again, 'It was cancelled')
  },

  async 'says when there is nothing, when it fails, and when the server is gone'() {
    const nothing = await visit('/runs?conversation=con_00000000000000000000000000')
    await shown(nothing, 'No run is like that')
    expected.push(/status of 404/)
    const missing = await visit('/runs/run_01kfz8m4qq0000000t99999999')
    await shown(missing, 'There is no such thing')
    await shoot(missing, 'missing')
    await accessible(missing, 'what is missing')
    const page = await visit('/capacity')
    await shown(page, 'Over time')
    const { port } = fake
    await fake.close()
    await shown(page, 'The server is not reachable.')
    await shoot(page, 'unreachable')
    fake = await startFake({ dist, port })
    await page.locator('.banner').waitFor({ ...patience, state: 'detached' })
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
    await page?.screenshot({ path: join(shots, `ops-failed-${failed}.png`) }).catch(() => {})
  }
  for (const context of browser.contexts()) await context.close()
}
await browser.close()
await fake.close()
if (errors.length) console.log(`FAIL  errors in the page:\n${[...new Set(errors)].join('\n')}`)
process.exit(failed || errors.length ? 1 : 0)
