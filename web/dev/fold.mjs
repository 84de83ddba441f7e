// A persisted message from the frames of its stream, written apart from src/chat/fold.ts so that the two can judge
// each other.
const outputBytesMax = 16 * 1024
const cutNote = "\n… (cut here; the run's trace has all of it)"

export function messageOf(frames, about) {
  const blocks = []
  const last = () => blocks[blocks.length - 1]
  const grow = (type, text) => {
    if (last()?.type === type) last().text += text
    else blocks.push({ type, text })
  }
  const find = (type, key, value) => blocks.find((block) => block.type === type && block[key] === value)
  for (const { event, data } of frames) {
    if (event === 'delta') grow('text', data.text)
    else if (event === 'reasoning') grow('reasoning', data.text)
    else if (event === 'replace') takeBack(blocks, data.keptBytes)
    else if (event === 'step') {
      const { ts, ...said } = data
      const known = find('step', 'id', data.id)
      for (const member of ['result', 'error', 'durationMs']) if (known) delete known[member]
      if (known) Object.assign(known, said)
      else blocks.push({ type: 'step', ...said })
    } else if (event === 'output') {
      const step = find('step', 'id', data.id)
      if (step) step.output = bounded(step.output ?? '', data.text)
    } else if (event === 'file') {
      const block = find('files', 'type', 'files') ?? blocks[blocks.push({ type: 'files', files: [] }) - 1]
      const known = block.files.find((file) => file.path === data.path)
      if (known) known.type = data.type
      else block.files.push({ type: data.type, path: data.path })
    } else if (event === 'diff') {
      const known = find('diff', 'type', 'diff')
      if (known) known.diff = data.diff
      else blocks.push({ type: 'diff', diff: data.diff })
    }
    else if (event === 'approval') {
      const known = find('approval', 'approvalId', data.approvalId)
      if (known) Object.assign(known, data)
      else blocks.push({ type: 'approval', ...data })
    } else if (event === 'custom' && data.name === 'sluice.run-diff') {
      const known = find('run_diff', 'type', 'run_diff')
      if (known) known.diff = data.value.diff
      else blocks.push({ type: 'run_diff', diff: data.value.diff })
    } else if (event === 'custom') blocks.push(data.name === 'sluice.assets' ? { type: 'assets', files: data.value.files } : { type: 'tool_output', name: data.name, value: data.value })
    else if (event === 'subagent') {
      const { text, ...said } = data
      const known = find('subagent', 'id', data.id) ?? blocks[blocks.push({ type: 'subagent' }) - 1]
      Object.assign(known, said)
      if (text) known.text = bounded(known.text ?? '', text)
    }
  }
  return { id: about.id, role: 'assistant', content: blocks, fileAttachments: [], createdAt: about.createdAt, status: about.status, ...(about.error ? { error: about.error } : {}), ...(about.usage ? { usage: about.usage } : {}) }
}

function bounded(kept, more) {
  if (kept.endsWith(cutNote)) return kept
  const bytes = Buffer.from(kept + more)
  return bytes.length <= outputBytesMax ? kept + more : bytes.subarray(0, outputBytesMax).toString() + cutNote
}

function takeBack(blocks, keptBytes) {
  let left = keptBytes
  for (let i = 0; i < blocks.length; i++) {
    if (blocks[i].type !== 'text') continue
    const bytes = Buffer.from(blocks[i].text)
    blocks[i].text = bytes.subarray(0, Math.max(0, left)).toString()
    left -= bytes.length
    if (!blocks[i].text) blocks.splice(i--, 1)
  }
}
