// The files of a chat, beside its thread: what the latest answer that changed files changed, and what can be downloaded.
import { IconButton } from '../ui/controls'
import { Icon } from '../ui/icon'
import { sizeText, Time } from '../ui/words'
import type { Conversation } from './conversation'
import { Changes } from './files'
import { changeBlocks, ownDiff } from './tree'
import type { BagFile } from './types'

export function FilesPanel({ conversation, onClose }: { conversation: Conversation; onClose: () => void }) {
  void conversation.tick.value
  const turn = conversation.turn.value
  const latest = turn?.message ?? conversation.messages.value.findLast((message) => message.role === 'assistant' && ownDiff(message.content)?.diff)
  const changes = latest ? changeBlocks(latest.content) : []
  const files = conversation.files.value
  return (
    <aside class="files-panel" aria-label="Files">
      <header>
        <h2>Files</h2>
        {files.length > 1 && <a class="button quiet small" href={`/api/assistant/chats/${conversation.id.value}/files.zip`} download><Icon name="download" /> <span>All as ZIP</span></a>}
        <IconButton icon="close" label="Close the files" onClick={onClose} />
      </header>
      <div class="files-body">
        {latest && <Changes blocks={changes} owner={`panel-${latest.id}`} live={turn !== null} />}
        <Bag title="From the sandbox" files={files.filter((file) => file.source === 'sandbox')} />
        <Bag title="Uploaded" files={files.filter((file) => file.source === 'upload')} />
        {!files.length && !changes.length && <p class="chat-none">Files that you attach, and files that the agent makes or changes, appear here.</p>}
      </div>
    </aside>
  )
}

function Bag({ title, files }: { title: string; files: BagFile[] }) {
  if (!files.length) return null
  return (
    <section class="bag">
      <h3>{title}</h3>
      <ul>
        {files.map((file) => (
          <li key={file.id}>
            <a href={file.url} download={file.name}>
              <Icon name="file" />
              <span class="bag-name">{file.name}<small>{sizeText(file.size)} · <Time at={file.createdAt} /></small></span>
              <Icon name="download" label="Download" />
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
