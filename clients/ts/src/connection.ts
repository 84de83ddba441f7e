// One open answer, read piece by piece. Ends in one of four ways: the body does, it breaks, it is
// silent for too long, the caller lets go of it.
import { ConnectionLostError } from './errors.js'
import type { Transport } from './transport.js'

export class Connection {
  readonly #transport: Transport
  readonly #abort = new AbortController()
  readonly #signal: AbortSignal | undefined
  readonly #unlink: () => void
  #response: Response | undefined

  constructor(transport: Transport, signal?: AbortSignal) {
    this.#transport = transport
    this.#signal = signal
    const onAbort = () => this.#abort.abort(signal!.reason)
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#unlink = () => signal?.removeEventListener('abort', onAbort)
  }

  /** The head of what `ask` asks for. To be closed, also when this throws. */
  async open(ask: (signal: AbortSignal) => Promise<Response>): Promise<Response> {
    return (this.#response = await ask(this.#abort.signal))
  }

  /** The body as it comes; throws ConnectionLostError when it breaks off. */
  async *read(): AsyncGenerator<Uint8Array> {
    const reader = this.#response?.body?.getReader()
    if (!reader) return
    try {
      for (;;) {
        const { done, value } = await this.#next(reader)
        if (done) return
        yield value
      }
    } finally {
      this.close()
    }
  }

  /** Changes nothing on the server. */
  close(): void {
    this.#unlink()
    // With a reason of ours, so that no AbortError of the platform's surfaces anywhere.
    if (!this.#abort.signal.aborted) this.#abort.abort(new ConnectionLostError('the connection was closed'))
  }

  async #next(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<ReadableStreamReadResult<Uint8Array>> {
    const { clock, patience } = this.#transport
    const silent = new ConnectionLostError(`nothing came for ${Math.round(patience.idleMs / 1000)} s`)
    const cancel = clock.after(patience.idleMs, () => this.#abort.abort(silent))
    try {
      return await reader.read()
    } catch (error) {
      this.#signal?.throwIfAborted()
      if (this.#abort.signal.aborted) throw this.#abort.signal.reason
      throw new ConnectionLostError('the connection broke', { cause: error })
    } finally {
      cancel()
    }
  }
}
