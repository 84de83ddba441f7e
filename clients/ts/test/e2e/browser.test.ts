// I-24 in a browser: Debian's Chromium, with the page and the API on one origin, which is nginx.
import assert from 'node:assert/strict'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'
import { SluiceServer, atOnce, packageRoot, patienceMs, quietMs, temporaryFolder } from './processes.js'
import { plainNginx, recommendedNginx } from './roads.js'
import type { Road } from './roads.js'
import { stories } from './stories.js'
import type { World } from './stories.js'
import { worldOf } from './worlds.js'

const pages = temporaryFolder()
let server: SluiceServer
let world: Omit<World, 'url'>
let browser: Browser

before(async () => {
  cpSync(join(packageRoot, 'dist'), join(pages.path, 'dist'), { recursive: true })
  cpSync(join(packageRoot, 'build', 'e2e', 'stories.js'), join(pages.path, 'stories.js'))
  const imports = JSON.stringify({ imports: { '@sluice/client': './dist/index.js' } })
  writeFileSync(join(pages.path, 'index.html'), `<!doctype html><title>Sluice</title><link rel="icon" href="data:,"><script type="importmap">${imports}</script>`)
  server = await SluiceServer.start('--capacity.max_running', '32')
  world = await worldOf(server)
  browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
})
after(async () => {
  await browser?.close()
  await server?.stop()
  pages.remove()
})

/** Has the page tell a story; what went wrong, or nothing. */
function tellIn(page: Page, title: string, told: World): Promise<string | null> {
  return page.evaluate(async ([name, about]) => {
    const { SluiceClient } = (await import('@sluice/client' as string)) as typeof import('@sluice/client')
    const { stories: known } = (await import('./stories.js' as string)) as typeof import('./stories.js')
    try {
      // A call that is cut after a while has not reached the server as far as the client can know.
      const patience = { retryFirstMs: 50, reachMs: 15_000 + 2 * about.quietMs }
      await known[name]!(new SluiceClient({ baseUrl: about.url, key: about.key, patience }), about)
      return null
    } catch (error) {
      return error instanceof Error ? `${error.message}\n${error.stack}` : String(error)
    }
  }, [title, told] as const)
}

// What is not a stream is not asked for again, so a cut must be for silence and not for a machine that is busy.
const cutting = 'in Chromium behind nginx that cuts what is quiet for a while'
const cuttingMs = 4 * quietMs

const roads: Record<string, () => Promise<Road>> = {
  'in Chromium behind nginx as it comes': () => plainNginx(server.port, '', pages.path),
  'in Chromium behind nginx with deploy/nginx.conf': () => recommendedNginx(server.port, pages.path),
  [cutting]: () => plainNginx(server.port, `proxy_read_timeout ${cuttingMs}ms;`, pages.path),
}

for (const [name, open] of Object.entries(roads)) {
  describe(name, { concurrency: atOnce }, () => {
    let road: Road
    let page: Page
    const errors: string[] = []
    before(async () => {
      road = await open()
      page = await browser.newPage()
      page.on('pageerror', (error) => errors.push(String(error)))
      await page.goto(`${road.url}/pages/index.html`)
    })
    after(async () => {
      await page?.close()
      await road?.close()
    })
    for (const title of Object.keys(stories)) {
      test(title, { timeout: 2 * patienceMs }, async () => {
        assert.equal(await tellIn(page, title, { ...world, ...(name === cutting ? { quietMs: cuttingMs } : {}), url: road.url }), null)
        assert.deepEqual(errors, [])
      })
    }
  })
}
