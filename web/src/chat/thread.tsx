// The messages of a chat, from top to bottom, and the view that follows them.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../ui/controls'
import { toastError } from '../ui/toast'
import { Loading, Trouble } from '../ui/words'
import { Announcer } from './announcer'
import type { Conversation } from './conversation'
import { ConversationFiles } from './file-link'
import { Answer, UserMessage } from './message'
import type { Message } from './types'

const nearPx = 90 // this close to the end, the view follows what comes
const awayPx = 300 // this far from it, a button leads back

const blocksKept = 240 // a shorter thread is in the document whole

const blocksIn = (messages: Message[]) => messages.reduce((sum, message) => sum + message.content.length, 0)

export function Thread({ conversation, empty }: { conversation: Conversation; empty: preact.ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null)
  const follows = useRef(true)
  const [away, setAway] = useState(false)
  const messages = conversation.messages.value
  const turn = conversation.turn.value
  const tick = conversation.tick.value
  const link = conversation.link.value
  const virtual = blocksIn(messages) + (turn?.message.content.length ?? 0) > blocksKept
  useLayoutEffect(() => {
    const element = box.current
    if (element && follows.current) element.scrollTop = element.scrollHeight
  }, [messages, turn, tick, link])
  useEffect(() => {
    const column = box.current?.firstElementChild
    if (!column) return
    const grown = new ResizeObserver(() => { if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight })
    grown.observe(column)
    return () => grown.disconnect()
  }, [messages.length > 0 || turn !== null])
  // Opening a part keeps the view where it is.
  const onClick = (event: MouseEvent) => { if ((event.target as Element).closest('[aria-expanded], summary')) follows.current = false }
  const toEnd = () => {
    follows.current = true
    setAway(false)
    box.current!.scrollTop = box.current!.scrollHeight
  }
  // What was on show stays where it is: browsers hold the view only where there is something above it.
  const earlier = async () => {
    const before = box.current!.scrollHeight
    await conversation.loadEarlier()
    requestAnimationFrame(() => { if (box.current) box.current.scrollTop += box.current.scrollHeight - before })
  }
  const onScroll = () => {
    const element = box.current
    if (!element) return // it scrolled, and was gone
    const left = element.scrollHeight - element.scrollTop - element.clientHeight
    follows.current = left < nearPx
    setAway(left > awayPx)
  }
  if (conversation.failure.value && !messages.length) return <div class="thread"><div class="thread-column"><Trouble error={conversation.failure.value} retry={() => void conversation.load()} title="The chat could not be loaded" /></div></div>
  if (conversation.loading.value) return <div class="thread"><Loading what="Loading the chat" /></div>
  if (!messages.length && !turn) return <div class="thread"><div class="thread-column">{empty}</div></div>
  return (
    <ConversationFiles.Provider value={conversation.files}>
      <div class="thread" ref={box} onScroll={onScroll} onClickCapture={onClick} tabIndex={0} role="log" aria-live="off" aria-label="Messages">
        <div class="thread-column">
          {conversation.hasMore.value && <Button small kind="quiet" class="earlier" onClick={() => { earlier().catch(toastError) }}>Show earlier messages</Button>}
          {messages.map((message) => (message.role === 'user'
            ? <UserMessage key={message.id} message={message} />
            : <Answer key={message.id} message={message} turn={null} tick={0} link="live" virtual={virtual} />))}
          {turn && <Answer key={turn.message.id || 'turn'} message={turn.message} turn={turn} tick={tick} link={link} virtual={virtual} />}
        </div>
      </div>
      <div class="to-end-place">{away && <Button small icon="down" class="to-end" onClick={toEnd}>{turn ? 'Follow the answer' : 'To the end'}</Button>}</div>
      <Announcer conversation={conversation} />
    </ConversationFiles.Provider>
  )
}
