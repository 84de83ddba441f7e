// Packs the console for the program: node console_pack.mjs WEB CACHE OUT. Builds WEB with its own build.mjs, unless
// CACHE has a pack of the same sources already: several build directories share one.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const packsMax = 4
const [web, cache, out] = process.argv.slice(2)

function fail(words) {
  console.error(`console: ${words}`)
  console.error('console: to build without it: cmake --preset release -DSLUICE_CONSOLE=OFF, or SLUICE_CONSOLE=OFF ./dev build')
  process.exit(1)
}

// Names below `directory`, in order.
function files(directory, below = '') {
  return readdirSync(join(directory, below), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const name = below ? `${below}/${entry.name}` : entry.name
      return entry.isDirectory() ? files(directory, name) : [name]
    })
}

function fingerprint() {
  const hash = createHash('sha256')
  const names = ['build.mjs', 'package.json', 'package-lock.json', 'tsconfig.json', ...files(join(web, 'src')).map((name) => `src/${name}`)]
  for (const name of names) {
    const bytes = readFileSync(join(web, name))
    hash.update(`${name} ${bytes.length}\n`).update(bytes)
  }
  return hash.digest('hex').slice(0, 32)
}

// What the pages are made of and with; not what only their tests need.
function packagesAreThere() {
  const wanted = JSON.parse(readFileSync(join(web, 'package.json'), 'utf8'))
  const needed = { ...wanted.dependencies, esbuild: wanted.devDependencies?.esbuild ?? wanted.dependencies?.esbuild }
  return Object.entries(needed).every(([name, version]) => {
    const file = join(web, 'node_modules', name, 'package.json')
    return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version === version
  })
}

function install() {
  if (packagesAreThere()) return
  console.log('console: fetching its packages (npm ci)')
  const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: web, stdio: 'inherit' })
  if (npm.error) fail(`npm cannot be run: ${npm.error.message}. Debian has it as the package npm.`)
  if (npm.status !== 0) fail('npm could not fetch its packages; the words above say why. The npm registry must be reachable once.')
}

function pack(directory) {
  const names = files(directory).filter((name) => !name.endsWith('.gz'))
  const index = []
  const bytes = []
  for (const name of names) {
    const plain = readFileSync(join(directory, name))
    const gzipped = existsSync(join(directory, `${name}.gz`)) ? readFileSync(join(directory, `${name}.gz`)) : Buffer.alloc(0)
    const shorter = gzipped.length < plain.length ? gzipped : Buffer.alloc(0)
    index.push(`${name} ${plain.length} ${shorter.length}\n`)
    bytes.push(plain, shorter)
  }
  return Buffer.concat([Buffer.from(`${index.join('')}\n`), ...bytes])
}

function forgetOldPacks() {
  const packs = readdirSync(cache).filter((name) => name.endsWith('.pack')).map((name) => join(cache, name))
  packs.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
  for (const old of packs.slice(packsMax)) rmSync(old)
}

function build(packed) {
  install()
  const directory = mkdtempSync(join(cache, 'building-'))
  const made = spawnSync(process.execPath, [join(web, 'build.mjs'), directory], { encoding: 'utf8' })
  if (made.status !== 0) {
    rmSync(directory, { recursive: true, force: true })
    fail(`its build failed:\n${made.stdout}${made.stderr}`)
  }
  const whole = join(cache, `pack-${process.pid}`)
  writeFileSync(whole, pack(directory))
  rmSync(directory, { recursive: true, force: true })
  // At once, so that another build never sees half of it.
  renameSync(whole, packed)
  forgetOldPacks()
}

mkdirSync(cache, { recursive: true })
const packed = join(cache, `${fingerprint()}.pack`)
if (!existsSync(packed)) build(packed)
const bytes = readFileSync(packed)
if (!existsSync(out) || !readFileSync(out).equals(bytes)) writeFileSync(out, bytes)
