// Where a message is written: text, files, and the button that sends it or stops the answer.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Problem, wordsOf } from '../api'
import { useKeys } from '../keys'
import { Button, IconButton } from '../ui/controls'
import { Icon } from '../ui/icon'
import { toastError } from '../ui/toast'
import { Sentence, sizeText } from '../ui/words'
import { Attachments, type Attachment } from './attachments'
import type { Conversation } from './conversation'
import { waitingMax, type Waiting } from './outbox'

const drafts = new Map<string, string>() // by chat: what was being written when the page was left

interface Failure { words: string; passes: boolean } // passes: it is over when the answer is
const none: Failure = { words: '', passes: false }

interface ComposerProps { conversation: Conversation; agentId: string | null; draft: { text: string; turn: number }; choice: preact.ComponentChildren }

// `draft` is put into the field when its turn changes (somebody chose an example).
export function Composer({ conversation, agentId, draft, choice }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const attachments = useRef<Attachments>(null as never)
  attachments.current ??= new Attachments()
  const bag = attachments.current
  const [text, setText] = useState(drafts.get(conversation.id.value ?? '') ?? '')
  const [failure, setFailure] = useState(none)
  const [sending, setSending] = useState(false)
  const [over, setOver] = useState(false)
  const running = conversation.turn.value !== null
  useEffect(() => { if (draft.turn) { setText(draft.text); field.current?.focus() } }, [draft.turn])
  useEffect(() => {
    fit(field.current)
    drafts.set(conversation.id.peek() ?? '', text)
  }, [text])
  const fail = (words: string) => setFailure({ words, passes: conversation.turn.peek() !== null })
  useEffect(() => { if (!running) setFailure((now) => (now.passes ? none : now)) }, [running])
  useKeys({ '/': () => field.current?.focus() })

  // The message is sent when the answer has ended, behind those that wait already.
  const wait = (said: string) => {
    if (!conversation.outbox.hasRoom) return fail(`${waitingMax} messages wait already. Your text is kept: send it when one of them is gone.`)
    conversation.outbox.add(said, bag.take())
    setText('')
    setFailure(none)
    void conversation.sendNext()
  }
  const edit = (one: Waiting) => {
    conversation.outbox.take(one.key)
    setText((now) => [one.text, now].filter(Boolean).join('\n'))
    bag.putBack(one.attachments)
    field.current?.focus()
  }
  const send = async () => {
    const said = text.trim()
    if (sending || bag.busy || (!said && !bag.ready.length)) return
    if (running || conversation.outbox.all.peek().length) return wait(said)
    setSending(true)
    setFailure(none)
    setText('')
    const files = bag.ready
    const taken = bag.take()
    try {
      await conversation.send(said, files, agentId)
    } catch (error) {
      setText((now) => now || said)
      bag.putBack(taken)
      fail(error instanceof Problem && error.unreachable ? 'The server is not reachable: this was probably not sent. Your text is kept.' : wordsOf(error))
    }
    setSending(false)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return field.current?.blur()
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    void send()
  }
  const onPaste = (event: ClipboardEvent) => {
    const files = [...(event.clipboardData?.files ?? [])]
    if (!files.length) return
    event.preventDefault()
    bag.add(files, conversation.id.value)
  }
  useDrop(setOver, (files) => bag.add(files, conversation.id.value))
  const problem = failure.words || conversation.notice.value
  return (
    <div class="composer-place">
      {problem && <p class="composer-notice" role="alert"><Icon name="alert" size={14} /> <span><Sentence text={problem} /></span><IconButton icon="close" label="Dismiss" onClick={() => { setFailure(none); conversation.notice.value = '' }} /></p>}
      <WaitingList conversation={conversation} onEdit={edit} onRemove={(one) => { conversation.outbox.take(one.key); bag.discard(one.attachments) }} />
      <div class={`composer${over ? ' over' : ''}`}>
        <AttachmentList bag={bag} />
        <textarea ref={field} rows={1} value={text} aria-label="Message" placeholder={running ? 'Write the next message; it is sent when this answer has ended.' : 'Ask, or tell it what to do…'}
          onInput={(event) => setText(event.currentTarget.value)} onKeyDown={onKeyDown} onPaste={onPaste} />
        <div class="composer-tools">
          <IconButton icon="attach" label="Attach files" onClick={() => picker.current?.click()} />
          <input ref={picker} type="file" multiple hidden aria-label="Files to attach" onChange={(event) => { bag.add(event.currentTarget.files ?? [], conversation.id.value); event.currentTarget.value = '' }} />
          {choice}
          <span class="composer-hint" aria-hidden="true">{running ? (text.trim() ? <><kbd>Enter</kbd> sends it afterwards</> : '') : <><kbd>Enter</kbd> sends</>}</span>
          {running && (text.trim() || bag.ready.length > 0) && <button type="button" class="send" aria-label="Queue this message" title="Queue it: it is sent when the answer has ended" disabled={bag.busy} onClick={() => void send()}><Icon name="clock" /></button>}
          {running
            ? <button type="button" class="send stop" aria-label={conversation.stopping.value ? 'Stopping' : 'Stop'} title="Stop" disabled={conversation.stopping.value} onClick={() => { conversation.stop().catch(toastError) }}>{conversation.stopping.value ? <span class="spinner" aria-hidden="true" /> : <Icon name="stop" />}</button>
            : <button type="button" class="send" aria-label="Send" title="Send" disabled={sending || bag.busy || (!text.trim() && !bag.ready.length)} onClick={() => void send()}>{sending ? <span class="spinner" aria-hidden="true" /> : <Icon name="send" />}</button>}
        </div>
        {over && <div class="drop-here">Drop the files here</div>}
      </div>
    </div>
  )
}

// The messages that wait for the end of the answer.
function WaitingList({ conversation, onEdit, onRemove }: { conversation: Conversation; onEdit: (one: Waiting) => void; onRemove: (one: Waiting) => void }) {
  const all = conversation.outbox.all.value
  if (!all.length) return null
  const isIdle = conversation.turn.value === null
  const isHeld = Boolean(all[0]!.failure)
  return (
    <section class="waiting" aria-label="Messages that wait">
      <p class="waiting-note">{all.length === 1 ? 'This message is' : 'These messages are'} {isHeld ? 'not sent before you say so.' : 'sent when the answer has ended, as long as this tab shows the chat.'}</p>
      <ul>
        {all.map((one, i) => (
          <li key={one.key}>
            <Icon name={one.failure ? 'alert' : 'clock'} size={14} />
            <span class="waiting-text">{one.text || one.attachments.map((file) => file.name).join(', ')}{one.text && one.attachments.length > 0 && ` (${one.attachments.length === 1 ? '1 file' : `${one.attachments.length} files`})`}</span>
            {one.failure && <span class="waiting-failure" role="alert">Not sent: <Sentence text={one.failure} /></span>}
            {isHeld && i === 0 && <Button small onClick={() => { conversation.outbox.release(); void conversation.sendNext() }}>{isIdle ? 'Send it now' : 'Send it after this answer'}</Button>}
            <IconButton icon="pencil" label="Edit this waiting message" onClick={() => onEdit(one)} />
            <IconButton icon="close" label="Remove this waiting message" onClick={() => onRemove(one)} />
          </li>
        ))}
      </ul>
    </section>
  )
}

// Files may be dropped anywhere on the page: a browser would leave it for them.
function useDrop(setOver: (is: boolean) => void, take: (files: FileList) => void): void {
  const latest = useRef(take)
  latest.current = take
  useEffect(() => {
    const onOver = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      setOver(true)
    }
    const onLeave = (event: DragEvent) => { if (!event.relatedTarget) setOver(false) }
    const onDrop = (event: DragEvent) => {
      setOver(false)
      if (!event.dataTransfer?.files.length) return
      event.preventDefault()
      latest.current(event.dataTransfer.files)
    }
    addEventListener('dragover', onOver)
    addEventListener('dragleave', onLeave)
    addEventListener('drop', onDrop)
    return () => {
      removeEventListener('dragover', onOver)
      removeEventListener('dragleave', onLeave)
      removeEventListener('drop', onDrop)
    }
  }, [])
}

function fit(field: HTMLTextAreaElement | null): void {
  if (!field) return
  field.style.height = 'auto'
  field.style.height = `${Math.min(field.scrollHeight, Math.round(innerHeight * 0.4))}px`
}

function AttachmentList({ bag }: { bag: Attachments }) {
  if (!bag.all.value.length) return null
  return <ul class="attachments" aria-label="Attachments">{bag.all.value.map((one) => <li key={one.key}><AttachmentView one={one} onRemove={() => bag.remove(one.key)} /></li>)}</ul>
}

function AttachmentView({ one, onRemove }: { one: Attachment; onRemove: () => void }) {
  const percent = Math.round(one.progress * 100)
  return (
    <div class={`attachment${one.failure ? ' failed' : ''}`}>
      <Icon name={one.failure ? 'alert' : 'file'} size={14} />
      <span class="chip-name">{one.name}</span>
      {one.failure ? <span class="attachment-failure" role="alert">{one.failure}</span> : <span class="chip-size">{one.file ? sizeText(one.size) : `${percent} %`}</span>}
      {!one.file && !one.failure && <progress max={100} value={percent} aria-label={`Sending ${one.name}`} />}
      <button type="button" class="chip-remove" aria-label={`Remove ${one.name}`} onClick={onRemove}><Icon name="close" size={12} /></button>
    </div>
  )
}
