// Draws Markdown. While it streams, only its last part is parsed and drawn again.
import { memo } from '../ui/memo'
import { CopyButton } from '../ui/controls'
import { FileLink } from './file-link'
import { highlight } from './highlight'
import { type Inline, parse, partsOf, type Piece } from './markdown-parse'

const plainFrom = 16 * 1024 // a part longer than this, without a break in it, is shown as it is

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const parts = partsOf(text)
  return <div class="prose">{parts.map((part, i) => <Part key={i} text={part} goesOn={i > 0 && !parts[i - 1]!.endsWith('\n')} />)}</div>
})

const Part = memo(function Part({ text, goesOn }: { text: string; goesOn: boolean }) {
  if (text.length > plainFrom && !/^\s*(```|~~~)/.test(text)) return <p class="as-is">{text}</p>
  const drawn = parse(text).map((piece, i) => <Drawn key={i} piece={piece} />)
  return goesOn ? <div class="goes-on">{drawn}</div> : <>{drawn}</>
})

function Drawn({ piece }: { piece: Piece }) {
  switch (piece.kind) {
    case 'paragraph': return <p><Inlines of={piece.inside} /></p>
    case 'heading': return <Heading level={piece.level} inside={piece.inside} />
    case 'fence': return <Fence language={piece.language} text={piece.text} />
    case 'quote': return <blockquote>{piece.inside.map((inner, i) => <Drawn key={i} piece={inner} />)}</blockquote>
    case 'list': return <List piece={piece} />
    case 'table': return <Grid piece={piece} />
    case 'rule': return <hr />
  }
}

// The page has its h1 and each message its h2; below that a model skips levels as it likes, and the outline must not.
function Heading({ level, inside }: { level: number; inside: Inline[] }) {
  return <h3 class={`level-${level}`}><Inlines of={inside} /></h3>
}

function Fence({ language, text }: { language: string; text: string }) {
  return (
    <figure class="fence">
      <figcaption><span>{language || 'text'}</span><CopyButton text={text} label="Copy code" /></figcaption>
      <pre tabIndex={0} aria-label={language ? `${language} code` : 'code'}><code>
        {linesIn(text, fenceLines).map((lines, i) => <Lines key={i} text={lines} language={language} />)}
      </code></pre>
    </figure>
  )
}

const fenceLines = 100 // are laid out, and coloured, together

function linesIn(text: string, size: number): string[] {
  const lines = text.split('\n')
  if (lines.length <= size) return [text]
  return Array.from({ length: Math.ceil(lines.length / size) }, (_, i) => lines.slice(i * size, (i + 1) * size).join('\n'))
}

const Lines = memo(function Lines({ text, language }: { text: string; language: string }) {
  return <span class="lines">{highlight(text, language).map((part, i) => (part.kind ? <span key={i} class={part.kind}>{part.text}</span> : part.text))}</span>
})

function List({ piece }: { piece: Piece & { kind: 'list' } }) {
  const items = piece.items.map((item, i) => (
    <li key={i} class={item.checked === null ? '' : 'task'}>
      {item.checked !== null && <input type="checkbox" checked={item.checked} disabled aria-label={item.checked ? 'done' : 'not done'} />}
      <Tight pieces={item.inside} />
    </li>
  ))
  return piece.ordered ? <ol start={piece.start}>{items}</ol> : <ul>{items}</ul>
}

// A paragraph that leads an item stands in its line.
function Tight({ pieces }: { pieces: Piece[] }) {
  return <>{pieces.map((piece, i) => (piece.kind === 'paragraph' && i === 0 ? <span key={i}><Inlines of={piece.inside} /></span> : <Drawn key={i} piece={piece} />))}</>
}

function Grid({ piece }: { piece: Piece & { kind: 'table' } }) {
  const side = (i: number) => (piece.align[i] ? `to-${piece.align[i]}` : '')
  return (
    <div class="grid" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead><tr>{piece.head.map((cell, i) => <th key={i} scope="col" class={side(i)}><Inlines of={cell} /></th>)}</tr></thead>
        <tbody>{piece.rows.map((row, i) => <tr key={i}>{row.map((cell, k) => <td key={k} class={side(k)}><Inlines of={cell} /></td>)}</tr>)}</tbody>
      </table>
    </div>
  )
}

function Inlines({ of }: { of: Inline[] }) {
  return <>{of.map((inline, i) => <One key={i} inline={inline} />)}</>
}

function One({ inline }: { inline: Inline }) {
  switch (inline.kind) {
    case 'text': return <>{inline.text}</>
    case 'code': return <code>{inline.text}</code>
    case 'strong': return <strong><Inlines of={inline.inside} /></strong>
    case 'em': return <em><Inlines of={inline.inside} /></em>
    case 'strike': return <del><Inlines of={inline.inside} /></del>
    case 'link': return <a href={inline.href} target="_blank" rel="noopener noreferrer nofollow"><Inlines of={inline.inside} /></a>
    case 'file': return <FileLink inline={inline}><Inlines of={inline.inside} /></FileLink>
    case 'break': return <br />
  }
}
