// What the list of runs is narrowed to. All of it is in the address, so that a list can be sent to somebody.
import { useState } from 'preact/hooks'
import { setQuery } from '../router'
import { Button, Icon, Select, TextField } from '../ui/ui'
import { ranges, states } from './filters'
import type { Agent } from './types'
import { shortId, stateWords } from './words'

const isConversation = /^con_[0-9a-z]{26}$/

export function RunFilters({ query, agents }: { query: URLSearchParams; agents: Agent[] }) {
  const conversation = query.get('conversation')
  const any = ['state', 'agent', 'conversation', 'range'].some((name) => query.has(name))
  const known = agents.some((agent) => agent.id === query.get('agent')) || !query.get('agent')
  return (
    <div class="filters" role="search" aria-label="Filter the runs">
      <Select label="State" value={query.get('state') ?? ''} onValue={(state) => setQuery({ state })}
        options={[{ value: '', label: 'All' }, { value: 'live', label: 'Not over' }, ...states.map((state) => ({ value: state, label: stateWords[state] }))]} />
      <Select label="Agent" value={query.get('agent') ?? ''} onValue={(agent) => setQuery({ agent })}
        options={[{ value: '', label: 'All' }, ...(known ? [] : [{ value: query.get('agent')!, label: shortId(query.get('agent')!) }]), ...agents.map((agent) => ({ value: agent.id, label: agent.name }))]} />
      <Select label="Created" value={query.get('range') ?? ''} onValue={(range) => setQuery({ range, from: null, to: null })} options={ranges} />
      {query.get('range') === 'custom' && <>
        <TextField label="From" type="datetime-local" value={query.get('from') ?? ''} onText={(from) => setQuery({ from })} />
        <TextField label="To" type="datetime-local" value={query.get('to') ?? ''} onText={(to) => setQuery({ to })} />
      </>}
      {conversation
        ? <div class="field"><span class="field-label">Conversation</span><button type="button" class="chosen-filter" onClick={() => setQuery({ conversation: null })}><span class="mono" title={conversation}>{shortId(conversation)}</span><Icon name="close" label="Show all conversations" size={14} /></button></div>
        : <ConversationField />}
      {any && <Button kind="quiet" icon="close" onClick={() => setQuery({ state: null, agent: null, conversation: null, range: null, from: null, to: null })}>Clear</Button>}
    </div>
  )
}

// Asked for when it is a whole id, and not at each letter.
function ConversationField() {
  const [text, setText] = useState('')
  const told = text.trim()
  return (
    <TextField label="Conversation" value={text} placeholder="con_…" spellcheck={false} error={told.length >= 30 && !isConversation.test(told) ? 'An id: con_ and 26 characters' : undefined}
      onText={(typed) => { setText(typed); if (isConversation.test(typed.trim())) setQuery({ conversation: typed.trim() }) }} />
  )
}
