// Buttons and form fields.
import type { ComponentChildren, JSX } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Icon, type IconName } from './icon'

type ButtonProps = Omit<JSX.IntrinsicElements['button'], 'icon'> & {
  kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  small?: boolean
  icon?: IconName
  busy?: boolean
}

// A busy button keeps its place and its focus, and does nothing.
export function Button({ kind = 'plain', small, icon, busy, children, onClick, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} class={`button ${kind}${small ? ' small' : ''}${busy ? ' busy' : ''} ${rest.class ?? ''}`}
      aria-busy={busy || undefined} onClick={busy ? undefined : onClick}>
      {busy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children && <span>{children}</span>}
    </button>
  )
}

type IconButtonProps = Omit<JSX.IntrinsicElements['button'], 'label' | 'icon'> & { icon: IconName; label: string }

export function IconButton({ icon, label, ...rest }: IconButtonProps) {
  return (
    <button type="button" title={label} aria-label={label} {...rest} class={`icon-button ${rest.class ?? ''}`}>
      <Icon name={icon} />
    </button>
  )
}

interface FieldProps {
  label: string
  hint?: ComponentChildren
  error?: string | undefined
  children: (wired: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: 'true' }) => ComponentChildren
}

// A label, a control, and what is to be known about it: <Field label="Name">{(wired) => <input {...wired} />}</Field>
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const about = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, ...(about ? { 'aria-describedby': about } : {}), ...(error ? { 'aria-invalid': 'true' as const } : {}) })}
      {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
      {error && <p class="field-error" id={`${id}-error`}><Icon name="alert" /> {error}</p>}
    </div>
  )
}

interface TextProps {
  label: string
  value: string
  onText: (text: string) => void
  type?: 'text' | 'password' | 'search' | 'url' | 'number' | 'datetime-local'
  hint?: ComponentChildren
  error?: string | undefined
  name?: string
  placeholder?: string
  autocomplete?: string
  autofocus?: boolean
  disabled?: boolean
  required?: boolean
  spellcheck?: boolean
}

export function TextField({ label, hint, error, onText, ...rest }: TextProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(wired) => <input autocomplete="off" {...rest} type={(rest.type ?? 'text') as 'text'} {...wired} onInput={(event) => onText(event.currentTarget.value)} />}
    </Field>
  )
}

interface AreaProps extends Omit<TextProps, 'type'> { rows?: number; class?: string }

export function TextArea({ label, hint, error, onText, ...rest }: AreaProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(wired) => <textarea rows={6} {...rest} {...wired} onInput={(event) => onText(event.currentTarget.value)} />}
    </Field>
  )
}

interface SelectProps {
  label: string
  value: string
  options: { value: string; label: string }[]
  onValue: (value: string) => void
  hint?: ComponentChildren
  error?: string
  disabled?: boolean
}

export function Select({ label, value, options, onValue, hint, error, disabled }: SelectProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(wired) => (
        <select {...wired} value={value} disabled={disabled} onChange={(event) => onValue(event.currentTarget.value)}>
          {options.map((option) => <option key={option.value} value={option.value}>{option.label}</option>)}
        </select>
      )}
    </Field>
  )
}

export function CopyButton({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <button type="button" class="icon-button copy" title={copied ? 'Copied' : label} aria-label={copied ? 'Copied' : label}
      onClick={() => void copy().catch(() => {})}>
      <Icon name={copied ? 'check' : 'copy'} />
    </button>
  )
}
