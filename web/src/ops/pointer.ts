// Where in a text of JSON the value at a pointer (RFC 6901) stands: [from, to). The deepest value on the way, if the
// whole way is not there; null if the text is no JSON up to it.
export function rangeOf(text: string, pointer: string): [number, number] | null {
  const path = pointer.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  try {
    return new Finder(text).find(path)
  } catch {
    return null
  }
}

class Finder {
  private at = 0
  private readonly text: string

  constructor(text: string) { this.text = text }

  find(path: string[]): [number, number] {
    this.space()
    const from = this.at
    const [step, ...rest] = path
    const open = this.text[this.at]
    if (step !== undefined && (open === '{' || open === '[')) {
      const found = this.inside(open, step)
      if (found) return this.find(rest)
      this.at = from
    }
    this.skip()
    return [from, this.at]
  }

  // Goes to the member or element and stops before its value.
  private inside(open: string, step: string): boolean {
    this.at++
    for (let i = 0; ; i++) {
      this.space()
      const next = this.text[this.at]
      if (next === '}' || next === ']') return false
      if (next === ',') this.at++
      this.space()
      let name = String(i)
      if (open === '{') {
        const from = this.at
        this.skip()
        name = JSON.parse(this.text.slice(from, this.at)) as string
        this.space()
        this.at++ // the colon
        this.space()
      }
      if (name === step) return true
      this.skip()
    }
  }

  private space(): void {
    while (/\s/.test(this.text[this.at] ?? '')) this.at++
  }

  // Past one value.
  private skip(): void {
    const rest = this.text.slice(this.at)
    const plain = /^("(?:[^"\\]|\\.)*"|[-\w.+]+)/.exec(rest)
    if (plain) {
      this.at += plain[0].length
      return
    }
    if (rest[0] !== '{' && rest[0] !== '[') throw new Error('no JSON')
    for (let depth = 0; ; ) {
      const token = /^("(?:[^"\\]|\\.)*"|[^"[\]{}]+|[[\]{}])/.exec(this.text.slice(this.at))
      if (!token) throw new Error('no JSON')
      this.at += token[0].length
      if (token[0] === '{' || token[0] === '[') depth++
      if ((token[0] === '}' || token[0] === ']') && --depth === 0) return
    }
  }
}

export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split('\n').length
