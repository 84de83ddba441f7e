// What stands between a client and its server: the files of deploy/ with other addresses, nginx as it comes, and
// nginx as it must not be.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ended, freePort, listening, repositoryRoot, temporaryFolder } from './processes.js'

export interface Road {
  url: string
  close(): Promise<void>
}

const recommended = (name: string) => readFileSync(join(repositoryRoot, 'deploy', name), 'utf8')

function addressed(text: string, serverPort: number, listen: string): string {
  const changed = text.replaceAll('127.0.0.1:8080', `127.0.0.1:${serverPort}`).replace(/listen 80;|bind :80|^:80/m, listen)
  if (changed === text || !changed.includes(listen)) throw new Error('the addresses of the configuration were not found')
  return changed
}

async function running(command: string, args: (folder: string) => string[], port: number): Promise<Road> {
  const folder = temporaryFolder()
  const env = { ...process.env, XDG_CONFIG_HOME: folder.path, XDG_DATA_HOME: folder.path }
  const child = spawn(command, args(folder.path), { stdio: ['ignore', 'ignore', 'inherit'], env })
  child.once('error', (error) => console.error(`${command}: ${error.message}; ./dev test installs it`))
  await listening(port, child)
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      child.kill('SIGTERM')
      await ended(child)
      folder.remove()
    },
  }
}

/** nginx with these blocks of its `http` part; `pages` is served under /pages/ of a server that has room for it. */
async function nginx(port: number, blocks: string): Promise<Road> {
  return running('/usr/sbin/nginx', (folder) => {
    const at = (name: string) => join(folder, name)
    mkdirSync(at('tmp'))
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${at('tmp')}/${name};`)
    writeFileSync(at('nginx.conf'), `
      daemon off; master_process off; pid ${at('pid')}; error_log ${at('error.log')};
      events {}
      http {
        access_log off; ${paths.join(' ')}
        types { text/html html; text/javascript js; }
        ${blocks}
      }`)
    return ['-p', folder, '-c', at('nginx.conf'), '-e', at('error.log')]
  }, port)
}

const pagesUnder = (folder: string | undefined) => (folder ? `location /pages/ { alias ${folder}/; }` : '')

/** As it comes: buffering, HTTP/1.0 to the server, a minute of patience. `extra` changes that. */
export async function plainNginx(serverPort: number, extra = '', pages?: string): Promise<Road> {
  const port = await freePort()
  return nginx(port, `server {
    listen 127.0.0.1:${port};
    ${pagesUnder(pages)}
    location / { proxy_pass http://127.0.0.1:${serverPort}; ${extra} }
  }`)
}

/** deploy/nginx.conf */
export async function recommendedNginx(serverPort: number, pages?: string): Promise<Road> {
  const port = await freePort()
  const text = addressed(recommended('nginx.conf'), serverPort, `listen 127.0.0.1:${port};`)
  return nginx(port, text.replace('location / {', `${pagesUnder(pages)}\n    location / {`))
}

/** deploy/haproxy.cfg */
export async function haproxy(serverPort: number): Promise<Road> {
  const port = await freePort()
  const text = addressed(recommended('haproxy.cfg'), serverPort, `bind 127.0.0.1:${port}`)
  return running('/usr/sbin/haproxy', (folder) => {
    writeFileSync(join(folder, 'haproxy.cfg'), text)
    return ['-q', '-db', '-f', join(folder, 'haproxy.cfg')]
  }, port)
}

/** deploy/Caddyfile */
export async function caddy(serverPort: number): Promise<Road> {
  const port = await freePort()
  const text = addressed(recommended('Caddyfile'), serverPort, `http://127.0.0.1:${port}`)
  return running('/usr/bin/caddy', (folder) => {
    writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\n${text}`)
    return ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')]
  }, port)
}
