// Chat: the list of chats, a thread, and its files.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Page } from '../api'
import { navigationOpen } from '../app/navigation'
import { Beginning, type Agent } from '../chat/beginning'
import { ChatList, RemoveChat } from '../chat/chat-list'
import { chats } from '../chat/chats'
import { Composer } from '../chat/composer'
import { Conversation } from '../chat/conversation'
import { FilesPanel } from '../chat/files-panel'
import { RenameDialog } from '../chat/rename'
import { onTabs } from '../chat/tabs'
import { Thread } from '../chat/thread'
import { useKeys } from '../keys'
import { useLoad } from '../load'
import type { PageProps } from '../pages'
import { recoveries } from '../reach'
import { navigate } from '../router'
import { IconButton } from '../ui/controls'
import { useTitle } from '../ui/page'

export default function ChatPage({ params }: PageProps) {
  const conversation = useConversation(params.id ?? null)
  const agents = useLoad((stop) => api.get<Page<Agent>>('/v1/agents', { limit: 100 }, stop))
  const [agentId, setAgentId] = useState<string | null>(null)
  const [draft, setDraft] = useState({ text: '', turn: 0 })
  const [listOpen, setListOpen] = useState(false)
  const [filesOpen, setFilesOpen] = useState(false)
  const known = agents.data?.data ?? []
  const agent = known.find((one) => one.id === (conversation.agentId.value ?? agentId)) ?? known.find((one) => one.is_default) ?? known[0] ?? null
  useTitle(conversation.title.value || 'Chat')
  useKeys({ f: () => setFilesOpen((is) => !is), Escape: () => { setListOpen(false); setFilesOpen(false) } })
  const isNew = conversation.id.value === null
  return (
    <div class={`chat${filesOpen ? ' with-files' : ''}${listOpen ? ' with-list' : ''}`}>
      <ChatList current={conversation.id.value} onChosen={() => setListOpen(false)} />
      {listOpen && <div class="chat-curtain" onClick={() => setListOpen(false)} />}
      <section class="conversation" aria-label="Conversation">
        <Head conversation={conversation} agent={agent} filesOpen={filesOpen} onFiles={() => setFilesOpen(!filesOpen)} onList={() => setListOpen(true)} />
        <Thread key={conversation.key} conversation={conversation} empty={<Beginning agent={agent} onExample={(text) => setDraft({ text, turn: draft.turn + 1 })} />} />
        <Composer key={`composer-${conversation.key}`} conversation={conversation} agentId={agent?.id ?? null} draft={draft}
          choice={isNew && known.length > 1 && <AgentChoice agents={known} value={agent?.id ?? ''} onValue={setAgentId} />} />
      </section>
      {filesOpen && <FilesPanel conversation={conversation} onClose={() => setFilesOpen(false)} />}
    </div>
  )
}

// The conversation of the address. A new one that got its id stays the same object: its stream goes on.
function useConversation(chatId: string | null): Conversation {
  const held = useRef<Conversation | null>(null)
  if (!held.current || held.current.id.peek() !== chatId) {
    held.current?.close()
    held.current = new Conversation(chatId)
    held.current.onOpened = (id) => navigate(`/chat/${id}`, 'replace')
  }
  const conversation = held.current
  useEffect(() => () => held.current?.close(), [])
  useEffect(() => { if (recoveries.value) void conversation.load() }, [recoveries.value])
  useEffect(() => onTabs((news) => { if (news.chatId === conversation.id.peek()) conversation.heard() }), [conversation])
  const listed = chats.value?.find((chat) => chat.id === conversation.id.value)
  const news = `${listed?.running} ${listed?.updatedAt}`
  const told = useRef(news)
  useEffect(() => {
    if (told.current !== news && listed) conversation.heard()
    told.current = news
  }, [conversation, news])
  return conversation
}

interface HeadProps { conversation: Conversation; agent: Agent | null; filesOpen: boolean; onFiles: () => void; onList: () => void }

function Head({ conversation, agent, filesOpen, onFiles, onList }: HeadProps) {
  const [renaming, setRenaming] = useState(false)
  const [removing, setRemoving] = useState(false)
  const id = conversation.id.value
  const title = conversation.title.value
  return (
    <header class="chat-head">
      <IconButton icon="menu" label="Open the navigation" class="narrow-only" onClick={() => { navigationOpen.value = true }} />
      <IconButton icon="list" label="Show the list of chats" class="narrow-only" onClick={onList} />
      <div class="chat-head-title">
        <h1>{title || (id ? 'Chat' : 'New chat')}</h1>
        {agent && id && <span class="faint">{agent.name}</span>}
      </div>
      {id && <IconButton icon="pencil" label="Rename this chat" class="wide-tool" onClick={() => setRenaming(true)} />}
      {id && <IconButton icon="trash" label="Delete this chat" class="wide-tool" onClick={() => setRemoving(true)} />}
      {id && <IconButton icon="panel" label={filesOpen ? 'Hide the files' : 'Show the files'} aria-pressed={filesOpen} onClick={onFiles} />}
      {renaming && <RenameDialog title={title} onClose={() => setRenaming(false)} onRename={(next) => conversation.rename(next)} />}
      {removing && <RemoveChat chat={{ id: id!, title, running: conversation.turn.value }} isCurrent onClose={() => setRemoving(false)} />}
    </header>
  )
}

function AgentChoice({ agents, value, onValue }: { agents: Agent[]; value: string; onValue: (id: string) => void }) {
  return (
    <select class="agent-choice" aria-label="Agent" value={value} onChange={(event) => onValue(event.currentTarget.value)}>
      {agents.map((agent) => <option key={agent.id} value={agent.id}>{agent.name}</option>)}
    </select>
  )
}
