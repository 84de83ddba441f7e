// Markdown: what models write is drawn, and nothing that they write is more than text.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileNameOf, inlines, parse, partsOf, safeHref, type Inline, type Piece } from '../src/chat/markdown-parse'
import { highlight } from '../src/chat/highlight'
import { fileNamed, isPicture, pictureUrl, runFile } from '../src/chat/named-file'
import type { BagFile } from '../src/chat/types'

function links(value: unknown, found: string[] = []): string[] {
  if (Array.isArray(value)) value.forEach((inner) => links(inner, found))
  else if (value && typeof value === 'object') {
    if ((value as { kind?: string }).kind === 'link') found.push((value as { href: string }).href)
    Object.values(value).forEach((inner) => links(inner, found))
  }
  return found
}

function texts(of: Inline[]): string {
  return of.map((inline) => ('text' in inline ? inline.text : 'inside' in inline ? texts(inline.inside) : '\n')).join('')
}

test('Addresses that run something are no links', () => {
  const hostile = [
    'javascript:alert(1)', 'JaVaScRiPt:alert(1)', ' javascript:alert(1)', 'java\nscript:alert(1)', '\u0001javascript:alert(1)', 'javascript&colon;alert(1)',
    'data:text/html,<script>alert(1)</script>', 'vbscript:x', 'file:///etc/passwd', 'blob:http://x/1', '//evil.example', '/console/tenants', 'about:blank',
    'http:javascript:alert(1)', 'https:', 'x:http://a',
  ]
  for (const address of hostile) {
    assert.equal(safeHref(address), null, address)
    assert.deepEqual(links(parse(`[click](${address}) ![x](${address}) <${address}>`)).filter((href) => !/^https?:\/\//.test(href)), [], address)
  }
})

test('Pages and mailboxes are links, also bare and in angle brackets', () => {
  assert.deepEqual(links(parse('[a](https://a.example/x?y=1 "title") <https://b.example> see https://c.example/(d). mailto: [m](mailto:m@x.example)')),
    ['https://a.example/x?y=1', 'https://b.example/', 'https://c.example/(d)', 'mailto:m@x.example'])
  assert.deepEqual(links(parse('![a picture](https://a.example/x.png)')), ['https://a.example/x.png'])
})

test('HTML stays text', () => {
  for (const html of ['<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<a href="javascript:x">y</a>', '<svg/onload=alert(1)>', '<!-- x -->', '&lt;b&gt;', '<iframe srcdoc="<script>1</script>">']) {
    const pieces = parse(html)
    assert.deepEqual(pieces.map((piece) => piece.kind), ['paragraph'])
    assert.equal(texts((pieces[0] as Piece & { kind: 'paragraph' }).inside), html)
  }
})

test('Marks, code and breaks are read', () => {
  assert.deepEqual(inlines('a **b *c* d** `e *f*` ~~g~~ snake_case_word \\*h\\*\ni'), [
    { kind: 'text', text: 'a ' }, { kind: 'strong', inside: [{ kind: 'text', text: 'b ' }, { kind: 'em', inside: [{ kind: 'text', text: 'c' }] }, { kind: 'text', text: ' d' }] },
    { kind: 'text', text: ' ' }, { kind: 'code', text: 'e *f*' }, { kind: 'text', text: ' ' }, { kind: 'strike', inside: [{ kind: 'text', text: 'g' }] },
    { kind: 'text', text: ' snake_case_word *h*' }, { kind: 'break' }, { kind: 'text', text: 'i' },
  ])
})

test('Blocks are read', () => {
  const pieces = parse('# T\n\npara\nmore\n\n- a\n  - b\n- [x] c\n\n3. d\n4. e\n\n> q\n\n```js\nlet x = "<b>"\n```\n\n| a | b |\n|:--|--:|\n| 1 | 2\\|3 |\n\n---')
  assert.deepEqual(pieces.map((piece) => piece.kind), ['heading', 'paragraph', 'list', 'list', 'quote', 'fence', 'table', 'rule'])
  const list = pieces[2] as Piece & { kind: 'list' }
  assert.equal(list.items.length, 2)
  assert.deepEqual(list.items[0]!.inside.map((piece) => piece.kind), ['paragraph', 'list'])
  assert.equal(list.items[1]!.checked, true)
  assert.equal((pieces[3] as Piece & { kind: 'list' }).start, 3)
  assert.equal((pieces[5] as Piece & { kind: 'fence' }).text, 'let x = "<b>"')
  const table = pieces[6] as Piece & { kind: 'table' }
  assert.deepEqual(table.align, ['left', 'right'])
  assert.equal(texts(table.rows[0]![1]!), '2|3')
})

const long = 'Intro *one*.\n\n# Head\n\n- a\n\n- b\n\n  more of b\n\nText\n\n```\ncode\n\n\nstill code\n```\n\n| x | y |\n|--|--|\n| 1 | 2 |\n\nend **bold'

test('Parts put together are the text, and parsed one by one give what the whole gives', () => {
  assert.equal(partsOf(long).join(''), long)
  assert.deepEqual(partsOf(long).flatMap(parse), parse(long))
})

test('While a text grows, all parts but the last stay as they are', () => {
  let before: string[] = []
  for (let length = 1; length <= long.length; length++) {
    const parts = partsOf(long.slice(0, length))
    assert.deepEqual(parts.slice(0, Math.max(0, before.length - 1)), before.slice(0, -1), `at ${length}`)
    before = parts
  }
})

test('A paragraph without an end is cut between words, and only where it was cut before', () => {
  const endless = Array.from({ length: 4000 }, (_, i) => `w${i}${i % 37 ? '' : '\n'}`).join(' ')
  let before: string[] = []
  for (let length = 500; length <= endless.length; length += 501) {
    const parts = partsOf(endless.slice(0, length))
    assert.equal(parts.join(''), endless.slice(0, length))
    assert.deepEqual(parts.slice(0, Math.max(0, before.length - 1)), before.slice(0, -1))
    before = parts
  }
  assert.ok(before.length > 4)
  assert.deepEqual(partsOf('x'.repeat(9000)).map((part) => part.length), [4096, 4096, 808])
})

test('Hostile texts are read in reasonable time', () => {
  const hostile = ['*a '.repeat(5000), '['.repeat(16_000), '`'.repeat(9000) + 'x', '> '.repeat(4000), '**'.repeat(8000), '- '.repeat(3000), '|-'.repeat(6000), '<'.repeat(16_000), '![](('.repeat(3000), '_a_'.repeat(5000), 'http://'.repeat(2000)]
  for (const text of hostile) {
    const started = Date.now()
    parse(text)
    assert.ok(Date.now() - started < 1500, `${text.slice(0, 10)}: ${Date.now() - started} ms`)
  }
})

test('Colours lose no letter of the code', () => {
  const code = 'const x = "a\\"b" // c\n/* d */ 0x1f `e` fn("\n'
  for (const language of ['js', 'py', 'sql', 'sh', '']) assert.equal(highlight(code, language).map((part) => part.text).join(''), code)
})

test('A path of the workspace names a file of the conversation, and nothing with a scheme or a host does', () => {
  assert.deepEqual(inlines('![The plot](assets/plot.png)'), [
    { kind: 'file', name: 'plot.png', picture: true, written: '![The plot](assets/plot.png)', inside: [{ kind: 'text', text: 'The plot' }] },
  ])
  assert.equal(inlines('[the list](./assets/list.csv)')[0]!.kind, 'file')
  for (const path of ['assets/deep/plot.png', '/workspace/assets/plot.png', './plot.png', 'plot.png?v=2', 'assets/pl%6ft.png']) assert.equal(fileNameOf(path), 'plot.png', path)
  assert.equal(fileNameOf('assets/my%20pl\u00f6t.png'), 'my_pl_t.png', 'spelled as returned files are')
  for (const address of ['https://evil.example/plot.png', '//evil.example/plot.png', '\\\\evil\\plot.png', 'data:image/png;base64,AA', 'javascript:alert(1)', 'file:///plot.png', '/etc/plot.png', '/v1/plot.png', '#plot', '', '..', 'a/', '%']) {
    assert.equal(fileNameOf(address), null, address)
  }
  assert.deepEqual(inlines('![x](https://evil.example/plot.png)'), [{ kind: 'link', href: 'https://evil.example/plot.png', inside: [{ kind: 'text', text: 'x' }] }])
})

test('Of several files with one name the answer\'s own is shown, else the latest of the conversation', () => {
  const file = (id: string, createdAt: number) => ({ id, createdAt, name: 'plot.png' }) as BagFile
  const [old, own, late] = [file('old', 1), file('own', 2), file('late', 3)]
  assert.equal(fileNamed('plot.png', [own], [old, own, late]), own)
  assert.equal(fileNamed('plot.png', [], [late, old]), late)
  assert.equal(fileNamed('other.png', [own], [late]), null)
})

test('A file that a run returned is a picture by its name, and shown from where it is downloaded', () => {
  const file = (name: string) => runFile({ id: 'fil_1', name, created_at: '2026-02-03T10:00:00.000Z' })
  const found = fileNamed('plot.JPG', [file('plot.JPG')], [])!
  assert.deepEqual([found.type, pictureUrl(found)], ['image/jpeg', '/v1/files/fil_1/content'])
  assert.deepEqual(['a.png', 'a.svg', 'png'].map((name) => isPicture(file(name))), [true, false, false])
})
