// One row of a table, as a form with a field for each column's type.
import { useState } from 'preact/hooks'
import { api } from '../api'
import { Select, TextArea, TextField, toast } from '../ui/ui'
import { valueOf } from './filters'
import { FormDialog, useSubmit } from './form'
import type { DataTable, TableColumn, TableRow } from './types'
import { inWorkspace } from './workspace'

// A moment as <input type="datetime-local"> has it: local, without a zone.
export function localTime(iso: unknown): string {
  const at = typeof iso === 'string' ? new Date(iso) : null
  if (!at || Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

function textOf(column: TableColumn, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (column.type === 'timestamp') return localTime(value)
  if (column.type === 'json') return JSON.stringify(value, null, 2)
  return String(value)
}

export function RowDialog({ table, row, onClose, onSaved }: { table: DataTable; row: TableRow | null; onClose: () => void; onSaved: () => void }) {
  const form = useSubmit()
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(table.columns.map((column) => [column.name, textOf(column, row?.values[column.name])])))
  const base = inWorkspace(`tables/${table.id}/rows`)
  const save = async () => {
    const values = Object.fromEntries(table.columns.map((column) => [column.name, texts[column.name] === '' ? null : valueOf(column.type, texts[column.name]!)]))
    await (row ? api.patch(`${base}/${row.id}`, values) : api.post(base, { rows: [values] }))
    toast(row ? 'The row is saved.' : 'The row is in the table.')
    onSaved()
  }
  const at = (name: string) => form.at(row ? `/${name}` : `/rows/0/${name}`)
  return (
    <FormDialog wide={table.columns.length > 4} title={row ? 'Edit the row' : 'New row'} action={row ? 'Save' : 'Insert'} submission={form} pointers={table.columns.map(({ name }) => (row ? `/${name}` : `/rows/0/${name}`))} onSubmit={save} onClose={onClose}>
      {table.columns.map((column) => <Cell key={column.name} column={column} text={texts[column.name]!} onText={(text) => setTexts({ ...texts, [column.name]: text })} error={at(column.name)} />)}
    </FormDialog>
  )
}

function Cell({ column, text, onText, error }: { column: TableColumn; text: string; onText: (text: string) => void; error: string | undefined }) {
  const label = `${column.name}${column.required ? ' (required)' : ''}`
  if (column.type === 'boolean') return <Select label={label} value={text} onValue={onText} error={error} options={[{ value: '', label: 'empty' }, { value: 'true', label: 'true' }, { value: 'false', label: 'false' }]} />
  if (column.type === 'json') return <TextArea label={label} class="mono" rows={4} value={text} onText={onText} error={error} spellcheck={false} />
  if (column.type === 'text' && (text.includes('\n') || text.length > 80)) return <TextArea label={label} rows={3} value={text} onText={onText} error={error} />
  return <TextField label={label} type={column.type === 'number' ? 'number' : column.type === 'timestamp' ? 'datetime-local' : 'text'} value={text} onText={onText} error={error} />
}
