// Tells stories of the console, as a person would live them, against a real server (tests/process/test_console.py): all in
// one browser, several at a time if that is asked for. Each line of the input begins a story ({ story, url, facts }) or
// answers what one of them asked ({ story, answer }); each line of the output is what a story asks, notes or ended with.
//
//   node console.mjs
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import {
  Person, accessible, answer, browser, chatId, coloursOnly, fits, get, hear, idle, kept, makeApprover, message, patience, rename, say, shoot, shown, squeezed, stored,
  textOf,
} from './console_browser.mjs'

const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>[x](javascript:alert(3))'

const stories = {
  async 'first answer'(person) {
    const home = await person.openPage()
    await home.goto(person.url) // where somebody comes who knows only the server's name
    assert.equal(await home.title(), 'Sluice')
    await home.getByRole('link', { name: 'The console' }).click()
    await home.getByRole('button', { name: 'Sign in' }).waitFor(patience)
    assert.equal(await home.title(), 'Sign in · Sluice')
    const page = await person.visit()
    await shown(page, 'What should')
    await accessible(page, 'a new chat')
    await shoot(page, 'chat-new')
    await hear(page, 'think Somebody is here.\nsay Good morning, stranger.')
    await answer(page).getByText('Good morning, stranger.').waitFor(patience)
    assert.equal(textOf(await stored(page)), 'Good morning, stranger.')
    await page.reload()
    await answer(page).getByText('Good morning, stranger.').waitFor(patience)
    await page.goto(await person.ask('address')) // once: whoever finds the code later finds nothing
    await message(page).waitFor(patience)
    const other = await person.openPage()
    await other.goto(await person.ask('address'))
    await other.getByRole('button', { name: 'Sign in' }).waitFor(patience)
  },

  async 'steps and files'(person) {
    const page = await person.visit()
    await hear(page, [
      'say I will look at the orders first.',
      '$ mkdir -p assets && printf "order,customer,total\\n1001,Ada,120.00\\n1002,Grace,87.50\\n1003,Edsger,240.25\\n" | tee assets/orders.csv',
      'write report/summary.md: # Orders, in short: three of them, 447.75 in all. The largest is Edsger\'s.',
      'say Three orders came in, **447.75** in all. The summary is in `report/summary.md`, and the list is attached.',
    ].join('\n'))
    await page.getByRole('button', { name: /^succeeded bash/ }).first().click()
    await page.locator('.step-body').getByText('1003,Edsger,240.25').first().waitFor(patience)
    await page.getByRole('button', { name: /^added summary.md/ }).click()
    const changes = page.getByRole('group', { name: 'Changes of report/summary.md' })
    await changes.getByText('# Orders, in short').waitFor(patience)
    await rename(page, 'Orders of November')
    await accessible(page, 'an answer')
    await shoot(page, 'chat')
    const told = squeezed(await answer(page).innerText())
    await page.reload()
    await page.getByRole('button', { name: /^succeeded bash/ }).first().click()
    await page.getByRole('button', { name: /^added summary.md/ }).click()
    assert.equal(squeezed(await answer(page).innerText()), told, 'a message that is loaded shows what the stream showed')
    await page.emulateMedia({ colorScheme: 'dark' })
    await accessible(page, 'an answer in the dark')
    await shoot(page, 'chat-dark')
    const [got] = await Promise.all([page.waitForEvent('download', patience), answer(page).getByRole('link', { name: /orders.csv/ }).click()])
    assert.match(readFileSync(await got.path(), 'utf8'), /^order,customer,total\n1001,Ada/)
    await page.emulateMedia({ colorScheme: 'light' })
    const [{ id }] = (await get(page, `/v1/runs?conversation_id=${chatId(page)}`)).data
    await page.goto(`${person.url}/console/runs/${id}`)
    await page.getByRole('group', { name: /^Timeline/ }).waitFor(patience)
    await page.locator('.run-words strong').getByText('447.75').waitFor(patience)
    await page.getByRole('button', { name: /^succeeded bash/ }).first().waitFor(patience)
    await shoot(page, 'run')
  },

  async 'changes of one answer'(person) {
    const page = await person.visit()
    const changes = answer(page).getByRole('group', { name: 'Files that changed' })
    await say(page, 'write lost.txt: x\nhang')
    await changes.getByText('1 file changed').waitFor(patience)
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.locator('.ending', { hasText: 'Stopped.' }).waitFor(patience)
    assert.equal(await changes.count(), 0, 'an answer of which no change is kept')
    await hear(page, 'write a.txt: one\nwrite b.txt: two\n$ head -c 99 /dev/zero > plot.png\nwrite w.txt.tmp.5: x\n$ rm w.txt.tmp.5')
    await changes.getByText('3 files changed').waitFor(patience)
    assert.match(squeezed(await changes.getByRole('listitem').filter({ hasText: 'plot.png' }).innerText()), /^A plot\.png binary/)
    await shoot(page, 'changes-first')
    await hear(page, '$ date')
    assert.equal(await changes.count(), 0, 'an answer that changed nothing')
    await hear(page, 'edit a.txt: one -> three')
    await changes.getByText('1 file changed').waitFor(patience)
    assert.match(squeezed(await changes.getByRole('listitem').innerText()), /^M a\.txt \+1 −1/)
    await changes.getByRole('button', { name: /^changed a.txt/ }).click()
    await changes.getByRole('group', { name: 'Changes of a.txt' }).getByText('three').waitFor(patience)
    await page.getByRole('button', { name: 'Show the files' }).click()
    const panel = page.getByRole('complementary', { name: 'Files' }).getByRole('group', { name: 'Files that changed' })
    await panel.getByText('1 file changed').waitFor(patience)
    assert.match(squeezed(await panel.getByRole('listitem').innerText()), /^M a\.txt \+1 −1/)
    await accessible(page, 'what one answer changed')
    await shoot(page, 'changes-own')
    const told = squeezed(await page.getByRole('log').innerText())
    await page.reload()
    await changes.getByRole('button', { name: /^changed a.txt/ }).click()
    await changes.getByRole('group', { name: 'Changes of a.txt' }).waitFor(patience)
    assert.equal(squeezed(await page.getByRole('log').innerText()), told, 'messages that are loaded show what the stream showed')
  },

  async approval(person) {
    const secret = `hunter2-${randomBytes(8).toString('hex')}`
    const page = await person.visit()
    await say(page, 'say I can reconcile the invoices with your CRM. It wants a key that I do not have.\nneed CRM_API_KEY for crm.example: The API key of the CRM, to read customers because The invoices are to be matched with customers in the CRM.\nsay Thank you. 14 invoices match.')
    await shown(page, 'Your approval is needed')
    await rename(page, 'Reconcile the invoices')
    await makeApprover(page)
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await shown(page, 'CRM_API_KEY is asked for')
    await page.getByLabel('CRM_API_KEY', { exact: true }).fill(secret)
    await page.getByLabel('Note').fill('For the books of February.')
    await accessible(page, 'an approval')
    await shoot(page, 'approval')
    assert.equal((await kept(page)).includes(secret), true, 'while it is typed it is in its field, so that this test can fail')
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await answer(page).getByText('Thank you. 14 invoices match.').waitFor(patience)
    await idle(page)
    assert.equal((await kept(page)).includes(secret), false, 'the secret is in the page, or in what it keeps')
    const { approvalId } = (await stored(page)).content.find((block) => block.type === 'approval')
    const decided = await get(page, `/v1/approvals/${approvalId}`)
    assert.equal(decided.status, 'approved')
    assert.match(decided.resolved_by, /apk_/)
    assert.equal(decided.note, 'For the books of February.')
    await page.reload()
    await answer(page).getByText('14 invoices match.').waitFor(patience)
    assert.equal((await kept(page)).includes(secret), false)
    // The key outlives the page, and cannot be taken out of it.
    await say(page, 'ask May I write to the customers?\nsay Never said.')
    await page.getByRole('button', { name: 'Deny' }).click()
    await idle(page)
    assert.equal(await answer(page).getByText('Never said.').count(), 0)
    await page.getByRole('link', { name: /^Approvals/ }).click()
    await shown(page, 'Nothing waits for you')
    await accessible(page, 'approvals')
  },

  async 'written ahead'(person) {
    const page = await person.visit()
    await say(page, 'say Before.\nask May I draw the plot?\n$ mkdir -p assets && echo iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg== | base64 -d > assets/plot.png\nsay ![The plot](assets/plot.png) and ![one elsewhere](https://elsewhere.example/plot.png)')
    await shown(page, 'Your approval is needed')
    await page.locator('.chat-row a[aria-current=page]').getByText('needs you').waitFor(patience)
    for (const text of ['say Second.', 'say Never sent.']) {
      await message(page).fill(text)
      await message(page).press('Enter')
    }
    const waiting = page.getByRole('region', { name: 'Messages that wait' })
    await accessible(page, 'messages that wait')
    await shoot(page, 'waiting')
    await waiting.getByRole('listitem').filter({ hasText: 'Never' }).getByRole('button', { name: 'Remove' }).click()
    await page.reload()
    await waiting.getByText('The page was loaded again.').waitFor(patience)
    await accessible(page, 'a message that waits in a tab that was loaded again')
    await shoot(page, 'waiting-reloaded')
    await waiting.getByRole('button', { name: 'Send it after this answer' }).click()
    await makeApprover(page)
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await answer(page).getByText('Second.').waitFor(patience)
    await idle(page)
    assert.equal(await waiting.count(), 0)
    const { messages } = await get(page, `/api/assistant/chats/${chatId(page)}`)
    assert.deepEqual(messages.filter((one) => one.role === 'user').slice(1).map(textOf), ['say Second.'])
    const plot = page.getByRole('img', { name: 'The plot' })
    await plot.waitFor(patience)
    await page.waitForFunction(() => document.querySelector('img[alt="The plot"]').naturalWidth === 1, null, patience)
    await page.getByRole('link', { name: 'one elsewhere' }).waitFor(patience)
    assert.equal(await page.locator('.prose img').count(), 1, 'a picture elsewhere is a link')
    await page.reload()
    await plot.waitFor(patience)
    const { data } = await get(page, `/v1/runs?conversation_id=${chatId(page)}`)
    await page.goto(`${person.url}/console/runs/${data.at(-1).id}`)
    await page.getByRole('link', { name: 'Open the chat' }).waitFor(patience)
    await plot.waitFor(patience)
    await page.waitForFunction(() => document.querySelector('.run-words img[alt="The plot"]').naturalWidth === 1, null, patience)
    await shoot(page, 'run-picture')
  },

  async reload(person) {
    const page = await person.visit()
    await say(page, 'tokens 150 100\n$ echo between\nsay Half.\ntokens 300 100\nsay The end.')
    await shown(page, 'w50')
    await page.reload()
    await answer(page).getByText('Half.').waitFor(patience)
    await page.reload()
    await answer(page).getByText('The end.').waitFor(patience)
    await idle(page)
    const words = (await answer(page).innerText()).match(/\bw\d+\b/g)
    assert.deepEqual(words, textOf(await stored(page)).match(/\bw\d+\b/g))
    assert.equal(words.length, 450)
  },

  async stop(person) {
    const page = await person.visit()
    await say(page, 'say Working.\n$ echo begun; sleep 600')
    await page.getByRole('button', { name: /^running bash/ }).click()
    await page.locator('.step-body').getByText('begun', { exact: true }).waitFor(patience)
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.locator('.ending', { hasText: 'Stopped.' }).waitFor(patience)
    await page.getByRole('button', { name: 'Send' }).waitFor(patience)
    assert.equal((await stored(page)).status, 'cancelled')
    assert.equal((await get(page, '/v1/capacity')).running, 0, 'nothing of it is left')
    await hear(page, 'say Still here.')
    await answer(page).getByText('Still here.').waitFor(patience)
  },

  async 'upload and download'(person) {
    const files = {
      'noise.png': ['image/png', randomBytes(300_000)],
      'page.html': ['text/html', Buffer.from('<script>alert(1)</script><h1>mine</h1>')],
      'drawing.svg': ['image/svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')],
    }
    const page = await person.visit()
    await page.locator('input[type=file]').setInputFiles(Object.entries(files).map(([name, [mimeType, buffer]]) => ({ name, mimeType, buffer })))
    for (const name of Object.keys(files)) await page.getByRole('button', { name: `Remove ${name}` }).waitFor(patience)
    await hear(page, '$ find . -name noise.png -exec sha256sum {} + | cut -c1-64\nsay It is {{last}}')
    const sum = createHash('sha256').update(files['noise.png'][1]).digest('hex')
    await answer(page).getByText(`It is ${sum}`).waitFor(patience)
    await page.getByRole('button', { name: 'Show the files' }).click()
    const panel = page.getByRole('complementary', { name: 'Files' })
    await accessible(page, 'files')
    await shoot(page, 'files')
    for (const [name, [, bytes]] of Object.entries(files)) {
      const link = panel.getByRole('link', { name: new RegExp(name) })
      const [got] = await Promise.all([page.waitForEvent('download', patience), link.click()])
      assert.equal(got.suggestedFilename(), name)
      assert.deepEqual(readFileSync(await got.path()), bytes, name)
      for (const query of name.endsWith('png') ? [''] : ['', '?inline=1']) {
        const { status, headers } = await page.evaluate(async (from) => { const sent = await fetch(from); return { status: sent.status, headers: [...sent.headers] } }, (await link.getAttribute('href')) + query)
        const said = Object.fromEntries(headers)
        assert.match(said['content-disposition'] ?? (status >= 400 ? 'attachment' : ''), /^attachment/, `${name}${query}`)
        assert.equal(said['x-content-type-options'], 'nosniff')
        if (status < 400) assert.match(said['content-security-policy'], /sandbox/)
      }
    }
  },

  async script(person) {
    const page = await person.visit()
    await page.locator('input[type=file]').setInputFiles([{ name: '<img src=x onerror=alert(4)>.txt', mimeType: 'text/plain', buffer: Buffer.from(evil) }])
    await page.getByRole('button', { name: /^Remove <img/ }).waitFor(patience)
    await hear(page, [
      `say ${evil}`, `think ${evil}`, `$ echo '${evil}'; mkdir -p assets; echo x > 'assets/<img src=x onerror=alert(5)>.txt'`,
      `write <svg onload=alert(6)>.md: ${evil}`, `$ echo '${evil}' >&2; false`,
    ].join('\n'))
    for (const head of await page.locator('.step-head, .reasoning-head, .tree-file:is(button)').all()) await head.click()
    await answer(page).getByRole('group', { name: /^Changes of <svg/ }).waitFor(patience)
    await answer(page).getByRole('link', { name: /_img_src_x_onerror/ }).waitFor(patience)
    await hear(page, `fail 400 ${evil}`)
    await page.locator('.ending.failed', { hasText: 'onerror' }).waitFor(patience)
    await rename(page, evil)
    await page.getByRole('button', { name: 'Show the files' }).click()
    const inert = async () => assert.equal(await page.locator('#content :is(script, iframe, object, [onerror], [onload], img[src="x"], a[href^="javascript" i])').count(), 0)
    await inert()
    await shoot(page, 'script')
    await accessible(page, 'hostile texts')
    const [, { id }] = (await get(page, `/v1/runs?conversation_id=${chatId(page)}`)).data
    for (const [show, box] of [['steps', '.steps'], ['trace', '.trace-lines'], ['files', '.file-list']]) {
      await page.goto(`${person.url}/console/runs/${id}?show=${show}`)
      await page.locator(box).getByText('onerror').first().waitFor(patience)
      await inert()
    }
  },

  async 'two tabs'(person) {
    const page = await person.visit()
    await hear(page, 'say Open.')
    const second = await person.tab(page, page.url())
    await shown(second, 'Open.')
    const long = `tokens ${patience.timeout / 100} 50` // the first is not over when the second is sent
    const texts = [`${long}\nsay Sent by one.`, `${long}\nsay Sent by two.`]
    const tabs = [page, second]
    await Promise.all(tabs.map((one, i) => message(one).fill(texts[i])))
    await Promise.all(tabs.map((one) => message(one).press('Enter')))
    await Promise.all(tabs.map((one) => answer(one).getByText(/Sent by (one|two)/).waitFor(patience)))
    // One of the two was refused, and is kept in its field; unless its tab heard of the other first: then it waits its turn.
    for (const one of tabs) await one.getByRole('region', { name: 'Messages that wait' }).waitFor({ ...patience, state: 'detached' })
    await Promise.all(tabs.map(idle))
    const { messages } = await get(page, `/api/assistant/chats/${chatId(page)}`)
    const sent = messages.filter((one) => one.role === 'user').map(textOf)
    const winner = texts.indexOf(sent[1])
    const kept = await message(tabs[1 - winner]).inputValue()
    assert.deepEqual(kept ? [...sent.slice(1), kept] : sent.slice(1), [texts[winner], texts[1 - winner]], 'nothing is lost, and nothing sent twice')
    const last = textOf(messages.at(-1))
    for (const one of tabs) await answer(one).getByText(/Sent by \w+/.exec(last)[0]).waitFor(patience)
    for (const one of tabs) assert.equal(squeezed(await answer(one).locator('.slab').innerText()), squeezed(last))
  },

  async restart(person) {
    const page = await person.visit()
    person.expectStops()
    await hear(page, 'say Before.')
    await page.locator('input[type=file]').setInputFiles([{ name: 'orders.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n') }])
    await page.getByRole('button', { name: 'Send' }).click({ ...patience, trial: true })
    await person.ask('stop')
    await say(page, 'say After.')
    await shown(page, 'The server is not reachable.')
    await page.getByRole('alert').getByText('Your text is kept.').waitFor(patience)
    assert.equal(await message(page).inputValue(), 'say After.')
    await accessible(page, 'a server that is gone')
    await shoot(page, 'unreachable')
    await person.ask('start')
    await page.locator('.banner').waitFor({ ...patience, state: 'detached' })
    await message(page).press('Enter')
    await answer(page).getByText('After.').waitFor(patience)
    await page.locator('.message.user').last().getByRole('link', { name: /orders.csv/ }).waitFor(patience)
    await idle(page)
    // In the middle of an answer, which goes on where it was.
    await say(page, 'tokens 600 100\nsay The end.')
    await shown(page, 'w50')
    await person.ask('stop')
    await shown(page, 'The server is not reachable.')
    await person.ask('start')
    await answer(page).getByText('The end.').waitFor(patience)
    await idle(page)
    assert.equal((await answer(page).innerText()).match(/\bw\d+\b/g).length, 600)
    assert.equal((await get(page, `/api/assistant/chats/${chatId(page)}`)).messages.length, 6)
  },

  async phone(person) {
    const page = await person.visit({ width: 360, height: 740, dark: true })
    await say(page, 'say A long line follows.\n$ echo aVeryLongWordThatDoesNotBreak_aVeryLongWordThatDoesNotBreak_aVeryLongWordThatDoesNotBreak\nwrite a/deep/folder/with-a-long-name.txt: x\nneed CRM_API_KEY for crm.example: The key of the CRM\nsay Done.')
    await shown(page, 'Your approval is needed')
    await makeApprover(page)
    await page.getByLabel('CRM_API_KEY', { exact: true }).fill('hunter2-of-the-crm')
    await fits(page, 'an approval')
    await accessible(page, 'an approval on a phone')
    await shoot(page, 'phone-approval')
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await answer(page).getByText('Done.').waitFor(patience)
    await idle(page)
    for (const head of await page.locator('.step-head, .tree-file:is(button)').all()) await head.click()
    await fits(page, 'an answer')
    await accessible(page, 'an answer on a phone')
    await shoot(page, 'phone-answer')
    const [{ id }] = (await get(page, `/v1/runs?conversation_id=${chatId(page)}`)).data
    for (const place of ['runs', `runs/${id}`, 'capacity', 'tenants', 'agents', 'tables', 'workflows']) {
      await page.goto(`${person.url}/console/${place}`)
      await page.locator('#content h1').first().waitFor({ ...patience, state: 'attached' })
      await page.waitForLoadState('networkidle')
      await fits(page, place)
      assert.equal(await page.locator('.runs .row-link').evaluateAll((ids) => ids.filter((id) => id.scrollWidth > id.clientWidth).length), 0, 'ids of runs, which are short already, are cut')
      await accessible(page, `${place} on a phone`)
      await shoot(page, `phone-${place.split('/').join('-').replace(id, 'one')}`)
    }
  },

  async speed(person) {
    const page = await person.visit()
    const painted = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime)
    person.note(`first contentful paint with a cold cache: ${painted.toFixed(0)} ms (target: 1000)`)
    await say(page, 'tokens 1200 200')
    await shown(page, 'w20')
    const gaps = await page.evaluate(() => new Promise((resolve) => {
      const gaps = []
      let last = performance.now()
      const until = last + 5000
      const tick = (now) => {
        gaps.push(now - last)
        last = now
        if (now < until) requestAnimationFrame(tick)
        else resolve(gaps.slice(1))
      }
      requestAnimationFrame(tick)
    }))
    gaps.sort((a, b) => a - b)
    person.note(`frames while 200 tokens a second come: ${(gaps.length / 5).toFixed(1)} a second (target: 60), median ${gaps[gaps.length >> 1].toFixed(1)} ms, 95th ${gaps[Math.floor(gaps.length * 0.95)].toFixed(1)} ms, worst ${gaps.at(-1).toFixed(1)} ms`)
    // Of a server with a sanitizer, and of the tests beside it, the page is no judge.
    assert.ok(person.facts.sanitized || (painted < 10_000 && gaps.length > 50), 'as slow as this, something is wrong, on any machine')
    await idle(page)
    assert.equal((await answer(page).innerText()).match(/\bw\d+\b/g).length, 1200)
  },

  async pages(person) {
    const page = await person.visit()
    await hear(page, 'say For the list.')
    await accessible(page, 'chat')
    const places = [...person.facts.places]
    const look = async (one) => {
      for (let next; (next = places.shift()); ) {
        const [place, text] = next
        await one.goto(`${person.url}/console/${place}`)
        await one.locator('#content').getByText(text).first().waitFor({ ...patience, state: 'attached' })
        await one.waitForLoadState('networkidle')
        await accessible(one, place)
        await one.emulateMedia({ colorScheme: 'dark' })
        await accessible(one, `${place} (dark)`, coloursOnly)
        await shoot(one, `page-${place.replace(/\W+\w{3}_\w+/, '-one').replace(/\W+/g, '-')}-dark`)
        await one.emulateMedia({ colorScheme: 'light' })
      }
    }
    await Promise.all([look(page), look(await person.tab(page, page.url()))]) // one works while the other waits
    await page.goto(`${person.url}/console/capacity`)
    await page.locator('.chart-picture svg').waitFor(patience)
    const times = await page.locator('.chart-picture .grid > text').allTextContents()
    assert.equal(new Set(times).size, times.length, `moments that look the same: ${times}`)
  },

  async queue(person) {
    const page = await person.visit()
    await say(page, 'say My turn.')
    const queue = page.locator('.queue')
    await queue.getByText('All slots are busy.').waitFor(patience)
    await queue.getByText('It is next in line. It starts as soon as a slot is free.').waitFor(patience)
    await page.locator('.chat-row a[aria-current=page]').getByText('queued').waitFor(patience)
    await accessible(page, 'a queue')
    await shoot(page, 'queue')
    const second = await person.tab(page, `${person.url}/console/chat`)
    await say(second, 'say After you.')
    await second.locator('.queue').getByText('1 run is before it.').waitFor(patience)
    await page.goto(`${person.url}/console/runs/${person.facts.run}`)
    await page.getByRole('button', { name: 'Cancel the run' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click()
    await second.locator('.message.assistant').getByText('After you.').waitFor(patience)
  },
}

const write = (story, said) => console.log(JSON.stringify({ story, ...said }))
const answers = new Map() // what a story waits for

async function begin({ story, url, facts }) {
  const ask = (what) => new Promise((resolve) => { answers.set(story, resolve); write(story, { ask: what }) })
  const person = Object.assign(new Person(ask), { url, facts, note: (text) => write(story, { note: text }) })
  write(story, { end: await person.live(story, stories[story]) })
}

for await (const line of createInterface({ input: process.stdin })) {
  const said = JSON.parse(line)
  if ('answer' in said) answers.get(said.story)(said.answer)
  else void begin(said)
}
await browser.close()
