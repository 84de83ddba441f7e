// Tables as CSV (RFC 4180). A cell that a spreadsheet would take for a formula gets an apostrophe: the author of
// a row must not run formulas in the reader's program.
const isFormula = /^[=+\-@\t\r]/

export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const plain = typeof value === 'string' ? value : JSON.stringify(value)
  const safe = isFormula.test(plain) ? `'${plain}` : plain
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export const csvLine = (cells: unknown[]): string => `${cells.map(csvCell).join(',')}\r\n`

export function csvOf(columns: string[], rows: Record<string, unknown>[]): string {
  return csvLine(columns) + rows.map((row) => csvLine(columns.map((name) => row[name]))).join('')
}

export function save(name: string, type: string, parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
