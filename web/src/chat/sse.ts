// Reads text/event-stream as it comes off the wire: bytes may be cut anywhere, also inside a letter or a line break.
import type { Frame } from './types'

export class SseParser {
  private readonly decoder = new TextDecoder('utf-8')
  private rest = '' // of a line that is not whole yet
  private id: number | null = null
  private event = ''
  private data: string[] = []

  push(bytes: Uint8Array): Frame[] {
    const lines = (this.rest + this.decoder.decode(bytes, { stream: true })).split('\n')
    this.rest = lines.pop()!
    const frames: Frame[] = []
    for (const line of lines) {
      const frame = this.line(line.endsWith('\r') ? line.slice(0, -1) : line)
      if (frame) frames.push(frame)
    }
    return frames
  }

  private line(line: string): Frame | null {
    if (line === '') return this.flush()
    if (line.startsWith(':')) return null
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') this.data.push(value)
    else if (name === 'event') this.event = value
    else if (name === 'id' && /^\d+$/.test(value)) this.id = Number(value)
    return null
  }

  // An event without a number or whose data is no JSON is none of ours.
  private flush(): Frame | null {
    const { id, event, data } = this
    this.id = null
    this.event = ''
    this.data = []
    if (id === null || !data.length) return null
    try {
      return { id, event: event || 'message', data: JSON.parse(data.join('\n')) }
    } catch {
      return null
    }
  }
}
