// A secret that is shown once: it is in the document only while the dialog is open.
import { Button, CopyButton, Dialog } from '../ui/ui'

interface ShownOnceProps { title: string; secret: string; about: string; more?: { label: string; text: string }; onClose: () => void }

export function ShownOnce({ title, secret, about, more, onClose }: ShownOnceProps) {
  return (
    <Dialog title={title} onClose={onClose} footer={<Button kind="primary" onClick={onClose}>I have kept it</Button>}>
      <p>{about}</p>
      <div class="shown-once"><code>{secret}</code><CopyButton text={secret} label="Copy the secret" /></div>
      {more && <div class="shown-once"><code>{more.text}</code><CopyButton text={more.text} label={more.label} /></div>}
    </Dialog>
  )
}
