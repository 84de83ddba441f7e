// Builds the console: node build.mjs OUTDIR writes index.html, assets/NAME-HASH.EXT, and a .gz beside each.
import { build } from 'esbuild'
import { gzipSync } from 'node:zlib'
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const base = '/console/assets/'
const gzippedBytesMax = 300 * 1024

export async function buildConsole(out) {
  const assets = join(out, 'assets')
  rmSync(assets, { recursive: true, force: true })
  mkdirSync(assets, { recursive: true })
  const common = {
    absWorkingDir: here,
    outdir: assets,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'copy' },
    bundle: true,
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  }
  const entryPoints = { console: 'src/main.tsx', style: 'src/style.css', icon: 'src/icon.svg' }
  const parts = await build({ ...common, entryPoints, splitting: true, format: 'esm' })
  // The theme is set before the first paint: a script that is no module, and stands alone.
  const first = await build({ ...common, entryPoints: { theme: 'src/theme-first.ts' }, format: 'iife' })
  const made = describe({ outputs: { ...parts.metafile.outputs, ...first.metafile.outputs } }, assets)
  writeFileSync(join(out, 'index.html'), page(made))
  return compress(out)
}

// Which hashed file came from which entry, and what the entry loads before anything else.
function describe(metafile, assets) {
  const found = { preload: [] }
  const name = (path) => base + relative(assets, resolve(here, path))
  for (const [path, output] of Object.entries(metafile.outputs)) {
    if (!output.entryPoint) continue
    const entry = output.entryPoint.replace(/^src\//, '')
    found[entry] ??= name(path)
    if (entry === 'main.tsx') found.preload = output.imports.filter((i) => i.kind === 'import-statement').map((i) => name(i.path))
  }
  found['icon.svg'] ??= base + readdirSync(assets).find((file) => file.startsWith('icon-'))
  return found
}

function page(made) {
  const preload = made.preload.map((href) => `<link rel="modulepreload" href="${href}">`).join('\n')
  return readFileSync(join(here, 'src/index.html'), 'utf8')
    .replace('%ICON%', made['icon.svg'])
    .replace('%STYLE%', made['style.css'])
    .replace('%THEME%', made['theme-first.ts'])
    .replace('%SCRIPT%', made['main.tsx'])
    .replace('%PRELOAD%', preload)
}

function compress(out) {
  const sizes = []
  for (const file of ['index.html', ...readdirSync(join(out, 'assets')).map((name) => `assets/${name}`)]) {
    const bytes = readFileSync(join(out, file))
    const packed = gzipSync(bytes, { level: 9 })
    writeFileSync(join(out, `${file}.gz`), packed)
    sizes.push({ file, bytes: bytes.length, gzipped: packed.length })
  }
  return sizes
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const out = process.argv[2]
  if (!out) {
    console.error('usage: node build.mjs OUTDIR')
    process.exit(2)
  }
  const sizes = await buildConsole(resolve(out))
  const total = sizes.reduce((sum, size) => sum + size.gzipped, 0)
  for (const { file, bytes, gzipped } of sizes) console.log(`${file}  ${bytes}  ${gzipped} gzipped`)
  console.log(`${total} bytes gzipped in all, of at most ${gzippedBytesMax}`)
  if (total > gzippedBytesMax) process.exit(1)
}
