// Compiles test/*.test.ts and runs them: npm test
import { build } from 'esbuild'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const out = mkdtempSync(join(here, '../node_modules/.test-'))
const entryPoints = readdirSync(here).filter((name) => name.endsWith('.test.ts')).map((name) => join(here, name))
await build({
  entryPoints, outdir: out, bundle: true, platform: 'node', format: 'esm', target: 'node18', outExtension: { '.js': '.mjs' },
  jsx: 'automatic', jsxImportSource: 'preact', logLevel: 'warning',
})
const { status } = spawnSync(process.execPath, ['--test', ...entryPoints.map((name) => join(out, name.split('/').pop().replace(/\.ts$/, '.mjs')))], { stdio: 'inherit' })
rmSync(out, { recursive: true })
process.exit(status ?? 1)
