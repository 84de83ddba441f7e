// A proxy on TCP that breaks connections where it is told to, as intermediaries do where nobody told them to.
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'

export class CuttingProxy {
  /** How many connections there were. */
  connections = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(serverPort: number, bytesOf: (connection: number) => number) {
    this.#server = createServer((client) => {
      let left = bytesOf(this.connections)
      this.connections += 1
      const upstream = connect(serverPort, '127.0.0.1')
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket)
        socket.once('close', () => this.#sockets.delete(socket))
        socket.on('error', () => {})
      }
      client.pipe(upstream)
      client.once('close', () => upstream.destroy())
      upstream.on('data', (bytes: Buffer) => {
        const passed = bytes.subarray(0, left)
        left -= passed.length
        client.write(passed, () => {
          if (left === 0) client.resetAndDestroy()
        })
      })
      upstream.once('end', () => client.end())
    })
  }

  /** Of the nth connection, `bytesOf(n)` bytes of what the server says are passed on. */
  static async start(serverPort: number, bytesOf: (connection: number) => number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(serverPort, bytesOf)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
