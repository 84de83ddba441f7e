// A chat with an agent of Sluice's, by AG-UI's own client and no framework: streaming text, thoughts and tool calls,
// approvals as interrupts, and a tool that runs in this page.
import { HttpAgent } from '@ag-ui/client'
import { sendsOnEnter, thread } from '../thread.js'

const agent = new HttpAgent({ url: new URL('/agui', location.href).href, threadId: thread })
const tools = [{
  name: 'page_title',
  description: 'The title of the page that the user looks at.',
  parameters: { type: 'object', properties: {} },
}]
const carriedOut = { page_title: () => ({ title: document.title }) }

const at = (id) => document.getElementById(id)
const element = (kind, className, text) => Object.assign(document.createElement(kind), { className, textContent: text })

function show() {
  const boxes = agent.messages.map((message) => {
    const box = element('div', `message ${message.role === 'user' ? 'user' : 'assistant'}`, '')
    if (message.role === 'reasoning') box.append(element('div', 'thinking', message.content))
    else if (message.role === 'tool') box.append(element('div', 'tool', message.content))
    else if (message.content) box.append(element('div', '', message.content))
    for (const call of message.toolCalls ?? []) {
      box.append(element('div', 'tool', `${call.function.name} ${call.function.arguments}`))
    }
    return box
  })
  at('messages').replaceChildren(...boxes)
}

function status(word, text) {
  at('status').dataset.status = word
  at('status').textContent = text
}

// Asks the user, and gives the answers that the next run brings along.
function ask(interrupts) {
  status('asked', 'The agent waits for your answer.')
  return Promise.all(interrupts.map((interrupt) => new Promise((answered) => {
    const card = element('div', 'approval', '')
    card.setAttribute('role', 'alertdialog')
    card.append(element('p', '', interrupt.message ?? 'The agent asks for your leave.'))
    for (const [word, approved] of [['Approve', true], ['Deny', false]]) {
      const button = element('button', '', word)
      button.onclick = () => {
        card.remove()
        answered({ interruptId: interrupt.id, status: 'resolved', payload: { approved } })
      }
      card.append(button)
    }
    at('asked').append(card)
  })))
}

async function run(more = {}) {
  let end
  status('running', 'The agent works …')
  await agent.runAgent({ tools, ...more }, {
    onMessagesChanged: show,
    onRunFinishedEvent: ({ event }) => { end = event.outcome },
  })
  show()
  if (end?.type === 'interrupt') return run({ resume: await ask(end.interrupts) })
  const pending = new Set(end?.pendingToolCallIds ?? [])
  const calls = agent.messages.flatMap((message) => message.toolCalls ?? []).filter((call) => pending.has(call.id))
  for (const call of calls) {
    const result = carriedOut[call.function.name]?.(JSON.parse(call.function.arguments)) ?? { error: 'no such tool' }
    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: call.id, content: JSON.stringify(result) })
  }
  if (calls.length > 0) return run()
}

async function send(text) {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text })
  show()
  at('status').classList.remove('error')
  try {
    await run()
    status('idle', 'Ready.')
  } catch (error) {
    status('idle', error.message)
    at('status').classList.add('error')
  }
}

at('draft').onkeydown = sendsOnEnter
at('form').onsubmit = (event) => {
  event.preventDefault()
  const text = at('draft').value.trim()
  if (text === '' || at('status').dataset.status !== 'idle') return
  at('draft').value = ''
  send(text)
}
