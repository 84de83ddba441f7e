// Which file of a conversation a text means by a name.
import type { BagFile, Message } from './types'

export type NamedFile = Pick<BagFile, 'name' | 'type' | 'createdAt' | 'url'>

export const isPicture = (file: NamedFile) => /^image\/(png|jpeg|gif|webp)$/.test(file.type)

// The Assistant serves pictures to be shown on request. The files of a run are served in one way only.
export const pictureUrl = (file: NamedFile) => (file.url.startsWith('/api/assistant/') ? `${file.url}?inline=1` : file.url)

// A file that a run returned, by what /v1/runs says of it.
export function runFile({ id, name, created_at }: { id: string; name: string; created_at: string }): NamedFile {
  const kind = /\.(png|jpe?g|gif|webp)$/i.exec(name)?.[1]?.toLowerCase()
  const type = kind ? `image/${kind === 'jpg' ? 'jpeg' : kind}` : 'application/octet-stream'
  return { name, type, createdAt: Date.parse(created_at), url: `/v1/files/${id}/content` }
}

export function returnedFiles(message: Message): BagFile[] {
  return message.content.flatMap((block) => (block.type === 'assets' ? block.files : []))
}

// The answer's own files go before those of other messages; of several with one name the latest.
export function fileNamed(name: string, own: NamedFile[], all: NamedFile[]): NamedFile | null {
  const latest = (files: NamedFile[]) => files.filter((file) => file.name === name).reduce<NamedFile | null>((best, file) => (best && best.createdAt > file.createdAt ? best : file), null)
  return latest(own) ?? latest(all)
}
