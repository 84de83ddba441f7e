// Keyboard shortcuts. Single letters count only outside of text fields.
import { useEffect, useRef } from 'preact/hooks'

export type Keys = Record<string, () => void> // 'j', '?', 'Escape', 'mod+k'

const held: Keys[] = [] // the latest comes first

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

function nameOf(event: KeyboardEvent): string {
  return (event.ctrlKey || event.metaKey ? 'mod+' : '') + event.key
}

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.altKey || event.isComposing) return
  const name = nameOf(event)
  if (isTyping(event.target) && !name.startsWith('mod+') && name !== 'Escape') return
  if (document.querySelector('dialog[open]') && name !== '?') return // a dialog has its own keys
  const keys = [...held].reverse().find((keys) => keys[name])
  if (!keys) return
  event.preventDefault()
  keys[name]!()
})

export function useKeys(keys: Keys): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    const mine: Keys = new Proxy({}, { get: (_, name) => latest.current[String(name)] })
    held.push(mine)
    return () => { held.splice(held.indexOf(mine), 1) }
  }, [])
}

// What the list of shortcuts shows.
export const shortcuts: { keys: string[]; what: string }[] = [
  { keys: ['Enter'], what: 'Send the message' },
  { keys: ['Shift', 'Enter'], what: 'Begin a line in it' },
  { keys: ['Esc'], what: 'Close what is open; leave the message field' },
  { keys: ['/'], what: 'Go to the message field' },
  { keys: ['n'], what: 'Begin a chat' },
  { keys: ['j'], what: 'Next in a list' },
  { keys: ['k'], what: 'Previous in a list' },
  { keys: ['g'], what: 'Open the navigation' },
  { keys: ['f'], what: 'Show or hide the files of a chat' },
  { keys: ['?'], what: 'Show this list' },
]
