// Forms: what the server found wrong stands at the field that it points to, and the rest above the buttons.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Problem } from '../api'
import { Button, Dialog, Trouble } from '../ui/ui'
import { errorAt, errorsElsewhere } from './mistakes'

export interface Submission {
  busy: boolean
  failure: unknown
  at: (pointer: string) => string | undefined
  submit: (act: () => Promise<unknown>) => Promise<boolean>
}

// A mistake that the form itself finds, shown like the server's.
export const mistake = (pointer: string, message: string): Problem => new Problem(422, { title: 'Something is not valid', errors: [{ pointer, message }] })

export function useSubmit(): Submission {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(undefined)
  const errors = failure instanceof Problem ? failure.errors : []
  return {
    busy, failure,
    at: (pointer) => errorAt(errors, pointer),
    submit: async (act) => {
      setBusy(true)
      setFailure(undefined)
      try {
        await act()
        return true
      } catch (error) {
        setFailure(error)
        return false
      } finally {
        setBusy(false)
      }
    },
  }
}

interface FormProps {
  submission: Submission
  pointers: string[] // of the fields that show their errors
  onSubmit: () => void
  children: ComponentChildren
  footer: ComponentChildren
}

export function Form({ submission, pointers, onSubmit, children, footer }: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const { failure, busy } = submission
  useEffect(() => {
    if (failure) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [failure])
  return (
    <form ref={form} class="form" noValidate onSubmit={(event) => { event.preventDefault(); if (!busy) onSubmit() }}>
      {children}
      <Unplaced failure={failure} pointers={pointers} />
      <div class="form-actions">{footer}</div>
    </form>
  )
}

function Unplaced({ failure, pointers }: { failure: unknown; pointers: string[] }) {
  if (!failure) return null
  if (!(failure instanceof Problem) || !failure.errors.length) return <Trouble error={failure} />
  const rest = errorsElsewhere(failure.errors, pointers)
  if (!rest.length) return <p class="hidden" role="alert">Some fields are not valid.</p>
  return <Trouble error={new Problem(failure.status, { ...failure.body, errors: rest })} />
}

interface FormDialogProps extends Omit<FormProps, 'footer' | 'onSubmit' | 'submission'> {
  title: string
  action: string
  submission: Submission
  onSubmit: () => Promise<unknown>
  onClose: () => void
  wide?: boolean
}

// A form in a dialog that closes when what it sends is taken.
export function FormDialog({ title, action, submission, onSubmit, onClose, wide, ...rest }: FormDialogProps) {
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <Form {...rest} submission={submission} onSubmit={() => void submission.submit(onSubmit).then((done) => { if (done) onClose() })} footer={<>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" busy={submission.busy}>{action}</Button>
      </>} />
    </Dialog>
  )
}

export function Check({ label, checked, onCheck, hint, disabled }: { label: string; checked: boolean; onCheck: (is: boolean) => void; hint?: string; disabled?: boolean }) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} disabled={disabled} onChange={(event) => onCheck(event.currentTarget.checked)} />
      <span>{label}{hint && <small>{hint}</small>}</span>
    </label>
  )
}

// Several lines are several entries; empty lines are none.
export const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim()).filter(Boolean)
