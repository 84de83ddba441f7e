// Files of the conversation that an answer names by their path: pictures are shown, the others can be downloaded. An
// address that leads anywhere else is never fetched.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Signal } from '@preact/signals'
import type { Inline } from './markdown-parse'
import { fileNamed, isPicture, pictureUrl, type NamedFile } from './named-file'
import type { BagFile } from './types'

export const ConversationFiles = createContext<Signal<BagFile[]> | null>(null)
export const AnswerFiles = createContext<NamedFile[]>([])

export function FileLink({ inline, children }: { inline: Inline & { kind: 'file' }; children: preact.ComponentChildren }) {
  const file = fileNamed(inline.name, useContext(AnswerFiles), useContext(ConversationFiles)?.value ?? [])
  if (!file) return <>{inline.written}</>
  const words = inline.inside.length ? children : file.name
  if (!inline.picture || !isPicture(file)) return <a href={file.url} download={file.name}>{words}</a>
  return <a class="picture" href={file.url} download={file.name} title={`Download ${file.name}`}><img src={pictureUrl(file)} alt={plainText(inline.inside) || file.name} loading="lazy" /></a>
}

function plainText(inlines: Inline[]): string {
  return inlines.map((one) => ('text' in one ? one.text : 'inside' in one ? plainText(one.inside) : ' ')).join('')
}
