// A persisted message from the frames of its stream, written apart from src/chat/fold.ts so that the two can judge
// each other.
const outputBytesMax = 16 * 1024

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
      if (known) Object.assign(known, said)
      else blocks.push({ type: 'step', ...said })
    } else if (event === 'output') {
      const step = find('step', 'id', data.id)
      if (step) step.output = Buffer.from((step.output ?? '') + data.text).subarray(0, outputBytesMax).toString()
    } else if (event === 'file') {
      const block = find('files', 'type', 'files') ?? blocks[blocks.push({ type: 'files', files: [] }) - 1]
      const known = block.files.find((file) => file.path === data.path)
      if (known) known.type = data.type
      else block.files.push({ type: data.type, path: data.path })
    } else if (event === 'diff') blocks.push({ type: 'diff', diff: data.diff })
    else if (event === 'approval') {
      const known = find('approval', 'approvalId', data.approvalId)
      if (known) Object.assign(known, data)
      else blocks.push({ type: 'approval', ...data })
    } else if (event === 'custom') blocks.push({ type: 'tool_output', name: data.name, value: data.value })
    else if (event === 'subagent') {
      const known = find('subagent', 'id', data.id)
      if (known) Object.assign(known, data)
      else blocks.push({ type: 'subagent', ...data })
    }
  }
  if (about.assets?.length) blocks.push({ type: 'assets', files: about.assets })
  return { id: about.id, role: 'assistant', content: blocks, fileAttachments: [], createdAt: about.createdAt, status: about.status, ...(about.error ? { error: about.error } : {}), ...(about.usage ? { usage: about.usage } : {}) }
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
