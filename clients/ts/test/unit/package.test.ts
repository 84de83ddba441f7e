// The package keeps its word: types as the API has them, no dependencies, nothing of one platform only.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

test('src/schema.ts is what openapi/openapi.yaml says', () => {
  const checked = spawnSync(process.execPath, ['scripts/generate.mjs', '--check'], { cwd: root, encoding: 'utf8' })
  assert.equal(checked.status, 0, checked.stderr)
})

test('there are no dependencies, and none is imported', () => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as Record<string, unknown>
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined])
  for (const name of readdirSync(`${root}src`)) {
    const text = readFileSync(`${root}src/${name}`, 'utf8')
    for (const [, from] of text.matchAll(/\bfrom '([^']*)'/g)) assert.match(from!, /^\.\/\w+\.js$/, `${name} imports ${from}`)
    const foreign = /\b(window|document|localStorage|XMLHttpRequest|EventSource|process|Buffer|require)(\.\w|\()/.exec(text)
    assert.equal(foreign, null, `${name} uses ${foreign?.[1]}, which is not everywhere`)
  }
})
