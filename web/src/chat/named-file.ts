// Which file of a conversation a text means by a name.
import type { BagFile, Message } from './types'

export const isPicture = (file: BagFile) => /^image\/(png|jpeg|gif|webp)$/.test(file.type)

export function returnedFiles(message: Message): BagFile[] {
  return message.content.flatMap((block) => (block.type === 'assets' ? block.files : []))
}

// The answer's own files go before those of other messages; of several with one name the latest.
export function fileNamed(name: string, own: BagFile[], all: BagFile[]): BagFile | null {
  const latest = (files: BagFile[]) => files.filter((file) => file.name === name).reduce<BagFile | null>((best, file) => (best && best.createdAt > file.createdAt ? best : file), null)
  return latest(own) ?? latest(all)
}
