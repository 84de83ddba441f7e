// A chat with an agent of Sluice's, by TanStack AI's React client: streaming text, thoughts and tool calls, approvals,
// a tool that runs in this page, and a reload in the middle of a run.
import { fetchServerSentEvents, useChat } from '@tanstack/ai-react'
import { toolDefinition } from '@tanstack/ai/client'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { sendsOnEnter, thread } from '../thread.js'

// The agent may call it; the page carries it out.
const pageTitle = toolDefinition({
  name: 'page_title',
  description: 'The title of the page that the user looks at.',
  inputSchema: { type: 'object', properties: {} },
}).client(() => ({ title: document.title }))

const words = { asked: 'The agent waits for your answer.', running: 'The agent works …', idle: 'Ready.' }

function Part({ part }) {
  if (part.type === 'text') return <div>{part.content}</div>
  if (part.type === 'thinking') return <div className="thinking">{part.content}</div>
  if (part.type === 'tool-call') return <div className="tool">{`${part.name} ${part.arguments}`}</div>
  if (part.type === 'tool-result') return <div className="tool">{String(part.content)}</div>
  return null
}

function Approval({ interrupt }) {
  return (
    <div className="approval" role="alertdialog" aria-label="Approval">
      <p>{interrupt.message ?? 'The agent asks for your leave.'}</p>
      <button onClick={() => interrupt.resolveInterrupt({ approved: true })}>Approve</button>
      <button onClick={() => interrupt.resolveInterrupt({ approved: false })}>Deny</button>
    </div>
  )
}

function Chat() {
  const chat = useChat({
    connection: fetchServerSentEvents('/agui'),
    threadId: thread,
    persistence: true,
    tools: [pageTitle],
  })
  const [draft, setDraft] = useState('')
  const asked = chat.interrupts.filter((interrupt) => interrupt.canResolve && interrupt.kind !== 'client-tool-execution')
  const state = asked.length > 0 ? 'asked' : chat.isLoading ? 'running' : 'idle'
  const send = (event) => {
    event.preventDefault()
    if (draft.trim() === '' || state === 'asked') return
    chat.sendMessage(draft)
    setDraft('')
  }
  return (
    <main>
      <h1>Sluice and TanStack AI</h1>
      <div aria-live="polite">
        {chat.messages.map((message) => (
          <div key={message.id} className={`message ${message.role}`}>
            {message.parts.map((part, index) => <Part key={index} part={part} />)}
          </div>
        ))}
      </div>
      {asked.map((interrupt) => <Approval key={interrupt.id} interrupt={interrupt} />)}
      {chat.error && <p className="error" role="alert">{chat.error.message}</p>}
      <p className="status" data-status={state}>{words[state]}</p>
      <form onSubmit={send}>
        <textarea aria-label="Message" rows="2" value={draft} onChange={(event) => setDraft(event.target.value)}
          onKeyDown={sendsOnEnter} />
        <button>Send</button>
      </form>
    </main>
  )
}

createRoot(document.getElementById('root')).render(<Chat />)
