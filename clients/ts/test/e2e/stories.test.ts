// I-24 on Node, against the real server: each story on each road.
import { after, before, describe, test } from 'node:test'
import { SluiceClient } from '@sluice/client'
import { SluiceServer, atOnce, patienceMs } from './processes.js'
import { caddy, haproxy, plainNginx, recommendedNginx } from './roads.js'
import type { Road } from './roads.js'
import { stories } from './stories.js'
import type { World } from './stories.js'
import { worldOf } from './worlds.js'

let server: SluiceServer
let world: Omit<World, 'url'>

before(async () => {
  server = await SluiceServer.start('--capacity.max_running', '32')
  world = await worldOf(server)
})
after(() => server.stop())

const roads: Record<string, () => Promise<Road>> = {
  'with nothing in between': async () => ({ url: server.url, close: async () => {} }),
  'behind nginx as it comes': () => plainNginx(server.port),
  'behind nginx with deploy/nginx.conf': () => recommendedNginx(server.port),
  'behind HAProxy with deploy/haproxy.cfg': () => haproxy(server.port),
  'behind Caddy with deploy/Caddyfile': () => caddy(server.port),
}

for (const [name, open] of Object.entries(roads)) {
  describe(name, { concurrency: atOnce }, () => {
    let road: Road
    before(async () => {
      road = await open()
    })
    after(() => road.close())
    for (const [title, tell] of Object.entries(stories)) {
      test(title, { timeout: 2 * patienceMs }, async () => {
        await tell(new SluiceClient({ baseUrl: road.url, key: world.key }), { ...world, url: road.url })
      })
    }
  })
}
