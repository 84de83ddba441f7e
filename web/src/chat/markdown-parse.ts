// A small Markdown: what models write. The result is a tree of plain values; nothing of it is ever parsed as HTML, so
// that whatever a model says is text.
export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'em' | 'strike'; inside: Inline[] }
  | { kind: 'link'; href: string; inside: Inline[] }
  | { kind: 'file'; name: string; picture: boolean; written: string; inside: Inline[] } // perhaps a file of the conversation
  | { kind: 'break' }

export type Piece =
  | { kind: 'paragraph'; inside: Inline[] }
  | { kind: 'heading'; level: number; inside: Inline[] }
  | { kind: 'fence'; language: string; text: string }
  | { kind: 'quote'; inside: Piece[] }
  | { kind: 'list'; ordered: boolean; start: number; items: { checked: boolean | null; inside: Piece[] }[] }
  | { kind: 'table'; align: ('left' | 'center' | 'right' | null)[]; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' }

const fenceStart = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/
const listItem = /^(\s*)([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/
const ruleLine = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/
const headingLine = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/
const paragraphMax = 4096
const depthMax = 12 // of quotes and lists within each other

// Cuts a text into parts that can be parsed, and drawn, each for itself. All parts but the last are final: text that is
// appended later changes none of them.
export function partsOf(text: string): string[] {
  const parts: string[] = []
  let from = 0
  let at = 0
  let fence: string | null = null
  let blank = false
  let inList = false
  let empty = true // the part has no line with something on it
  while (at < text.length) {
    const end = text.indexOf('\n', at)
    const line = text.slice(at, end < 0 ? text.length : end)
    const isBlank = !line.trim()
    if (fence === null && blank && !isBlank && !empty && !(inList && (/^\s/.test(line) || listItem.test(line)))) {
      parts.push(text.slice(from, at))
      from = at
      empty = true
    }
    if (empty && !isBlank) inList = listItem.test(line) && !ruleLine.test(line)
    if (!isBlank) empty = false
    fence = fenceAfter(fence, line)
    blank = isBlank
    if (end < 0) break
    at = end + 1
  }
  if (from < text.length) parts.push(text.slice(from))
  return parts.some((part) => part.length > paragraphMax) ? parts.flatMap(shortened) : parts
}

// A browser lays a paragraph out as a whole, for every word that is added to it. One that has no end is cut between
// words, before a line break if there is one. Where it is cut does not depend on what comes later.
function shortened(part: string): string[] {
  const first = part.trimStart().split('\n', 1)[0]!
  if (part.length <= paragraphMax || fenceStart.test(first) || listItem.test(first) || /^ {0,3}>/.test(first) || first.includes('|')) return [part]
  const out: string[] = []
  let from = 0
  while (part.length - from > paragraphMax) {
    const line = part.lastIndexOf('\n', from + paragraphMax)
    const word = part.lastIndexOf(' ', from + paragraphMax) + 1
    const at = line > from + paragraphMax / 2 ? line : word > from ? word : from + paragraphMax
    out.push(part.slice(from, at))
    from = at
  }
  out.push(part.slice(from))
  return out
}

function fenceAfter(fence: string | null, line: string): string | null {
  const found = /^\s*(`{3,}|~{3,})(.*)$/.exec(line)
  if (!found) return fence
  const mark = found[1]!
  if (fence === null) return mark[0] === '`' && found[2]!.includes('`') ? null : mark
  return mark[0] === fence[0] && mark.length >= fence.length && !found[2]!.trim() ? null : fence
}

export function parse(text: string): Piece[] {
  return pieces(text.split('\n'), 0)
}

function pieces(lines: string[], depth: number): Piece[] {
  const out: Piece[] = []
  let i = 0
  while (i < lines.length) {
    const line = lines[i]!
    if (!line.trim()) { i++; continue }
    const fence = fenceStart.exec(line)
    const heading = headingLine.exec(line)
    if (fence) i = takeFence(lines, i, fence, out)
    else if (heading) { out.push({ kind: 'heading', level: heading[1]!.length, inside: inlines(heading[2] ?? '') }); i++ }
    else if (ruleLine.test(line)) { out.push({ kind: 'rule' }); i++ }
    else if (/^ {0,3}>/.test(line) && depth < depthMax) i = takeQuote(lines, i, out, depth)
    else if (listItem.test(line) && depth < depthMax) i = takeList(lines, i, out, depth)
    else if (isTable(lines, i)) i = takeTable(lines, i, out)
    else i = takeParagraph(lines, i, out, depth)
  }
  return out
}

function takeFence(lines: string[], i: number, fence: RegExpExecArray, out: Piece[]): number {
  const mark = fence[1]!
  const text: string[] = []
  for (i++; i < lines.length; i++) {
    const line = lines[i]!
    if (fenceAfter(mark, line) === null) { i++; break }
    text.push(line)
  }
  out.push({ kind: 'fence', language: (fence[2] ?? '').trim().split(/\s+/)[0]!.slice(0, 30), text: text.join('\n') })
  return i
}

function takeQuote(lines: string[], i: number, out: Piece[], depth: number): number {
  const inside: string[] = []
  for (; i < lines.length && /^ {0,3}>/.test(lines[i]!); i++) inside.push(lines[i]!.replace(/^ {0,3}> ?/, ''))
  out.push({ kind: 'quote', inside: pieces(inside, depth + 1) })
  return i
}

function takeList(lines: string[], i: number, out: Piece[], depth: number): number {
  const first = listItem.exec(lines[i]!)!
  const ordered = /\d/.test(first[2]!)
  const indent = first[1]!.length
  const items: { checked: boolean | null; inside: Piece[] }[] = []
  while (i < lines.length) {
    const found = listItem.exec(lines[i]!)
    if (!found || ruleLine.test(lines[i]!) || found[1]!.length > indent + 1 || /\d/.test(found[2]!) !== ordered) break
    if (found[1]!.length < indent) break
    const width = found[1]!.length + found[2]!.length + Math.min(4, Math.max(1, found[3]!.length))
    const box = /^\[([ xX])\]\s+(.*)$/.exec(found[4]!)
    const inside = [box ? box[2]! : found[4]!]
    for (i++; i < lines.length && belongs(lines, i, indent); i++) inside.push(lines[i]!.replace(new RegExp(`^\\s{0,${width}}`), ''))
    items.push({ checked: box ? box[1] !== ' ' : null, inside: pieces(inside, depth + 1) })
  }
  out.push({ kind: 'list', ordered, start: ordered ? parseInt(first[2]!, 10) : 1, items })
  return i
}

// Whether a line continues the item before it: it is indented, or blank before such a line, or plain text right below.
function belongs(lines: string[], i: number, indent: number): boolean {
  const line = lines[i]!
  if (!line.trim()) {
    const next = lines.slice(i + 1).find((other) => other.trim())
    return next !== undefined && /^\s/.test(next) && next.search(/\S/) > indent + 1
  }
  if (line.search(/\S/) > indent + 1) return true
  return !listItem.test(line) && !headingLine.test(line) && !fenceStart.test(line) && !ruleLine.test(line) && lines[i - 1]!.trim() !== ''
}

const tableRule = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/

function isTable(lines: string[], i: number): boolean {
  const rule = lines[i + 1]
  return lines[i]!.includes('|') && rule !== undefined && rule.includes('-') && tableRule.test(rule) && cells(lines[i]!).length === cells(rule).length
}

function cells(line: string): string[] {
  const inside = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '')
  return inside.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}

function takeTable(lines: string[], i: number, out: Piece[]): number {
  const head = cells(lines[i]!).map(inlines)
  const align = cells(lines[i + 1]!).map((cell) => {
    if (/^:-+:$/.test(cell)) return 'center'
    return cell.endsWith(':') ? 'right' : cell.startsWith(':') ? 'left' : null
  })
  const rows: Inline[][][] = []
  for (i += 2; i < lines.length && lines[i]!.includes('|') && lines[i]!.trim(); i++) rows.push(cells(lines[i]!).slice(0, head.length).map(inlines))
  out.push({ kind: 'table', align, head, rows })
  return i
}

function takeParagraph(lines: string[], i: number, out: Piece[], depth: number): number {
  const from = i
  const ends = (line: string) => !line.trim() || fenceStart.test(line) || headingLine.test(line) || ruleLine.test(line) ||
    (depth < depthMax && (/^ {0,3}>/.test(line) || /^ {0,3}([-*+]|\d{1,9}[.)])\s+\S/.test(line)))
  for (i++; i < lines.length && !ends(lines[i]!) && !isTable(lines, i); i++);
  out.push({ kind: 'paragraph', inside: inlines(lines.slice(from, i).map((line) => line.trim()).join('\n')) })
  return i
}

// Only addresses that lead to a page or a mailbox. Everything else, javascript: and data: first of all, stays text.
export function safeHref(address: string): string | null {
  const clean = address.replace(/[\u0000-\u0020\u007f-\u009f]/g, '')
  if (!/^(https?:\/\/|mailto:)/i.test(clean)) return null
  try {
    const url = new URL(clean)
    return url.protocol === 'http:' || url.protocol === 'https:' || url.protocol === 'mailto:' ? url.href : null
  } catch {
    return null
  }
}

const marks: { open: string; kind: 'strong' | 'em' | 'strike' }[] = [
  { open: '**', kind: 'strong' }, { open: '__', kind: 'strong' }, { open: '~~', kind: 'strike' }, { open: '*', kind: 'em' }, { open: '_', kind: 'em' },
]
const special = /[\\`*_~[!<\n]|https?:\/\//g

export function inlines(text: string, depth = 0): Inline[] {
  const out: Inline[] = []
  let plain = ''
  const flush = () => { if (plain) { out.push({ kind: 'text', text: plain }); plain = '' } }
  let at = 0
  while (at < text.length) {
    special.lastIndex = at
    const next = special.exec(text)
    if (!next) { plain += text.slice(at); break }
    plain += text.slice(at, next.index)
    at = next.index
    const taken = depth < depthMax ? take(text, at, depth) : null
    if (!taken) { plain += text[at]; at++; continue }
    if (taken.inline.kind === 'text') plain += taken.inline.text
    else { flush(); out.push(taken.inline) }
    at = taken.end
  }
  flush()
  return out
}

interface Taken { inline: Inline; end: number }

function take(text: string, at: number, depth: number): Taken | null {
  const letter = text[at]!
  if (letter === '\n') return { inline: { kind: 'break' }, end: at + 1 }
  if (letter === '\\') {
    if (text[at + 1] === '\n') return { inline: { kind: 'break' }, end: at + 2 }
    return /[!-/:-@[-`{-~]/.test(text[at + 1] ?? '') ? { inline: { kind: 'text', text: text[at + 1]! }, end: at + 2 } : null
  }
  if (letter === '`') return takeCode(text, at)
  if (letter === '[' || letter === '!') return takeLink(text, at, depth)
  if (letter === '<') return takeAngle(text, at)
  if (letter === 'h' || letter === 'H') return takeAddress(text, at)
  return takeMarked(text, at, depth)
}

function takeCode(text: string, at: number): Taken | null {
  const ticks = /^`+/.exec(text.slice(at, at + 100))![0]
  for (let end = text.indexOf(ticks, at + ticks.length); end >= 0; end = text.indexOf(ticks, end + 1)) {
    if (text[end + ticks.length] === '`' || text[end - 1] === '`') continue
    const inside = text.slice(at + ticks.length, end).replaceAll('\n', ' ')
    return { inline: { kind: 'code', text: /^ .*\S.* $/.test(inside) ? inside.slice(1, -1) : inside }, end: end + ticks.length }
  }
  return { inline: { kind: 'text', text: ticks }, end: at + ticks.length }
}

// The name under which the conversation has a file that a text calls by its path in the workspace: the last part of the
// path, spelled as the server spells names of returned files. Null for everything with a scheme or a host.
export function fileNameOf(address: string): string | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(address) || /^[/\\]{2}/.test(address) || (address.startsWith('/') && !address.startsWith('/workspace/'))) return null
  let path = address.replace(/[?#].*$/, '')
  try {
    path = decodeURIComponent(path)
  } catch {
    return null
  }
  return path.split('/').pop()!.replace(/[^a-zA-Z0-9._-]/gu, '_').replace(/^\.+/, '') || null
}

// [words](address). A picture elsewhere becomes a link to it, because nothing is fetched without a click.
function takeLink(text: string, at: number, depth: number): Taken | null {
  const from = text[at] === '!' ? at + 1 : at
  if (text[from] !== '[') return null
  const close = closing(text, from)
  if (close < 0 || text[close + 1] !== '(') return null
  const found = /^\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(text.slice(close + 1, close + 2100))
  if (!found) return null
  const href = safeHref(found[1]!)
  const inside = inlines(text.slice(from + 1, close), depth + 1)
  const end = close + 1 + found[0].length
  const name = href ? null : fileNameOf(found[1]!)
  if (name) return { inline: { kind: 'file', name, picture: from > at, written: text.slice(at, end), inside }, end }
  if (!href) return { inline: { kind: 'text', text: text.slice(at, end) }, end }
  return { inline: { kind: 'link', href, inside: inside.length ? inside : [{ kind: 'text', text: href }] }, end }
}

function closing(text: string, from: number): number {
  let open = 0
  for (let i = from; i < text.length && i < from + 1000; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === '[') open++
    else if (text[i] === ']' && --open === 0) return i
  }
  return -1
}

function takeAngle(text: string, at: number): Taken | null {
  const found = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/i.exec(text.slice(at, at + 2100))
  const href = found && safeHref(found[1]!)
  return href ? { inline: { kind: 'link', href, inside: [{ kind: 'text', text: found[1]! }] }, end: at + found[0].length } : null
}

function takeAddress(text: string, at: number): Taken | null {
  if (at > 0 && /\w/.test(text[at - 1]!)) return null
  const found = /^https?:\/\/[^\s<>"'`|\\^{}[\]]+/i.exec(text.slice(at, at + 2100))
  if (!found) return null
  let address = found[0].replace(/[.,;:!?*_~]+$/, '')
  while (address.endsWith(')') && count(address, ')') > count(address, '(')) address = address.slice(0, -1)
  const href = safeHref(address)
  return href ? { inline: { kind: 'link', href, inside: [{ kind: 'text', text: address }] }, end: at + address.length } : null
}

const count = (text: string, letter: string) => text.split(letter).length - 1

function takeMarked(text: string, at: number, depth: number): Taken | null {
  for (const { open, kind } of marks) {
    if (!text.startsWith(open, at)) continue
    const from = at + open.length
    if (from >= text.length || /\s/.test(text[from]!)) continue
    if (open[0] === '_' && at > 0 && /\w/.test(text[at - 1]!)) continue
    const end = endOfMark(text, from, open)
    if (end < 0) continue
    return { inline: { kind, inside: inlines(text.slice(from, end), depth + 1) }, end: end + open.length }
  }
  const run = /^([*_~])\1*/.exec(text.slice(at, at + 100))
  return run ? { inline: { kind: 'text', text: run[0] }, end: at + run[0].length } : null
}

const markReach = 1500 // how far the end of a mark is looked for: keeps hostile rows of stars linear

function endOfMark(text: string, from: number, open: string): number {
  const far = Math.min(text.length, from + markReach)
  for (let i = from; i < far; i++) {
    if (text[i] === '\\') { i++; continue }
    if (text[i] === '`') {
      const ticks = /^`+/.exec(text.slice(i, i + 100))![0]
      const end = text.indexOf(ticks, i + ticks.length)
      if (end > 0) i = end + ticks.length - 1
      else i += ticks.length - 1
      continue
    }
    if (!text.startsWith(open, i) || i === from || /\s/.test(text[i - 1]!)) continue
    if (open.length === 1 && (text[i + 1] === open || text[i - 1] === open)) continue
    if (open[0] === '_' && /\w/.test(text[i + open.length] ?? '')) continue
    return i
  }
  return -1
}
