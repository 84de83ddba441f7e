// What lists and differences are made of.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedFiles, changesOf, ownDiff, treeOf } from '../src/chat/tree'
import type { Block } from '../src/chat/types'
import { parseDiff } from '../src/ui/diff'
import { errorBeyond, printedText, sentenceParts } from '../src/ui/text'
import { windowOf } from '../src/ui/windowing'

const diff = `diff --git a/src/a.txt b/src/a.txt
index 1..2 100644
--- a/src/a.txt
+++ b/src/a.txt
@@ -1,3 +1,3 @@ head
 same
--- gone
+++ come
 end
\\ No newline at end of file
diff --git a/old name.txt b/new name.txt
similarity index 100%
rename from old name.txt
rename to new name.txt
diff --git a/b.bin b/b.bin
new file mode 100644
Binary files /dev/null and b/b.bin differ
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
`

test('A diff is read file by file, also lines that look like its own heads', () => {
  const files = parseDiff(diff)
  assert.deepEqual(files.map(({ path, kind, added, removed }) => ({ path, kind, added, removed })), [
    { path: 'src/a.txt', kind: 'change', added: 1, removed: 1 }, { path: 'new name.txt', kind: 'rename', added: 0, removed: 0 },
    { path: 'b.bin', kind: 'create', added: 0, removed: 0 }, { path: 'gone.txt', kind: 'delete', added: 0, removed: 1 },
  ])
  assert.deepEqual(files[0]!.lines.map((line) => line.kind), ['hunk', 'same', 'remove', 'add', 'same', 'note'])
  assert.equal(files[0]!.lines[2]!.text, '-- gone')
  assert.equal(files[1]!.from, 'old name.txt')
})

test('Nonsense is no diff, and does no harm', () => {
  assert.deepEqual(parseDiff('hello\n@@ -1 +1 @@\n'), [])
  assert.equal(parseDiff('diff --git\n@@ -x').length, 0)
})

test('Files and their differences meet, below the folder of the workspace too', () => {
  const files = changedFiles([{ type: 'files', files: [{ type: 'change', path: '/workspace/src/a.txt' }, { type: 'create', path: '/workspace/c.txt' }] }], parseDiff(diff).slice(0, 1))
  assert.deepEqual(files.map(({ path, diff: found }) => [path, found?.path ?? null]), [['/workspace/src/a.txt', 'src/a.txt'], ['/workspace/c.txt', null]])
  const tree = treeOf(files)
  assert.equal(tree.folders[0]!.name, 'workspace')
  assert.equal(tree.folders[0]!.folders[0]!.name, 'src')
  assert.equal(treeOf([{ path: 'a/b/c/d.txt', type: 'create', diff: null }]).folders[0]!.name, 'a/b/c')
})

test('What a turn changed is its own diff where the whole one has more in it', () => {
  const whole = { type: 'diff' as const, diff }
  assert.equal(ownDiff([whole])?.diff, diff)
  assert.equal(ownDiff([{ type: 'run_diff', diff: '' }, whole])?.diff, '')
  assert.equal(ownDiff([{ type: 'text', text: 'x' }]), null)
})

test('A file whose lines cannot be compared is known as one', () => {
  assert.deepEqual(parseDiff(diff).map((file) => file.binary), [false, false, true, false])
})

test('A temporary file that a turn made and removed is not listed among its changes', () => {
  const files = [{ type: 'delete' as const, path: 'a.txt.tmp.5' }, { type: 'change' as const, path: 'src/a.txt' }]
  assert.deepEqual(changedFiles([{ type: 'files', files }], parseDiff(diff).slice(0, 1)).map((file) => file.path), ['src/a.txt'])
  assert.equal(changedFiles([{ type: 'files', files }], null).length, 2, 'while there is no diff yet')
})

test('A turn that is over and has no diff, or an empty one, changed no file', () => {
  const blocks: Block[] = [{ type: 'files', files: [{ type: 'delete', path: 'w.tmp.5' }, { type: 'create', path: 'a.txt' }] }]
  const whole: Block = { type: 'diff', diff }
  assert.equal(changesOf(blocks, true).files.length, 2, 'the diff comes at the end')
  assert.deepEqual(changesOf(blocks, false).files, [])
  assert.deepEqual(changesOf([...blocks, { type: 'run_diff', diff: '' }, whole], false).files, [])
})

test('The changes of a turn are its own where the diff of the workspace has more in it', () => {
  const own: Block = { type: 'run_diff', diff: diff.slice(diff.indexOf('diff --git a/gone.txt')) }
  assert.deepEqual(changesOf([own, { type: 'diff', diff }], false).files.map((file) => file.path), ['gone.txt'])
  assert.equal(changesOf([{ type: 'diff', diff }], false).files.length, 4)
})

test('Output is shown as a terminal would leave it', () => {
  assert.equal(printedText('\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\n'), 'red link\n')
  assert.equal(printedText('progress 10%\rprogress 100%\r\ndone\n'), 'progress 100%\ndone\n')
  assert.equal(printedText('longer line\rshort\nab\bc'), 'shortr line\nac')
  assert.equal(printedText('plain'), 'plain')
})

test('Words between backticks in a sentence of the server are code', () => {
  assert.deepEqual(sentenceParts('Set `store.url`, then restart.'), [{ text: 'Set ', isCode: false }, { text: 'store.url', isCode: true }, { text: ', then restart.', isCode: false }])
  assert.deepEqual(sentenceParts('One ` alone.'), [{ text: 'One ` alone.', isCode: false }])
})

test('An error that repeats the output of its step is shown without it', () => {
  assert.equal(errorBeyond('half\nbroken\nexit code 2', 'half\nbroken\n'), 'exit code 2')
  assert.equal(errorBeyond('exit code 2', ''), 'exit code 2')
  assert.equal(errorBeyond('the same', 'the same\n'), '')
  assert.equal(errorBeyond('other words', 'output'), 'other words')
})

test('Of a hundred thousand rows, those in view stand in the document', () => {
  const seen = windowOf(100_000, 40, 2_000_000, 800)
  assert.ok(seen.to - seen.from < 60)
  assert.ok(seen.from <= 50_000 && seen.to >= 50_020)
  assert.equal(seen.before + seen.after + (seen.to - seen.from) * 40, 4_000_000)
  assert.deepEqual(windowOf(0, 40, 500, 800), { from: 0, to: 0, before: 0, after: 0 })
})
