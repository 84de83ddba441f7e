// The list of chats beside the thread.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../api'
import { useKeys } from '../keys'
import { useEvery } from '../load'
import { recoveries } from '../reach'
import { Link, navigate } from '../router'
import { Button, IconButton } from '../ui/controls'
import { Confirm } from '../ui/dialog'
import { ago, Loading, Trouble } from '../ui/words'
import { useWindow } from '../ui/windowing'
import { chats, chatsFailure, forgetChat, loadChats, loadMoreChats, moreChats, noteChat, waits } from './chats'
import { RenameDialog } from './rename'
import type { Chat } from './types'

const rowHeight = 52
const everyMs = 10_000

export function ChatList({ current, onChosen }: { current: string | null; onChosen: () => void }) {
  const box = useRef<HTMLDivElement>(null)
  const [renaming, setRenaming] = useState<Chat | null>(null)
  const [removing, setRemoving] = useState<Chat | null>(null)
  useEffect(() => { void loadChats() }, [recoveries.value])
  useEvery(everyMs, () => void loadChats())
  const all = chats.value ?? []
  const seen = useWindow(box, all.length, rowHeight)
  useEffect(() => { if (all.length && seen.to >= all.length && moreChats.value) void loadMoreChats() }, [seen.to, all.length])
  const step = (by: number) => {
    const at = all.findIndex((chat) => chat.id === current)
    const next = all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))]
    if (next) navigate(`/chat/${next.id}`)
  }
  const begin = () => {
    navigate('/chat')
    onChosen()
    requestAnimationFrame(() => document.querySelector<HTMLElement>('.composer textarea')?.focus())
  }
  useKeys({ j: () => step(1), k: () => step(-1), n: begin })
  return (
    <aside class="chat-list" aria-label="Chats">
      <header>
        <h2>Chats</h2>
        <Button small kind="primary" icon="plus" onClick={begin}>New</Button>
      </header>
      <div class="chat-rows" ref={box}>
        {chats.value === null && (chatsFailure.value ? <Trouble error={chatsFailure.value} retry={() => void loadChats()} /> : <Loading />)}
        {chats.value?.length === 0 && <p class="chat-none">Chats you begin are listed here.</p>}
        <ul style={{ paddingTop: `${seen.before}px`, paddingBottom: `${seen.after}px` }}>
          {all.slice(seen.from, seen.to).map((chat) => (
            <ChatRow key={chat.id} chat={chat} isCurrent={chat.id === current} onChosen={onChosen} onRename={() => setRenaming(chat)} onRemove={() => setRemoving(chat)} />
          ))}
        </ul>
      </div>
      {renaming && <RenameDialog title={renaming.title} onClose={() => setRenaming(null)} onRename={async (title) => {
        await api.patch(`/api/assistant/chats/${renaming.id}`, { title })
        noteChat({ id: renaming.id, title })
      }} />}
      {removing && <RemoveChat chat={removing} isCurrent={removing.id === current} onClose={() => setRemoving(null)} />}
    </aside>
  )
}

interface RowProps { chat: Chat; isCurrent: boolean; onChosen: () => void; onRename: () => void; onRemove: () => void }

function ChatRow({ chat, isCurrent, onChosen, onRename, onRemove }: RowProps) {
  return (
    <li class="chat-row">
      <Link to={`/chat/${chat.id}`} aria-current={isCurrent ? 'page' : undefined} onClick={onChosen}>
        <span class="chat-title">{chat.title || 'Untitled'}</span>
        <span class="chat-when">{chat.running ? <Working id={chat.id} /> : ago(chat.updatedAt)}</span>
      </Link>
      <span class="chat-tools">
        <IconButton icon="pencil" label={`Rename ${chat.title}`} onClick={onRename} />
        <IconButton icon="trash" label={`Delete ${chat.title}`} onClick={onRemove} />
      </span>
    </li>
  )
}

function Working({ id }: { id: string }) {
  const wait = waits.value.get(id)
  if (wait === 'approval') return <span class="chat-wait">needs you</span>
  return wait === 'slot' ? <>queued</> : <><span class="live-dot" /> answering</>
}

export function RemoveChat({ chat, isCurrent, onClose }: { chat: { id: string; title: string; running: unknown }; isCurrent: boolean; onClose: () => void }) {
  return (
    <Confirm title="Delete this chat?" action="Delete chat" onClose={onClose} onConfirm={async () => {
      await api.delete(`/api/assistant/chats/${chat.id}`)
      forgetChat(chat.id)
      if (isCurrent) navigate('/chat')
    }}>
      <p>“{chat.title}” and its files will be gone{chat.running ? ', and the answer that is being written is stopped first' : ''}.</p>
    </Confirm>
  )
}
