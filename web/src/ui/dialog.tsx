// Dialogs, by the browser's own: it keeps the focus inside and gives it back, and closes on Esc.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { wordsOf } from '../api'
import { Button, IconButton } from './controls'

interface DialogProps {
  title: string
  onClose: () => void
  children: ComponentChildren
  footer?: ComponentChildren
  wide?: boolean
}

export function Dialog({ title, onClose, children, footer, wide }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const dialog = box.current!
    dialog.showModal()
    return () => dialog.close()
  }, [])
  return (
    <dialog ref={box} class={`dialog${wide ? ' wide' : ''}`} aria-labelledby={heading}
      onCancel={(event) => { event.preventDefault(); onClose() }}
      onMouseDown={(event) => { if (event.target === box.current) onClose() }}>
      <div class="dialog-inside">
        <header>
          <h2 id={heading}>{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </header>
        <div class="dialog-body">{children}</div>
        {footer && <footer>{footer}</footer>}
      </div>
    </dialog>
  )
}

interface ConfirmProps {
  title: string
  children: ComponentChildren
  action: string // a verb: "Delete chat"
  kind?: 'danger' | 'primary'
  onConfirm: () => Promise<unknown>
  onClose: () => void
}

// Asks before something that cannot be taken back. Stays open, and says why, if it fails.
export function Confirm({ title, children, action, kind = 'danger', onConfirm, onClose }: ConfirmProps) {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  const confirm = async () => {
    setBusy(true)
    setFailure('')
    try {
      await onConfirm()
      onClose()
    } catch (error) {
      setFailure(wordsOf(error))
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose} footer={<>
      <Button onClick={onClose}>Cancel</Button>
      <Button kind={kind} busy={busy} onClick={() => void confirm()}>{action}</Button>
    </>}>
      {children}
      {failure && <p class="field-error" role="alert">{failure}</p>}
    </Dialog>
  )
}
