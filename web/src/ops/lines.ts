// Lines of a run (docs/formats/events.md), and what each says.
export type Line = { type: string; ts?: number } & Record<string, unknown>

const telling: Record<string, string[]> = {
  log: ['message'], step: ['name', 'status'], result: ['message'], error: ['code', 'message'], delta: ['text'], reasoning: ['text'], output: ['text'],
  file: ['event', 'path'], egress: ['method', 'host', 'status', 'refused'], call: ['name', 'args'], usage: ['input_tokens', 'output_tokens'],
  custom: ['name', 'value'], subagent: ['name', 'status'], subagent_text: ['text'], queued: ['position'], approval_required: ['reason'], resumed: ['decision'],
}

// What a line says, in one.
export function sayingOf(line: Line): string {
  const members = telling[line.type] ?? Object.keys(line).filter((name) => name !== 'type' && name !== 'ts')
  const parts = members.map((name) => line[name]).filter((value) => value !== undefined && value !== null)
  if (line.type === 'step' && line.status === 'running' && line.args) parts.push(line.args)
  return parts.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join(' ').replace(/\s+/g, ' ').slice(0, 400)
}
