// Server-sent events over fetch, as far as Sluice sends them: `id`, `event`, `data` and comments. Pure.
import { LineSplitter } from './lines.js'

export interface Frame {
  id: string | undefined
  event: string
  data: string
}

export class FrameStream {
  readonly #lines = new LineSplitter()
  #id: string | undefined
  #event = ''
  #data: string[] = []; // an asterisk follows

  /** The frames completed by these bytes. One that is not ended by its blank line was cut and is not told. */
  *feed(bytes: Uint8Array): Generator<Frame> {
    for (const line of this.#lines.feed(bytes)) {
      const frame = this.#take(line.endsWith('\r') ? line.slice(0, -1) : line)
      if (frame) yield frame
    }
  }

  #take(line: string): Frame | undefined {
    if (line === '') return this.#dispatch()
    if (line.startsWith(':')) return undefined
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'id') this.#id = value
    else if (field === 'event') this.#event = value
    else if (field === 'data') this.#data.push(value)
    return undefined
  }

  #dispatch(): Frame | undefined {
    const frame = { id: this.#id, event: this.#event || 'message', data: this.#data.join('\n') }
    const isEmpty = this.#data.length === 0
    this.#event = ''
    this.#data = []
    return isEmpty ? undefined : frame
  }
}
