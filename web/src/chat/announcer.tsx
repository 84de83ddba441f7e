// Reads the answer aloud, for those who listen: whole sentences, not words, and not too often.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Conversation } from './conversation'
import { textOf } from './rows'

const everyMs = 2500
const longest = 600

export function Announcer({ conversation }: { conversation: Conversation }) {
  const [said, setSaid] = useState('')
  const state = useRef({ streamId: '', told: 0, step: '', approval: '', at: 0 })
  useEffect(() => {
    const look = () => {
      const turn = conversation.turn.peek()
      const now = state.current
      if (!turn) {
        if (now.streamId) {
          const last = conversation.messages.peek().at(-1)
          const rest = last ? textOf(last.content).slice(now.told) : ''
          setSaid(`${spoken(rest)} ${last?.status === 'failed' ? 'The answer failed.' : last?.status === 'cancelled' ? 'Stopped.' : 'The answer is complete.'}`)
          state.current = { streamId: '', told: 0, step: '', approval: '', at: 0 }
        }
        return
      }
      if (now.streamId !== turn.streamId) state.current = { streamId: turn.streamId, told: 0, step: '', approval: '', at: 0 }
      const next = news(state.current, turn.message.content)
      if (next) setSaid(next)
    }
    const timer = setInterval(look, everyMs)
    return () => clearInterval(timer)
  }, [conversation])
  return <div class="hidden" role="status" aria-live="polite">{said}</div>
}

function news(state: { told: number; step: string; approval: string }, content: Parameters<typeof textOf>[0]): string {
  const last = content[content.length - 1]
  if (last?.type === 'approval' && last.status === 'pending' && last.approvalId !== state.approval) {
    state.approval = last.approvalId
    return `Your approval is needed: ${last.reason}`
  }
  const text = textOf(content)
  const fresh = text.slice(state.told)
  const end = Math.max(fresh.lastIndexOf('. '), fresh.lastIndexOf('.\n'), fresh.lastIndexOf('\n\n'), fresh.lastIndexOf('? '), fresh.lastIndexOf('! '))
  if (end >= 0) {
    state.told += end + 1
    return spoken(fresh.slice(0, end + 1))
  }
  if (last?.type === 'step' && last.status === 'running' && last.id !== state.step) {
    state.step = last.id
    return `Running ${last.name}`
  }
  return ''
}

function spoken(text: string): string {
  const plain = text.replace(/```[\s\S]*?(```|$)/g, ' Code. ').replace(/[*_`#>|~]+/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').trim()
  return plain.length > longest ? `${plain.slice(0, longest)}…` : plain
}
