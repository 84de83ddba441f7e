// The files that a turn changed, as a tree. Folders that hold nothing but one folder are one line.
import type { FileDiff } from '../ui/diff'
import type { Block, DiffBlock, FileChange, RunDiffBlock } from './types'

export interface ChangedFile { path: string; type: FileChange; diff: FileDiff | null }
export interface Folder { name: string; path: string; folders: Folder[]; files: (ChangedFile & { name: string })[] }

// What the turn itself changed. The diff of the whole workspace is just that, unless another one comes beside it.
export function ownDiff(blocks: Block[]): DiffBlock | RunDiffBlock | null {
  const found = blocks.find((block) => block.type === 'run_diff') ?? blocks.find((block) => block.type === 'diff')
  return (found as DiffBlock | RunDiffBlock | undefined) ?? null
}

// `diffs`: of the turn itself; null while there is none yet.
export function changedFiles(blocks: Block[], diffs: FileDiff[] | null): ChangedFile[] {
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
  // start either: a temporary file, which nobody wants to read about.
  if (diffs) for (const file of found.values()) if (file.type === 'delete' && !file.diff) found.delete(file.path)
  return [...found.values()]
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
