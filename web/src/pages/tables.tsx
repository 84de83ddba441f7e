// Tables: rows with typed columns that agents and people share.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../api'
import { useLoad } from '../load'
import { csvLine, save } from '../ops/csv'
import { tableFilter } from '../ops/filters'
import { FormDialog, useSubmit } from '../ops/form'
import { List } from '../ops/list-page'
import { usePaged } from '../ops/paged'
import { Remove } from '../ops/remove'
import { RowDialog } from '../ops/row-dialog'
import { ColumnsEditor } from '../ops/table-columns'
import { everything, TableQuery, type Question } from '../ops/table-query'
import type { DataTable, FoundRows, TableColumn, TableRow } from '../ops/types'
import { Shown } from '../ops/words'
import { inWorkspace } from '../ops/workspace'
import type { PageProps } from '../pages'
import { recoveries } from '../reach'
import { navigate } from '../router'
import { Badge, Button, Empty, Loading, PageFrame, sizeText, Table, TextField, Time, toast, toastError, Trouble, type Column } from '../ui/ui'

export default function TablesPage({ params }: PageProps) {
  return params.id ? <TablePage key={params.id} id={params.id} /> : <Tables />
}

const columns: Column<DataTable>[] = [
  { label: 'Name', cell: (table) => table.name },
  { label: 'Columns', cell: (table) => <span class="mono">{table.columns.map(({ name }) => name).join(', ')}</span> },
  { label: 'Rows', width: '6rem', align: 'end', cell: (table) => table.row_count.toLocaleString() },
  { label: 'Size', width: '6rem', wideOnly: true, align: 'end', cell: (table) => sizeText(table.size_bytes) },
  { label: 'Changed', width: '7rem', wideOnly: true, cell: (table) => <Time at={table.updated_at} /> },
]

function Tables() {
  const list = usePaged<DataTable>(inWorkspace('tables'))
  const [asks, setAsks] = useState(false)
  const add = <Button kind="primary" icon="plus" onClick={() => setAsks(true)}>New table</Button>
  return (
    <PageFrame title="Tables" full about="Rows that agents and people share. Agents use them from their sandbox, by the skill “tables”." actions={add}>
      <List label="Tables" list={list} columns={columns} idOf={(table) => table.id} to={(table) => `/tables/${table.id}`} empty={{ icon: 'tables', title: 'No tables yet', text: 'Make one, or ask an agent to keep what it finds in a table.', action: add }} />
      {asks && <TableDialog table={null} onClose={() => setAsks(false)} onSaved={(table) => navigate(`/tables/${table.id}`)} />}
    </PageFrame>
  )
}

function TableDialog({ table, onClose, onSaved }: { table: DataTable | null; onClose: () => void; onSaved: (table: DataTable) => void }) {
  const form = useSubmit()
  const [name, setName] = useState(table?.name ?? '')
  const [made, setMade] = useState<TableColumn[]>([{ name: '', type: 'text', ...(table ? {} : { required: true }) }])
  const pointer = table ? '/add_columns' : '/columns'
  const send = async () => {
    const told = made.filter((column) => column.name)
    onSaved(await (table ? api.patch<DataTable>(inWorkspace(`tables/${table.id}`), { name, ...(told.length ? { add_columns: told } : {}) }) : api.post<DataTable>(inWorkspace('tables'), { name, columns: made })))
  }
  return (
    <FormDialog wide title={table ? `Change ${table.name}` : 'New table'} action={table ? 'Save' : 'Create the table'} submission={form} pointers={['/name', ...made.map((_, i) => `${pointer}/${i}`)]} onSubmit={send} onClose={onClose}>
      <TextField label="Name" value={name} onText={setName} error={form.at('/name')} />
      {table && <p class="muted">Columns can be added and not taken away. It has {table.columns.map((column) => column.name).join(', ')}.</p>}
      <ColumnsEditor columns={made} onColumns={setMade} errorAt={form.at} pointer={pointer} />
    </FormDialog>
  )
}

function TablePage({ id }: { id: string }) {
  const found = useLoad((stop) => api.get<DataTable>(inWorkspace(`tables/${id}`), {}, stop), [id])
  const [changes, setChanges] = useState(false)
  return (
    <PageFrame title={found.data?.name ?? 'Table'} full back={{ to: '/tables', label: 'Tables' }} actions={found.data && <>
      <Button icon="pencil" onClick={() => setChanges(true)}>Change</Button>
      <Remove path={inWorkspace(`tables/${id}`)} what={found.data.name} onDone={() => navigate('/tables')}>All of its rows go with it.</Remove>
    </>}>
      <Shown of={found}>{(table) => <Rows table={table} />}</Shown>
      {changes && found.data && <TableDialog table={found.data} onClose={() => setChanges(false)} onSaved={(table) => { found.set(table); toast('The table is changed.') }} />}
    </PageFrame>
  )
}

const pageRows = 200
const exportRows = 1000

const bodyOf = (table: DataTable, question: Question, limit: number, offset: number) => ({
  limit, offset, filter: tableFilter(table.columns, question.conditions, question.any), ...(question.order ? { order: [{ column: question.order, direction: question.descending ? 'desc' : 'asc' }] } : {}),
})

function useRows(table: DataTable, question: Question) {
  const [state, setState] = useState<{ rows?: TableRow[]; total: number; error?: Error; loading: boolean }>({ total: 0, loading: true })
  const turn = useRef(0)
  const load = async (offset: number) => {
    const mine = offset ? turn.current : ++turn.current
    setState((old) => ({ ...old, loading: true }))
    try {
      const page = await api.post<FoundRows>(inWorkspace(`tables/${table.id}/query`), bodyOf(table, question, pageRows, offset))
      if (mine === turn.current) setState((old) => ({ rows: offset ? [...(old.rows ?? []), ...page.data] : page.data, total: page.total, loading: false }))
    } catch (error) {
      if (mine === turn.current) setState((old) => ({ ...old, error: error as Error, loading: false }))
    }
  }
  const asked = JSON.stringify(bodyOf(table, question, 0, 0))
  useEffect(() => {
    const timer = setTimeout(() => void load(0), state.rows ? 250 : 0) // somebody may still be typing
    return () => clearTimeout(timer)
  }, [asked, table, recoveries.value])
  return { ...state, reload: () => void load(0), more: () => { if (!state.loading && !state.error && state.rows && state.rows.length < state.total) void load(state.rows.length) } }
}

function Rows({ table }: { table: DataTable }) {
  const [question, setQuestion] = useState(everything)
  const [edited, setEdited] = useState<{ row: TableRow | null } | null>(null)
  const [busy, setBusy] = useState(false)
  const found = useRows(table, question)
  const download = async () => {
    setBusy(true)
    await exportCsv(table, question).catch(toastError)
    setBusy(false)
  }
  return (
    <>
      <div class="table-tools">
        <TableQuery columns={table.columns} question={question} onQuestion={setQuestion} />
        <div class="page-actions">
          <Button icon="download" busy={busy} onClick={() => void download()}>CSV</Button>
          <Button kind="primary" icon="plus" onClick={() => setEdited({ row: null })}>New row</Button>
        </div>
      </div>
      {found.error ? <Trouble error={found.error} retry={found.reload} />
        : !found.rows ? <Loading />
        : !found.rows.length ? <Empty icon="tables" title={question.conditions.length ? 'No row is like that' : 'No rows yet'} />
        : <RowTable table={table} rows={found.rows} onEnd={found.more} onOpen={(row) => setEdited({ row })} onGone={found.reload} />}
      {found.rows && <p class="faint" role="status">{found.total.toLocaleString()} {found.total === 1 ? 'row' : 'rows'}{found.rows.length < found.total && `, ${found.rows.length.toLocaleString()} loaded`}</p>}
      {edited && <RowDialog table={table} row={edited.row} onClose={() => setEdited(null)} onSaved={found.reload} />}
    </>
  )
}

function RowTable({ table, rows, onEnd, onOpen, onGone }: { table: DataTable; rows: TableRow[]; onEnd: () => void; onOpen: (row: TableRow) => void; onGone: () => void }) {
  const shown: Column<TableRow>[] = table.columns.map((column, i) => ({
    label: column.name, wideOnly: i > 1, ...(column.type === 'number' ? { align: 'end' as const } : {}), ...(column.type === 'boolean' ? { width: '6rem' } : {}),
    cell: (row: TableRow) => <CellText column={column} value={row.values[column.name]} first={i === 0} />,
  }))
  shown.push({ label: 'Delete', width: '4.5rem', align: 'end', cell: (row) => <Remove small path={inWorkspace(`tables/${table.id}/rows/${row.id}`)} what="the row" onDone={onGone}><span class="mono">{JSON.stringify(row.values).slice(0, 300)}</span></Remove> })
  return <Table label={`Rows of ${table.name}`} columns={shown} rows={rows} idOf={(row) => row.id} onOpen={onOpen} onEnd={onEnd} rowHeight={38} />
}

function CellText({ column, value, first }: { column: TableColumn; value: unknown; first: boolean }) {
  if (value === null || value === undefined) return <span class="faint">{first ? '(empty)' : '–'}</span>
  if (column.type === 'boolean') return <Badge tone={value ? 'ok' : 'neutral'}>{String(value)}</Badge>
  if (column.type === 'timestamp') return <Time at={String(value)} />
  if (column.type === 'json') return <span class="mono" title={JSON.stringify(value, null, 2).slice(0, 2000)}>{JSON.stringify(value).slice(0, 200)}</span>
  const text = String(value)
  return <span title={text.length > 30 ? text.slice(0, 2000) : undefined}>{text.slice(0, 300)}</span>
}

// All rows that the question finds, not only those on show.
async function exportCsv(table: DataTable, question: Question): Promise<void> {
  const names = table.columns.map((column) => column.name)
  const parts = [csvLine(names)]
  for (let offset = 0; ; offset += exportRows) {
    const page = await api.post<FoundRows>(inWorkspace(`tables/${table.id}/query`), bodyOf(table, question, exportRows, offset))
    parts.push(...page.data.map((row) => csvLine(names.map((name) => row.values[name]))))
    if (!page.has_more || !page.data.length) break
  }
  save(`${table.name}.csv`, 'text/csv;charset=utf-8', ['\ufeff', ...parts])
  toast(`${parts.length - 1} rows are in ${table.name}.csv.`)
}
