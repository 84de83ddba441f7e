// What every list of things is: loading, trouble, nothing yet, or a table that loads on as it is scrolled.
import type { ComponentChildren } from 'preact'
import { Button, Empty, Loading, Table, Trouble, type Column, type IconName } from '../ui/ui'
import type { Paged } from './paged'
import { Stale } from './words'

interface ListProps<T> {
  label: string
  list: Paged<T>
  columns: Column<T>[]
  idOf: (row: T) => string
  to?: (row: T) => string
  onOpen?: (row: T) => void
  empty: { icon: IconName; title: string; text?: ComponentChildren; action?: ComponentChildren }
}

export function List<T>({ label, list, columns, idOf, to, onOpen, empty }: ListProps<T>) {
  if (!list.rows) return list.error ? <Trouble error={list.error} retry={list.reload} /> : <Loading />
  if (!list.rows.length) return <Empty icon={empty.icon} title={empty.title} action={empty.action}>{empty.text}</Empty>
  return (
    <>
      <Stale error={list.error} retry={list.reload} />
      <Table label={label} columns={columns} rows={list.rows} idOf={idOf} to={to} onOpen={onOpen} onEnd={list.more}
        footer={list.hasMore && (list.loading ? <Loading what="Loading more" /> : <div class="more"><Button kind="quiet" onClick={list.more}>Show more</Button></div>)} />
    </>
  )
}
