// The columns of a table that is being made, or that are added to one.
import { Button, IconButton } from '../ui/ui'
import type { ColumnType, TableColumn } from './types'

export const columnTypes: ColumnType[] = ['text', 'number', 'boolean', 'timestamp', 'json']

interface ColumnsProps { columns: TableColumn[]; onColumns: (columns: TableColumn[]) => void; errorAt: (pointer: string) => string | undefined; pointer: string }

export function ColumnsEditor({ columns, onColumns, errorAt, pointer }: ColumnsProps) {
  const change = (i: number, part: Partial<TableColumn>) => onColumns(columns.map((column, at) => (at === i ? { ...column, ...part } : column)))
  return (
    <fieldset class="rules">
      <legend>Columns</legend>
      {columns.map((column, i) => {
        const error = errorAt(`${pointer}/${i}`)
        return (
          <div key={i} class="column-row" role="group" aria-label={`Column ${i + 1}`}>
            <input aria-label="Name of the column" placeholder="name" value={column.name} aria-invalid={error ? 'true' : undefined} onInput={(event) => change(i, { name: event.currentTarget.value })} />
            <select aria-label="Type" value={column.type} onChange={(event) => change(i, { type: event.currentTarget.value as ColumnType })}>{columnTypes.map((type) => <option key={type}>{type}</option>)}</select>
            <label class="check"><input type="checkbox" checked={column.required ?? false} onChange={(event) => change(i, { required: event.currentTarget.checked })} /><span>required</span></label>
            <IconButton icon="trash" label={`Remove column ${i + 1}`} disabled={columns.length < 2} onClick={() => onColumns(columns.filter((_, at) => at !== i))} />
            {error && <p class="field-error" role="alert">{error}</p>}
          </div>
        )
      })}
      <div><Button small icon="plus" onClick={() => onColumns([...columns, { name: '', type: 'text' }])}>Add a column</Button></div>
    </fieldset>
  )
}
