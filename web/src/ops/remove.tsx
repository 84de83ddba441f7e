// A button that deletes something, after it has asked.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api } from '../api'
import { Button, Confirm, IconButton, toast } from '../ui/ui'

interface RemoveProps { path: string; what: string; children: ComponentChildren; onDone: () => void; small?: boolean; verb?: string; done?: string }

export function Remove({ path, what, children, onDone, small, verb = 'Delete', done = 'deleted' }: RemoveProps) {
  const [asks, setAsks] = useState(false)
  return (
    <>
      {small ? <IconButton icon="trash" label={`${verb} ${what}`} onClick={() => setAsks(true)} /> : <Button kind="danger" icon="trash" onClick={() => setAsks(true)}>{verb}</Button>}
      {asks && (
        <Confirm title={`${verb} ${what}?`} action={verb} onClose={() => setAsks(false)} onConfirm={async () => { await api.delete(path); toast(`${what} is ${done}.`); onDone() }}>
          <p>{children}</p>
        </Confirm>
      )}
    </>
  )
}
