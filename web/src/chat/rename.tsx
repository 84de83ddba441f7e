import { useState } from 'preact/hooks'
import { wordsOf } from '../api'
import { Button, TextField } from '../ui/controls'
import { Dialog } from '../ui/dialog'

export function RenameDialog({ title, onRename, onClose }: { title: string; onRename: (title: string) => Promise<void>; onClose: () => void }) {
  const [text, setText] = useState(title)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  const save = async () => {
    if (!text.trim()) return setFailure('A title has at least one letter.')
    setBusy(true)
    try {
      await onRename(text.trim())
      onClose()
    } catch (error) {
      setFailure(wordsOf(error))
      setBusy(false)
    }
  }
  return (
    <Dialog title="Rename the chat" onClose={onClose} footer={<><Button onClick={onClose}>Cancel</Button><Button kind="primary" busy={busy} onClick={() => void save()}>Rename</Button></>}>
      <form onSubmit={(event) => { event.preventDefault(); void save() }}>
        <TextField label="Title" value={text} onText={setText} error={failure || undefined} autofocus />
      </form>
    </Dialog>
  )
}
