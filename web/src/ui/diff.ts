// Reads a unified diff, as git writes it, into files and lines.
export interface DiffLine { kind: 'add' | 'remove' | 'same' | 'hunk' | 'note'; text: string; before: number | null; after: number | null }
export interface FileDiff { path: string; from: string | null; kind: 'create' | 'change' | 'delete' | 'rename'; added: number; removed: number; binary: boolean; lines: DiffLine[] }

function unquoted(name: string): string {
  const bare = name.startsWith('"') ? name.slice(1, -1).replace(/\\(["\\])/g, '$1').replace(/\\t/g, '\t') : name
  return bare.replace(/\t.*$/, '')
}

const withoutSide = (name: string) => unquoted(name).replace(/^[ab]\//, '')

export function parseDiff(text: string): FileDiff[] {
  const files: FileDiff[] = []
  let file: FileDiff | null = null
  let before = 0
  let after = 0
  let left = { before: 0, after: 0 } // lines that the hunk still owes: "--- x" in a hunk is a line that was removed
  for (const line of text.split('\n')) {
    if (file && (left.before > 0 || left.after > 0)) {
      const sign = line[0] ?? ' '
      if (sign === '+') { file.added++; left.after--; file.lines.push({ kind: 'add', text: line.slice(1), before: null, after: after++ }) }
      else if (sign === '-') { file.removed++; left.before--; file.lines.push({ kind: 'remove', text: line.slice(1), before: before++, after: null }) }
      else if (sign === '\\') file.lines.push({ kind: 'note', text: line.slice(2), before: null, after: null })
      else { left.before--; left.after--; file.lines.push({ kind: 'same', text: line.slice(1), before: before++, after: after++ }) }
      continue
    }
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(line)
    if (line.startsWith('diff --git ')) {
      const names = /^diff --git (?:"?a\/)(.*?)"? (?:"?b\/)(.*?)"?$/.exec(line)
      file = { path: names?.[2] ?? line.slice(11), from: null, kind: 'change', added: 0, removed: 0, binary: false, lines: [] }
      files.push(file)
    } else if (!file) {
      continue
    } else if (hunk) {
      before = Number(hunk[1])
      after = Number(hunk[3])
      left = { before: Number(hunk[2] ?? 1), after: Number(hunk[4] ?? 1) }
      file.lines.push({ kind: 'hunk', text: line, before: null, after: null })
    } else describeFile(file, line)
  }
  return files
}

function describeFile(file: FileDiff, line: string): void {
  if (line.startsWith('new file mode')) file.kind = 'create'
  else if (line.startsWith('deleted file mode')) file.kind = 'delete'
  else if (line.startsWith('rename from ')) { file.kind = 'rename'; file.from = unquoted(line.slice(12)) }
  else if (line.startsWith('rename to ')) file.path = unquoted(line.slice(10))
  else if (line.startsWith('+++ ') && !line.startsWith('+++ /dev/null')) file.path = withoutSide(line.slice(4))
  else if (line.startsWith('--- ') && !line.startsWith('--- /dev/null') && file.kind === 'delete') file.path = withoutSide(line.slice(4))
  else if (line.startsWith('Binary files ') || line === 'GIT binary patch') {
    file.binary = true
    file.lines.push({ kind: 'note', text: 'A binary file, or one that is too large to be compared.', before: null, after: null })
  }
  else if (line.startsWith('\\')) file.lines.push({ kind: 'note', text: line.slice(2), before: null, after: null })
}
