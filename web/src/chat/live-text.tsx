// Text that grows: what was added is appended to what is in the document, which never holds more than its last part.
import { useLayoutEffect, useRef } from 'preact/hooks'

interface LiveTextProps { text: string; label: string; class?: string }

export function LiveText({ text, label, ...rest }: LiveTextProps) {
  const box = useRef<HTMLPreElement>(null)
  const shown = useRef('')
  useLayoutEffect(() => {
    const element = box.current!
    const had = shown.current
    const node = (element.firstChild as Text | null) ?? element.appendChild(document.createTextNode(''))
    const sticks = element.scrollHeight - element.scrollTop - element.clientHeight < 24
    if (text.startsWith(had)) node.appendData(text.slice(had.length))
    else node.data = text
    shown.current = text
    if (sticks) element.scrollTop = element.scrollHeight
  }, [text])
  return <pre ref={box} class={`live-text ${rest.class ?? ''}`} tabIndex={0} aria-label={label} />
}
