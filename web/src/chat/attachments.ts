// Files on their way up: each shows how far it is, can be taken back, and says in words why it was refused.
import { signal } from '@preact/signals'
import { api, Problem, session, withToken, wordsOf } from '../api'
import { sizeText } from '../ui/words'
import type { BagFile } from './types'

export interface Attachment {
  key: number
  name: string
  size: number
  progress: number // 0 to 1
  file: BagFile | null // once it is there
  failure: string
  cancel: () => void
}

const attachmentsMax = 20
const bytesMax = 512 * 1024 * 1024 // what no server takes; what this one takes it says itself
let next = 1

export class Attachments {
  readonly all = signal<Attachment[]>([])

  get ready(): BagFile[] { return this.all.value.flatMap((one) => (one.file ? [one.file] : [])) }
  get busy(): boolean { return this.all.value.some((one) => !one.file && !one.failure) }

  add(files: Iterable<File>, chatId: string | null): void {
    for (const file of files) {
      const refusal = this.refusal(file)
      const key = next++
      const one: Attachment = { key, name: file.name || 'pasted file', size: file.size, progress: 0, file: null, failure: refusal, cancel: () => {} }
      this.all.value = [...this.all.value, one]
      if (refusal) continue
      const stop = new AbortController()
      this.change(key, { cancel: () => stop.abort() })
      withToken(() => send(file, chatId, stop.signal, (progress) => this.change(key, { progress }))).then((made) => this.change(key, { file: made, progress: 1 }), (error: unknown) => this.change(key, { failure: wordsOf(error) }))
    }
  }

  private refusal(file: File): string {
    if (this.all.value.length >= attachmentsMax) return `A message takes at most ${attachmentsMax} files.`
    if (file.size > bytesMax) return `It has ${sizeText(file.size)}; at most ${sizeText(bytesMax)} are taken.`
    if (file.size === 0 && !file.type) return 'It is empty, or a folder.'
    return ''
  }

  private change(key: number, by: Partial<Attachment>): void {
    this.all.value = this.all.value.map((one) => (one.key === key ? { ...one, ...by } : one))
  }

  remove(key: number): void {
    this.discard(this.all.value.filter((other) => other.key === key))
    this.all.value = this.all.value.filter((other) => other.key !== key)
  }

  // Empties it. If sending fails, the caller puts the content back.
  take(): Attachment[] {
    const taken = this.all.value
    this.all.value = []
    return taken
  }

  // What was taken and is not sent is deleted on the server too.
  discard(taken: Attachment[]): void {
    for (const one of taken) {
      one.cancel()
      if (one.file) void api.delete(one.file.url).catch(() => {})
    }
  }

  putBack(taken: Attachment[]): void { this.all.value = [...taken, ...this.all.value] }
}

// XMLHttpRequest, because fetch does not tell how much was sent.
function send(file: File, chatId: string | null, stop: AbortSignal, onProgress: (part: number) => void): Promise<BagFile> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', chatId ? `/api/assistant/chats/${chatId}/files` : '/api/assistant/files')
    request.responseType = 'json'
    request.setRequestHeader('X-CSRF-Token', session.value?.csrfToken ?? '')
    request.upload.onprogress = (event) => { if (event.lengthComputable) onProgress(event.loaded / event.total) }
    request.onload = () => {
      const body = (request.response ?? {}) as { files?: BagFile[] } & Record<string, unknown>
      if (request.status === 201 && body.files?.[0]) resolve(body.files[0])
      else reject(new Problem(request.status, body))
    }
    request.onerror = () => reject(new Error('The connection broke while it was sent.'))
    stop.addEventListener('abort', () => request.abort())
    const form = new FormData()
    form.append('files', file, file.name || 'pasted')
    request.send(form)
  })
}
