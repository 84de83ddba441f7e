// What the pictures, filters and exports of the operations pages are made of.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areaPath, joinSamples, nearest, reachOf, stepPath, summary } from '../src/ops/chart'
import { csvCell, csvOf } from '../src/ops/csv'
import { runQuery, tableFilter, valueOf } from '../src/ops/filters'
import { errorAt, errorsElsewhere } from '../src/ops/mistakes'
import { checkDefinition, layOutGraph, node, ranksOf } from '../src/ops/graph'
import { splitLines } from '../src/ops/ndjson'
import { mergeNewest } from '../src/ops/paged'
import { pathsInside } from '../src/ops/bundle'
import { lineOf, rangeOf } from '../src/ops/pointer'
import { policyOf, rulesOf } from '../src/ops/policy'
import { briefText, clockTicks, countTicks, linear, spanText, spanTicks } from '../src/ops/scale'
import { layOut } from '../src/ops/timeline'
import { sayingOf } from '../src/ops/lines'
import type { Block, Phase, Sample, TableColumn } from '../src/ops/types'
import { foldLines, noLines } from '../src/ops/workflow-fold'

const phase = (kind: Phase['phase'], from_ms: number, to_ms: number | null): Phase => ({ phase: kind, label: kind, from_ms, to_ms })

test('Phases that overlap get lanes of their own, and lanes are used again', () => {
  const timeline = { run_id: 'run_1', started_at_ms: 1000, ended_at_ms: 2000, phases: [phase('queue', 0, 100), phase('step', 100, 500), phase('step', 200, 300), phase('step', 500, 600), phase('text', 600, 1000)] }
  const { bars, lanes, laneCount, totalMs } = layOut(timeline, 500, 9999)
  assert.equal(totalMs, 1000)
  assert.equal(laneCount, 4)
  assert.deepEqual(lanes.map(({ kind, first, count }) => [kind, first, count]), [['queue', 0, 1], ['step', 1, 2], ['text', 3, 1]])
  assert.deepEqual(bars.map(({ index, lane, x, width }) => [index, lane, x, width]), [[0, 0, 0, 50], [1, 1, 50, 200], [2, 2, 100, 50], [3, 1, 250, 50], [4, 3, 300, 200]])
})

test('A phase that is not over lasts until now, and one that took no time can still be seen', () => {
  const timeline = { run_id: 'run_1', started_at_ms: 0, ended_at_ms: null, phases: [phase('queue', 0, 0), phase('gate', 100, null), phase('step', 400, 400)] }
  const { bars } = layOut(timeline, 100, 400)
  assert.deepEqual(bars.map(({ phase: { phase: kind }, x, width }) => [kind, x, width]), [['queue', 0, 3], ['step', 97, 3], ['gate', 25, 75]])
})

test('Axes have round numbers that reach over what they show', () => {
  assert.deepEqual(countTicks(8), [0, 2, 4, 6, 8])
  assert.deepEqual(countTicks(1), [0, 1])
  assert.deepEqual(countTicks(130), [0, 50, 100, 150])
  assert.deepEqual(spanTicks(42_000, 5), [0, 10_000, 20_000, 30_000, 40_000])
  assert.deepEqual(clockTicks(61_000, 185_000, 3), [120_000, 180_000])
  assert.equal(spanText(90_000), '1.5 min')
  assert.deepEqual([12, 42_160, 285_000, 7_260_000].map(briefText), ['12 ms', '42.2 s', '4m 45s', '2h 1m'])
  assert.equal(linear(10, 20, 100)(15), 50)
})

const sample = (at_ms: number, running: number): Sample => ({ at_ms, running, held: 0, parked: 0, sticky: 0, warm: 0, pool_size: 8 })

test('Lines go in steps, and a gap in the samples is a gap in the line', () => {
  const samples = [sample(0, 1), sample(5, 3), sample(50, 2)]
  const line = stepPath(samples, 'running', (at) => at, (value) => 10 - value, 20)
  assert.equal(line, 'M0.0 9.0H5.0V7.0M50.0 8.0')
  assert.equal(areaPath(line, 10), 'M0.0 9.0H5.0V7.0V10H0.0ZM50.0 8.0V10H50.0Z')
  assert.deepEqual([-5, 2, 3, 40, 99].map((at) => nearest(samples, at)), [0, 0, 1, 2, 2])
  assert.deepEqual(summary(samples, 'running'), { lowest: 1, average: 2, highest: 3 })
  assert.deepEqual(joinSamples(samples, [sample(50, 9), sample(55, 4)], 3).map(({ at_ms, running }) => [at_ms, running]), [[5, 3], [50, 2], [55, 4]])
})

test('Cells that a spreadsheet would compute get an apostrophe', () => {
  for (const formula of ['=1+1', '+1', '-1', '@x', '\t=1', '\r=1']) assert.ok(csvCell(formula).replace(/^"/, '').startsWith("'"), formula)
  assert.equal(csvCell('=HYPERLINK("http://x","y")'), `"'=HYPERLINK(""http://x"",""y"")"`)
  assert.equal(csvCell(-5), '-5')
  assert.equal(csvCell('a,b'), '"a,b"')
  assert.equal(csvCell('two\nlines'), '"two\nlines"')
  assert.equal(csvOf(['a', '=b'], [{ a: 1, '=b': null }, { a: { x: 1 }, '=b': true }]), "a,'=b\r\n1,\r\n\"{\"\"x\"\":1}\",true\r\n")
})

test('The address of the list of runs becomes what the server is asked', () => {
  const now = Date.parse('2026-03-01T12:00:30Z')
  assert.deepEqual(runQuery(new URLSearchParams('state=live&range=1h&agent=agt_1'), now), { state: 'accepted,held,starting,streaming,parked,finishing', agent_id: 'agt_1', conversation_id: undefined, created_after: '2026-03-01T11:00:00.000Z', created_before: undefined })
  assert.equal(runQuery(new URLSearchParams('range=custom&to=2026-03-01T10:00Z'), now).created_before, '2026-03-01T10:00:00.000Z')
  assert.deepEqual(Object.values(runQuery(new URLSearchParams(), now)).filter(Boolean), [])
})

test('Conditions become a filter whose values have the types of their columns', () => {
  const columns: TableColumn[] = [{ name: 'city', type: 'text' }, { name: 'size', type: 'number' }, { name: 'open', type: 'boolean' }]
  assert.equal(tableFilter(columns, [{ column: 'city', op: 'eq', value: '' }], false), undefined)
  assert.deepEqual(tableFilter(columns, [{ column: 'size', op: 'gt', value: '2.5' }], false), { column: 'size', op: 'gt', value: 2.5 })
  assert.deepEqual(tableFilter(columns, [{ column: 'city', op: 'is_null', value: '' }, { column: 'size', op: 'in', value: '1, 2' }], true), { or: [{ column: 'city', op: 'is_null' }, { column: 'size', op: 'in', value: [1, 2] }] })
  assert.deepEqual(tableFilter(columns, [{ column: 'open', op: 'eq', value: 'true' }, { column: 'city', op: 'ne', value: '7' }], false), { and: [{ column: 'open', op: 'eq', value: true }, { column: 'city', op: 'ne', value: '7' }] })
  assert.deepEqual([valueOf('number', 'x'), valueOf('json', '{"a":1}'), valueOf('timestamp', 'never')], ['x', { a: 1 }, 'never'])
})

test('Mistakes are told at the field they point to, and elsewhere if there is none', () => {
  const errors = [{ pointer: '/policy/0/host', message: 'is empty' }, { pointer: '/name', message: 'is taken' }, { pointer: '/names', message: 'unknown' }]
  assert.equal(errorAt(errors, '/policy'), '0/host: is empty')
  assert.equal(errorAt(errors, '/name'), 'is taken')
  assert.deepEqual(errorsElsewhere(errors, ['/policy', '/name']), [errors[2]])
})

test('The newest page is laid over the rows, and begins anew where it does not meet them', () => {
  const row = (id: string, state = 'old') => ({ id, state })
  const merged = mergeNewest([row('b'), row('a')], [row('c', 'new'), row('b', 'new')], ({ id }) => id)
  assert.deepEqual(merged, { rows: [row('c', 'new'), row('b', 'new'), row('a')], added: 1 })
  assert.equal(mergeNewest([row('a')], [row('d'), row('c')], ({ id }) => id), null)
  assert.deepEqual(mergeNewest([row('a')], [], ({ id }) => id)?.rows, [row('a')])
})

test('Lines of a stream are whole or wait for their rest', () => {
  assert.deepEqual(splitLines('{"a":1}\n\n{"a":2}\n{"a"'), { values: [{ a: 1 }, { a: 2 }], rest: '{"a"' })
})

test('A pointer finds its place in the text', () => {
  const text = '{\n  "blocks": [{"id": "a"}, {"id": "b", "prompt": "say \\"hi\\", [x]"}],\n  "a/b": 3\n}'
  const found = (pointer: string) => { const range = rangeOf(text, pointer); return range && text.slice(...range) }
  assert.equal(found('/blocks/1/prompt'), '"say \\"hi\\", [x]"')
  assert.equal(found('/a~1b'), '3')
  assert.equal(found('/blocks/0/missing'), '{"id": "a"}')
  assert.equal(found(''), text)
  assert.equal(rangeOf('{"a": ', '/a'), null)
  assert.equal(lineOf(text, rangeOf(text, '/a~1b')![0]), 3)
})

test('A pool that is far larger than what goes on does not press the other lines to the floor', () => {
  const at = (pool_size: number) => [{ ...sample(0, 3), pool_size }]
  assert.equal(reachOf(at(8), ['running', 'pool_size']), 8)
  assert.equal(reachOf(at(1024), ['running', 'pool_size']), 3)
  assert.equal(reachOf(at(1024), ['pool_size']), 1024)
  assert.equal(reachOf([], ['running']), 1)
})

const block = (id: string): Block => ({ id, type: 'inference' })

test('Blocks stand below what they follow, also when edges make a circle', () => {
  const edges = [{ from: 'a', to: 'b' }, { from: 'b', to: 'c' }, { from: 'a', to: 'c' }]
  assert.deepEqual([...ranksOf([block('c'), block('a'), block('b')], edges)], [['c', 2], ['a', 0], ['b', 1]])
  assert.equal(ranksOf([block('a'), block('b')], [{ from: 'a', to: 'b' }, { from: 'b', to: 'a' }]).size, 2)
  const graph = layOutGraph({ blocks: [block('a'), block('b'), block('c')], edges: [...edges, { from: 'a', to: 'gone' }] })
  assert.deepEqual(graph.blocks.map(({ y }) => y), [0, node.height + node.gapY, 2 * (node.height + node.gapY)])
  assert.equal(graph.edges.length, 3)
  assert.ok(graph.blocks.every(({ x }) => x >= 0 && x + node.width <= graph.width))
})

test('A definition is looked through before it is sent', () => {
  assert.deepEqual(checkDefinition({ blocks: [block('a'), block('a')], edges: [{ from: 'a', to: 'x' }] }).map(({ pointer }) => pointer), ['/blocks/1/id', '/edges/0/to'])
  assert.deepEqual(checkDefinition({}).map(({ pointer }) => pointer), ['/blocks'])
  assert.deepEqual(checkDefinition([]).map(({ pointer }) => pointer), [''])
})

test('The lines of a workflow run are gathered by block, and a batch leaves the view before it as it was', () => {
  const before = foldLines(noLines, [{ seq: 0, type: 'block.started', block: 'a', kind: 'agents', run_id: 'run_1' }, { seq: 1, type: 'block.line', block: 'a', line: { type: 'log', message: 'x' } }])
  const after = foldLines(before, [{ seq: 2, type: 'block.line', block: 'a', line: { type: 'log', message: 'y' } }, { seq: 3, type: 'block.finished', block: 'a', status: 'succeeded', outputs: { response: 'z' } }, { seq: 4, type: 'run.finished', status: 'succeeded', outputs: { out: 'z' } }])
  assert.equal(before.blocks[0]!.lines.length, 1)
  assert.equal(before.status, 'running')
  assert.deepEqual([after.blocks[0]!.lines.length, after.blocks[0]!.status, after.status, after.outputs], [2, 'succeeded', 'succeeded', { out: 'z' }])
})

test('Rules, folders and lines of a trace are told as the server tells them', () => {
  const policy = [{ effect: 'allow' as const, host: 'x.example', secrets: ['A', 'B'] }, { effect: 'ask' as const, command: 'git push *', reason: 'leaves' }]
  assert.deepEqual(policyOf(rulesOf(policy)), policy)
  assert.deepEqual(pathsInside(['s/SKILL.md', 's/bin/run', 's/.git/HEAD']), ['SKILL.md', 'bin/run', null])
  assert.deepEqual(pathsInside(['SKILL.md', 'x/y']), ['SKILL.md', 'x/y'])
  assert.equal(sayingOf({ type: 'step', name: 'bash', status: 'running', args: { command: 'ls' } }), 'bash running {"command":"ls"}')
})
