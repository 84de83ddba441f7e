// The files that a turn changed, as a tree. Folders that hold nothing but one folder are one line.
import { parseDiff, type FileDiff } from '../ui/diff'
import type { Block, DiffBlock, FileChange, RunDiffBlock } from './types'

export interface ChangedFile { path: string; type: FileChange; diff: FileDiff | null }
export interface Folder { name: string; path: string; folders: Folder[]; files: (ChangedFile & { name: string })[] }

// What the turn itself changed. The diff of the whole workspace is just that, unless another one comes beside it.
export function ownDiff(blocks: Block[]): DiffBlock | RunDiffBlock | null {
  const found = blocks.find((block) => block.type === 'run_diff') ?? blocks.find((block) => block.type === 'diff')
  return (found as DiffBlock | RunDiffBlock | undefined) ?? null
}

export const isOfChanges = (block: Block) => block.type === 'files' || block.type === 'diff' || block.type === 'run_diff'
const parsed = new WeakMap<object, FileDiff[]>()

export interface TurnChanges { files: ChangedFile[]; added: number; removed: number } // added, removed: lines

// What a turn has changed so far if it is live, and what it changed if it is over.
export function changesOf(blocks: Block[], live: boolean): TurnChanges {
  const block = ownDiff(blocks)
  let diffs = block && parsed.get(block)
  if (block && !diffs) parsed.set(block, (diffs = parseDiff(block.diff)))
  // The diff comes with the end of a turn. A turn that ends without one has changed nothing, or its changes are lost.
  const known = diffs ?? (live ? null : [])
  const sum = (member: 'added' | 'removed') => (known ?? []).reduce((all, file) => all + file[member], 0)
  return { files: changedFiles(blocks, known), added: sum('added'), removed: sum('removed') }
}

// `diffs`: of the turn itself; empty if it changed nothing, null while there is no diff yet.
export function changedFiles(blocks: Block[], diffs: FileDiff[] | null): ChangedFile[] {
  if (diffs?.length === 0) return []
  const found = new Map<string, ChangedFile>()
  for (const block of blocks) {
    if (block.type !== 'files') continue
    for (const { path, type } of block.files) found.set(path, { path, type, diff: null })
  }
  for (const diff of diffs ?? []) {
    const path = [...found.keys()].find((known) => known === diff.path || known.endsWith(`/${diff.path}`)) ?? diff.path
    const type = diff.kind === 'create' || diff.kind === 'delete' ? diff.kind : 'change'
    found.set(path, { path, type, diff }) // a file that was made and then changed is one that was made
  }
  // The diff compares the start of a turn with its end. A file that is gone and not in the diff was not there at the
  // start either: a temporary file, which is of no interest.
  if (diffs) for (const file of found.values()) if (file.type === 'delete' && !file.diff) found.delete(file.path)
  return [...found.values()]
}

const noBlocks: Block[] = []
const blocksKept = new WeakMap<Block[], Block[]>()

// The blocks of a message that say what changed: the same array as long as the same blocks are in it, so that the tree is
// not drawn again for every word of text.
export function changeBlocks(blocks: Block[]): Block[] {
  const parts = blocks.filter(isOfChanges)
  if (!parts.length) return noBlocks
  const kept = blocksKept.get(blocks)
  if (kept && kept.length === parts.length && kept.every((part, i) => part === parts[i])) return kept
  blocksKept.set(blocks, parts)
  return parts
}

export function treeOf(files: ChangedFile[]): Folder {
  const root: Folder = { name: '', path: '', folders: [], files: [] }
  for (const file of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const parts = file.path.split('/').filter(Boolean)
    let at = root
    for (const part of parts.slice(0, -1)) {
      let next = at.folders.find((folder) => folder.name === part)
      if (!next) at.folders.push((next = { name: part, path: `${at.path}/${part}`, folders: [], files: [] }))
      at = next
    }
    at.files.push({ ...file, name: parts[parts.length - 1] ?? file.path })
  }
  return joined(root)
}

function joined(folder: Folder): Folder {
  const folders = folder.folders.map(joined)
  const only = folders[0]
  if (folder.name && folders.length === 1 && folder.files.length === 0 && only) return { ...only, name: `${folder.name}/${only.name}` }
  return { ...folder, folders }
}
