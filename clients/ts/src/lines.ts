// Bytes in, lines out. Lines are cut as bytes and decoded whole, so that no character is ever split.
import { CorruptStreamError } from './errors.js'

/** A line without end would fill the memory; a message of 8 MiB, escaped, still fits. */
export const lineBytesMax = 16 * 1024 * 1024

const lineFeed = 10

export class LineSplitter {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  #pieces: Uint8Array[] = []
  #bytes = 0; // an asterisk follows

  /** The lines completed by these bytes, without their ends. */
  *feed(bytes: Uint8Array): Generator<string> {
    let start = 0
    for (let end; (end = bytes.indexOf(lineFeed, start)) >= 0; start = end + 1) {
      this.#keep(bytes.subarray(start, end))
      yield this.#take()
    }
    // A copy: the caller may use its buffer again.
    this.#keep(bytes.slice(start))
  }

  #keep(piece: Uint8Array): void {
    this.#bytes += piece.length
    if (this.#bytes > lineBytesMax) throw new CorruptStreamError('a line is longer than 16 MiB')
    if (piece.length > 0) this.#pieces.push(piece)
  }

  #take(): string {
    const line = this.#pieces.length === 1 ? this.#pieces[0]! : joined(this.#pieces, this.#bytes)
    this.#pieces = []
    this.#bytes = 0
    try {
      return this.#decoder.decode(line)
    } catch {
      throw new CorruptStreamError('a line is not UTF-8')
    }
  }
}

function joined(pieces: Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
