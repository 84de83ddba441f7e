// A table of any length: only the rows near the view are in the document. j and k walk it, Enter opens.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useKeys } from '../keys'
import { Link, navigate } from '../router'
import { useWindow } from './windowing'

export interface Column<T> {
  label: string
  cell: (row: T) => ComponentChildren
  width?: string // of CSS: "12rem", "20%"
  wideOnly?: boolean // left out on a phone
  align?: 'end'
}

interface TableProps<T> {
  label: string // names the list for screen readers
  columns: Column<T>[]
  rows: T[]
  idOf: (row: T) => string
  to?: (row: T) => string // where a row leads; its first cell becomes the link
  onOpen?: (row: T) => void // or what opening it does
  onEnd?: () => void // the last row came near: load more
  rowHeight?: number
  footer?: ComponentChildren
}

export function Table<T>(props: TableProps<T>) {
  const { label, columns, rows, idOf, rowHeight = 44, onEnd } = props
  const box = useRef<HTMLDivElement>(null)
  const seen = useWindow(box, rows.length, rowHeight)
  useRowKeys(box, rows.length, rowHeight)
  useEffect(() => { if (rows.length && seen.to >= rows.length) onEnd?.() }, [seen.to, rows.length])
  return (
    <div class="table-box" ref={box} tabIndex={0} role="region" aria-label={label}>
      <table aria-rowcount={rows.length + 1}>
        <colgroup>{columns.map((column) => <ColumnWidth key={column.label} column={column} />)}</colgroup>
        <thead>
          <tr>{columns.map((column) => <th key={column.label} scope="col" class={cellClass(column)}>{column.label}</th>)}</tr>
        </thead>
        <tbody>
          <Spacer height={seen.before} />
          {rows.slice(seen.from, seen.to).map((row, i) => (
            <Row key={idOf(row)} {...props} row={row} index={seen.from + i} rowHeight={rowHeight} />
          ))}
          <Spacer height={seen.after} />
        </tbody>
      </table>
      {props.footer}
    </div>
  )
}

function cellClass<T>(column: Column<T>): string {
  return `${column.wideOnly ? 'wide-only' : ''}${column.align === 'end' ? ' end' : ''}`
}

function ColumnWidth<T>({ column }: { column: Column<T> }) {
  return <col class={column.wideOnly ? 'wide-only' : ''} style={column.width ? { width: column.width } : {}} />
}

function Spacer({ height }: { height: number }) {
  return height > 0 ? <tr class="spacer" aria-hidden="true"><td style={{ height: `${height}px` }} /></tr> : null
}

function Row<T>({ row, index, columns, to, onOpen, rowHeight }: TableProps<T> & { row: T; index: number }) {
  const open = to ? () => navigate(to(row)) : onOpen ? () => onOpen(row) : undefined
  const lead = (inside: ComponentChildren) => {
    if (to) return <Link to={to(row)} class="row-link" data-row-link={index}>{inside}</Link>
    if (onOpen) return <button type="button" class="row-link" data-row-link={index} onClick={() => onOpen(row)}>{inside}</button>
    return inside
  }
  const onClick = (event: MouseEvent) => {
    const on = event.target as HTMLElement
    if (open && !on.closest('a,button,input,select,label') && !String(getSelection())) open()
  }
  return (
    <tr class={open ? 'opens' : ''} aria-rowindex={index + 2} style={{ height: `${rowHeight}px` }} onClick={onClick}>
      {columns.map((column, i) => (
        <td key={column.label} class={cellClass(column)}>{i === 0 ? lead(column.cell(row)) : column.cell(row)}</td>
      ))}
    </tr>
  )
}

// j, k: the next and the last row's link gets the focus; rows that are not in the document are scrolled to first.
function useRowKeys(box: { current: HTMLElement | null }, count: number, rowHeight: number): void {
  const step = (by: number) => {
    const element = box.current
    if (!element || !count) return
    const on = (document.activeElement as HTMLElement | null)?.closest<HTMLElement>('tr')?.querySelector<HTMLElement>('[data-row-link]')
    const at = on && element.contains(on) ? Number(on.dataset.rowLink) + by : by > 0 ? 0 : count - 1
    const index = Math.max(0, Math.min(count - 1, at))
    const focus = () => element.querySelector<HTMLElement>(`[data-row-link="${index}"]`)?.focus()
    if (element.querySelector(`[data-row-link="${index}"]`)) return focus()
    element.scrollTop = index * rowHeight - element.clientHeight / 2
    requestAnimationFrame(() => requestAnimationFrame(focus))
  }
  useKeys({ j: () => step(1), k: () => step(-1) })
}
