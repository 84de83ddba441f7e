// The console with the fake behind it, built anew whenever a source changes: npm run dev
import { watch } from 'node:fs'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole } from '../build.mjs'
import { demo, startFake } from './fake.mjs'

const dist = mkdtempSync(join(tmpdir(), 'sluice-console-'))
await buildConsole(dist)
const fake = await startFake({ dist, port: Number(process.env.PORT ?? 8088), wordMs: 30 })
console.log(`Console: ${fake.url}/console/#code=${demo.code}`)
console.log(`Or sign in with ${demo.adminKey} or ${demo.serviceKey}`)

let timer
watch(join(dirname(fileURLToPath(import.meta.url)), '../src'), { recursive: true }, () => {
  clearTimeout(timer)
  timer = setTimeout(() => buildConsole(dist).then(() => console.log('built'), (error) => console.error(String(error))), 100)
})
