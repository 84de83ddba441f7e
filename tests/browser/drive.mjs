// Drives one front end of examples/ as a person would, in Debian's Chromium, and says what it saw as JSON.
//
//   node drive.mjs URL KIND SCREENSHOT      KIND: tanstack-react or agui-client
import { chromium } from 'playwright-core'

const [url, kind, screenshot] = process.argv.slice(2)
const patience = { timeout: 1000 * Number(process.env.SLUICE_TEST_PATIENCE ?? 60) }
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
const seen = { requests: [], errors: [] }

async function open(thread) {
  const page = await browser.newPage({ viewport: { width: 900, height: 900 } })
  page.setDefaultTimeout(patience.timeout)
  page.on('pageerror', (error) => seen.errors.push(String(error)))
  page.on('console', (line) => { if (line.type() === 'error') seen.errors.push(line.text()) })
  page.on('request', (request) => seen.requests.push(new URL(request.url()).host))
  await page.goto(`${url}/?thread=${thread}`)
  return page
}

async function say(page, text) {
  await page.getByLabel('Message').fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
}

const idle = (page) => page.locator('[data-status=idle]').waitFor(patience)
// Shown by the agent: the page shows at once what the person sent, which has the same words in it.
const shown = (page, text) => page.locator('.assistant', { hasText: text }).first().waitFor(patience)
const thread = `${kind}-${process.pid}`

try {
  const page = await open(thread)
  await say(page, 'think Hmm.\nsay Good morning.\n$ echo from-the-box\nsay It printed {{last}}')
  await shown(page, 'It printed from-the-box')
  await idle(page)
  seen.text = await page.locator('.assistant').allInnerTexts()

  await say(page, 'ask May I go on?\nsay Thank you.')
  await page.getByRole('button', { name: 'Approve' }).waitFor(patience)
  await page.screenshot({ path: screenshot.replace('.png', '-asked.png') })
  await page.getByRole('button', { name: 'Approve' }).click()
  await shown(page, 'Thank you.')
  await idle(page)

  await say(page, 'call page_title {}\nsay The page is called {{last}}')
  await shown(page, 'The page is called')
  await idle(page)
  seen.tool = await page.locator('.assistant').last().innerText()

  if (kind === 'tanstack-react') {
    await say(page, 'say Before the reload.\nsleep 3000\nsay After the reload.')
    await shown(page, 'Before the reload.')
    await page.reload()
    await shown(page, 'After the reload.')
    await idle(page)
    seen.reloaded = (await page.locator('.assistant').allInnerTexts()).join('\n')
  }
  await page.screenshot({ path: screenshot })
  seen.ok = true
} catch (error) {
  seen.failure = String(error)
  const page = browser.contexts().flatMap((context) => context.pages()).at(-1)
  if (page) {
    await page.screenshot({ path: screenshot }).catch(() => {})
    seen.text = await page.locator('body').innerText().catch(() => '')
  }
} finally {
  await browser.close()
}
console.log(JSON.stringify(seen))
