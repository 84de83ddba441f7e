// What a skill is uploaded as: a gzipped tar as it is, or the files of a folder.
import { headersFor, problemOf, withToken } from '../api'

export interface BundleFile { path: string; content?: string; content_base64?: string; executable?: boolean }

// The paths of a folder's files without the folder's own name; what version control and systems leave behind stays out.
export function pathsInside(relative: string[]): (string | null)[] {
  const roots = new Set(relative.map((path) => path.split('/')[0]))
  const strip = roots.size === 1 && relative.every((path) => path.includes('/'))
  return relative.map((path) => {
    const inside = strip ? path.slice(path.indexOf('/') + 1) : path
    return inside.split('/').some((part) => part === '.git' || part === '.DS_Store' || part === 'node_modules') ? null : inside
  })
}

export async function filesOf(files: File[]): Promise<BundleFile[]> {
  const paths = pathsInside(files.map((file) => file.webkitRelativePath || file.name))
  const read = files.map(async (file, i): Promise<BundleFile | null> => {
    const path = paths[i]
    if (!path) return null
    const bytes = new Uint8Array(await file.arrayBuffer())
    const isScript = bytes[0] === 0x23 && bytes[1] === 0x21 // "#!"
    return { path, content_base64: base64(bytes), ...(isScript ? { executable: true } : {}) }
  })
  return (await Promise.all(read)).filter((file) => file !== null)
}

export function base64(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000))
  return btoa(text)
}

// As application/gzip; the JSON calls of api.ts cannot.
export function sendBundle<T>(method: 'POST' | 'PUT', path: string, bundle: Blob): Promise<T> {
  return withToken(async () => {
    const answer = await fetch(path, { method, body: bundle, credentials: 'same-origin', headers: { ...headersFor({ method }), 'Content-Type': 'application/gzip' } })
    if (!answer.ok) throw await problemOf(answer)
    return (await answer.json()) as T
  })
}
