// Text that is made readable: estimates, and what programs print.

// A rough estimate: nobody waits 61 seconds.
export function aboutText(seconds: number): string {
  const [amount, unit] = seconds < 90 ? [Math.max(1, Math.round(seconds)), 'second'] : [Math.round(seconds / 60), 'minute']
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`
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
