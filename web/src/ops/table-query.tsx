// What of a table is shown, and in which order.
import { Button, IconButton } from '../ui/ui'
import { operators, type Condition } from './filters'
import type { TableColumn } from './types'

export interface Question { conditions: Condition[]; any: boolean; order: string; descending: boolean }
export const everything: Question = { conditions: [], any: false, order: '', descending: false }

interface QueryProps { columns: TableColumn[]; question: Question; onQuestion: (question: Question) => void }

export function TableQuery({ columns, question, onQuestion }: QueryProps) {
  const set = (part: Partial<Question>) => onQuestion({ ...question, ...part })
  const change = (i: number, part: Partial<Condition>) => set({ conditions: question.conditions.map((one, at) => (at === i ? { ...one, ...part } : one)) })
  const typeOf = (name: string) => columns.find((column) => column.name === name)?.type ?? 'text'
  return (
    <div class="table-query" role="search" aria-label="Filter and order the rows">
      {question.conditions.map((one, i) => (
        <div key={i} class="condition" role="group" aria-label={`Condition ${i + 1}`}>
          {i === 0 ? <span class="faint">Where</span> : <select aria-label="All or any" value={question.any ? 'or' : 'and'} onChange={(event) => set({ any: event.currentTarget.value === 'or' })}><option value="and">and</option><option value="or">or</option></select>}
          <select aria-label="Column" value={one.column} onChange={(event) => change(i, { column: event.currentTarget.value, op: operators.find((op) => op.types.includes(typeOf(event.currentTarget.value)))!.value })}>{columns.map((column) => <option key={column.name}>{column.name}</option>)}</select>
          <select aria-label="Comparison" value={one.op} onChange={(event) => change(i, { op: event.currentTarget.value })}>{operators.filter((op) => op.types.includes(typeOf(one.column))).map((op) => <option key={op.value} value={op.value}>{op.label}</option>)}</select>
          {one.op !== 'is_null' && (typeOf(one.column) === 'boolean'
            ? <select aria-label="Value" value={one.value} onChange={(event) => change(i, { value: event.currentTarget.value })}><option value="" /><option>true</option><option>false</option></select>
            : <input aria-label="Value" type={(typeOf(one.column) === 'timestamp' ? 'datetime-local' : 'text') as 'text'} placeholder={one.op === 'in' ? 'a, b, c' : 'value'} value={one.value} onInput={(event) => change(i, { value: event.currentTarget.value })} />)}
          <IconButton icon="close" label={`Remove condition ${i + 1}`} onClick={() => set({ conditions: question.conditions.filter((_, at) => at !== i) })} />
        </div>
      ))}
      <div class="condition">
        <Button small icon="plus" onClick={() => set({ conditions: [...question.conditions, { column: columns[0]!.name, op: operators.find((op) => op.types.includes(columns[0]!.type))!.value, value: '' }] })}>Filter</Button>
        <label class="order"><span>Order by</span>
          <select value={question.order} onChange={(event) => set({ order: event.currentTarget.value })}><option value="">as inserted</option>{columns.map((column) => <option key={column.name}>{column.name}</option>)}</select>
        </label>
        {question.order && <Button small onClick={() => set({ descending: !question.descending })} title="Turn the order round">{question.descending ? 'descending' : 'ascending'}</Button>}
      </div>
    </div>
  )
}
