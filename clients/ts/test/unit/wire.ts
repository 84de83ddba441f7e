// Lines as a server writes them.
import type { Message } from '@sluice/client'

export const text = 'Grüße aus 東京 – 😀 done.'

export const message: Message = {
  object: 'message', id: 'msg_1', conversation_id: 'con_1', role: 'assistant', content: text, parts: [{ type: 'text', text }],
  repository_id: null, skill_ids: null, env: null, status: 'completed', usage: { input_tokens: 3, output_tokens: 4 },
  created_at: '2026-07-02T10:00:01.000Z',
}

export function line(seq: number, type: string, data: object, messageId: string | null = 'msg_1'): string {
  return JSON.stringify({
    object: 'conversation.event', type, conversation_id: 'con_1', message_id: messageId, seq, data, created_at: '2026-07-02T10:00:01.000Z',
  }) + '\n'
}

export const start = (seq = 0) => line(seq, 'message_start', { role: 'assistant' })
export const delta = (seq: number, words: string) => line(seq, 'content_delta', { text: words })
export const end = (seq: number) => line(seq, 'message_end', { message })
export const failure = (seq: number, slug = 'model-error') =>
  line(seq, 'error', { type: `http://x/problems/${slug}`, title: 'The model failed', status: 502 })

/** message_start, three deltas that make up the text, message_end: seq 0 to 4. */
export const whole = start() + delta(1, 'Grüße aus ') + delta(2, '東京 – ') + delta(3, '😀 done.') + end(4)
