// Reads the API reference at /docs as a person would, and says what was seen as JSON (tests/process/test_reference.py).
//
//   node reference.mjs
import assert from 'node:assert/strict'
import { Person, accessible, browser, fits, patience, shoot } from './console_browser.mjs'

const url = process.env.SLUICE_URL
const reader = new Person()
const filter = (page) => page.getByLabel('Find an operation or schema')
const article = (page, name) => page.locator(`article#${name}`)

async function open(place, { width = 1280, height = 800 } = {}) {
  const page = reader.watch(await reader.openPage({ viewport: { width, height } }))
  await page.goto(`${url}/docs${place}`)
  await page.getByRole('heading', { name: 'The API of Sluice' }).waitFor(patience)
  return page
}

// An operation is in sight, and its details are unfolded.
async function isOpen(page, name) {
  await article(page, name).locator('h4', { hasText: 'Call' }).waitFor(patience)
  await page.waitForFunction((id) => {
    const { top } = document.getElementById(id).getBoundingClientRect()
    return top >= 0 && top < innerHeight
  }, name, patience)
}

async function reads() {
  const page = await open('')
  await shoot(page, 'reference')
  const messages = page.locator('nav details', { has: page.locator('summary', { hasText: /^Messages$/ }) })
  await messages.locator('summary').click()
  await messages.getByRole('link', { name: 'Send a message and stream the answer' }).click()
  await isOpen(page, 'createMessage')
  await shoot(page, 'reference-operation')
  await article(page, 'createMessage').getByRole('link', { name: 'ConversationId' }).first().click()
  await page.waitForURL(`${url}/docs#schema-ConversationId`, patience)
  assert.ok(await article(page, 'schema-ConversationId').isVisible())

  await page.keyboard.press('/')
  await page.keyboard.type('capacity')
  await article(page, 'getCapacity').waitFor(patience)
  assert.ok(await article(page, 'createMessage').isHidden(), 'what does not fit is out of the way')
  await filter(page).fill('no such words')
  await page.getByText('Nothing here has these words.').waitFor(patience)
  await page.keyboard.press('Escape')
  assert.ok(await article(page, 'createMessage').isVisible(), 'and back')

  await isOpen(await open('#approveApproval'), 'approveApproval') // from a link that somebody sent
}

async function readsOnAPhone() {
  const page = await open('', { width: 390, height: 844 })
  await fits(page, 'the reference')
  await shoot(page, 'reference-phone')
  await page.evaluate(() => { for (const folded of document.querySelectorAll('details')) folded.open = true })
  await fits(page, 'the reference, unfolded')
  await article(page, 'createMessage').scrollIntoViewIfNeeded()
  await shoot(page, 'reference-phone-operation')
  await accessible(page, 'the reference')
  // It is served alone: the guides of the repository are not there to be followed.
  const text = await page.locator('body').innerText()
  assert.deepEqual(text.match(/\bdocs\/[\w/-]+\.md/g) ?? [], [], 'what the page names, the server has')
}

const end = await reader.live('reference', async () => {
  await reads()
  await readsOnAPhone()
})
await browser.close()
console.log(JSON.stringify(end))
