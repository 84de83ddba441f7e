// Text that is made readable: sentences of the server, and what programs print.

// A sentence of the server in parts: what stands between backticks is code.
export function sentenceParts(sentence: string): { text: string; isCode: boolean }[] {
  return sentence.split(/`([^`]+)`/).map((text, i) => ({ text, isCode: i % 2 === 1 })).filter((part) => part.text)
}

// What an error adds to an output that is shown beside it.
export function errorBeyond(error: string, output: string): string {
  const [told, printed] = [error.trim(), output.trim()]
  return printed && told.startsWith(printed) ? told.slice(printed.length).trim() : told
}

// What a terminal would show of it: without colours, and with lines that were written over as they ended up.
export function printedText(output: string): string {
  const plain = output.replace(escapes, '').replace(/\r+\n/g, '\n')
  if (!/[\r\b]/.test(plain)) return plain
  return plain.split('\n').map(overwritten).join('\n')
}

// CSI and OSC sequences, and the short ones.
// eslint-disable-next-line no-control-regex
const escapes = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])/g

function overwritten(line: string): string {
  const shown: string[] = []
  let at = 0
  for (const letter of line) {
    if (letter === '\r') at = 0
    else if (letter === '\b') at = Math.max(0, at - 1)
    else shown[at++] = letter
  }
  return shown.join('')
}
