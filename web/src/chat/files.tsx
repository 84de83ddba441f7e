// Files: those that a turn changed, with their differences, and those that one can download.
import { Diff, DiffCount } from '../ui/code'
import { Icon } from '../ui/icon'
import { memo } from '../ui/memo'
import { sizeText } from '../ui/words'
import { isPicture, pictureUrl } from './named-file'
import { openedSignal } from './opened'
import { changesOf, treeOf, type ChangedFile, type Folder } from './tree'
import type { BagFile, Block } from './types'

// What a turn changed: below its text, and in the panel of files.
export const Changes = memo(function Changes({ blocks, owner, live }: { blocks: Block[]; owner: string; live: boolean }) {
  const { files, added, removed } = changesOf(blocks, live)
  if (!files.length) return null
  return (
    <div class="changes" role="group" aria-label="Files that changed">
      <header>
        <Icon name="branch" />
        <h3>{files.length === 1 ? '1 file changed' : `${files.length} files changed`}</h3>
        {added + removed > 0 && <DiffCount file={{ added, removed }} />}
        {live && <span class="live-dot" title="Live" />}
      </header>
      <Branch folder={treeOf(files)} owner={owner} depth={0} />
    </div>
  )
})

const letters = { create: 'A', change: 'M', delete: 'D' } as const
const words = { create: 'added', change: 'changed', delete: 'deleted' } as const

function Branch({ folder, owner, depth }: { folder: Folder; owner: string; depth: number }) {
  return (
    <ul class="tree">
      {folder.folders.map((inner) => (
        <li key={inner.path}>
          <div class="tree-folder" style={{ paddingLeft: `${12 + depth * 16}px` }}><Icon name="folder" size={14} /> {inner.name}</div>
          <Branch folder={inner} owner={owner} depth={depth + 1} />
        </li>
      ))}
      {folder.files.map((file) => <li key={file.path}><Leaf file={file} owner={owner} depth={depth} /></li>)}
    </ul>
  )
}

function Leaf({ file, owner, depth }: { file: ChangedFile & { name: string }; owner: string; depth: number }) {
  const open = openedSignal(`${owner}/file${file.path}`)
  const head = (
    <>
      <span class={`tree-mark ${file.type}`} role="img" aria-label={words[file.type]}>{letters[file.type]}</span>
      <span class="tree-name">{file.name}</span>
      {file.diff && <DiffCount file={file.diff} />}
      {file.diff && <span class="step-chevron"><Icon name="chevron" size={14} /></span>}
    </>
  )
  const indent = { paddingLeft: `${12 + depth * 16}px` }
  if (!file.diff) return <div class="tree-file" style={indent}>{head}</div>
  return (
    <div class={open.value ? 'open' : ''}>
      <button type="button" class="tree-file" style={indent} aria-expanded={open.value} onClick={() => { open.value = !open.value }}>{head}</button>
      {open.value && <Diff file={file.diff} />}
    </div>
  )
}

function FileChip({ file }: { file: BagFile }) {
  return (
    <a class="chip" href={file.url} download={file.name} title={`Download ${file.name}`}>
      {isPicture(file) && <img src={pictureUrl(file)} alt="" loading="lazy" />}
      <span class="chip-line">
        <Icon name="file" size={14} />
        <span class="chip-name">{file.name}</span>
        <span class="chip-size">{sizeText(file.size)}</span>
        <Icon name="download" size={14} />
      </span>
    </a>
  )
}

export function FileChips({ files, label }: { files: BagFile[]; label: string }) {
  if (!files.length) return null
  return <ul class="chips" aria-label={label}>{files.map((file) => <li key={file.id}><FileChip file={file} /></li>)}</ul>
}
