// Which steps, thoughts and differences somebody has opened. Kept apart from the components, because those of a long
// thread leave the document and come back.
import { signal, type Signal } from '@preact/signals'

const opened = new Map<string, Signal<boolean>>()

export function openedSignal(key: string, initially = false): Signal<boolean> {
  let found = opened.get(key)
  if (!found) opened.set(key, (found = signal(initially)))
  return found
}
