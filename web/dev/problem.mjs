// Answers, as the server words them.
export function problem(response, status, slug, detail, more = {}) {
  const body = { type: `http://127.0.0.1/problems/${slug}`, title: detail.split('.')[0], status, detail, request_id: 'req_fake', ...more }
  response.writeHead(status, { 'Content-Type': 'application/problem+json' })
  response.end(JSON.stringify(body))
}

export function json(response, status, body, headers = {}) {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...headers })
  response.end(body === undefined ? '' : JSON.stringify(body))
}

export async function bytesOf(request) {
  const parts = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts)
}

export async function jsonOf(request) {
  const bytes = await bytesOf(request)
  return bytes.length ? JSON.parse(bytes.toString('utf8')) : {}
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
let counted = 0

// Sorts by time, as the server's ids do.
export function id(prefix) {
  let number = BigInt(Date.now()) * 100000n + BigInt(counted++)
  let text = ''
  for (let i = 0; i < 26; i++, number /= 32n) text = alphabet[Number(number % 32n)] + text
  return `${prefix}_${text}`
}
