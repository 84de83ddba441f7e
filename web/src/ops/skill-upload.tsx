// Uploads a skill: a bundle, a folder, or a SKILL.md that is written here.
import { useState } from 'preact/hooks'
import { api } from '../api'
import { Field, TextArea, toast } from '../ui/ui'
import { filesOf, sendBundle } from './bundle'
import { FormDialog, mistake, useSubmit } from './form'
import type { Skill } from './types'
import { Tabs } from './words'

const example = '---\nname: greet\ndescription: Greets people. Use it when somebody says hello.\n---\n\nSay hello, and ask how you can help.\n'

export function SkillUpload({ skill, onClose, onSaved }: { skill: Skill | null; onClose: () => void; onSaved: (skill: Skill) => void }) {
  const form = useSubmit()
  const [way, setWay] = useState('bundle')
  const [chosen, setChosen] = useState<File[]>([])
  const [text, setText] = useState(example)
  const method = skill ? 'PUT' : 'POST'
  const path = skill ? `/v1/skills/${skill.id}` : '/v1/skills'
  const send = async (): Promise<Skill> => {
    if (way === 'write') return put({ files: [{ path: 'SKILL.md', content: text }] })
    if (!chosen.length) throw mistake('/files', way === 'bundle' ? 'choose a .tar.gz' : 'choose a folder')
    return way === 'bundle' ? sendBundle<Skill>(method, path, chosen[0]!) : put({ files: await filesOf(chosen) })
  }
  const put = (body: unknown) => (skill ? api.put<Skill>(path, body) : api.post<Skill>(path, body))
  const save = async () => {
    const kept = await send()
    toast(`${kept.name} is kept, with ${kept.file_count} ${kept.file_count === 1 ? 'file' : 'files'}.`)
    onSaved(kept)
  }
  return (
    <FormDialog wide title={skill ? `A new version of ${skill.name}` : 'New skill'} action="Upload" submission={form} pointers={['/files']} onSubmit={save} onClose={onClose}>
      <p class="muted">A skill is a folder with a SKILL.md at its root, whose front matter has its name and says when to use it.</p>
      <div><Tabs label="How it is given" value={way} onChoose={(next) => { setWay(next); setChosen([]) }} tabs={[{ id: 'bundle', label: '.tar.gz' }, { id: 'folder', label: 'Folder' }, { id: 'write', label: 'Write it' }]} /></div>
      {way === 'write'
        ? <TextArea label="SKILL.md" class="mono" rows={12} value={text} onText={setText} error={form.at('/files')} spellcheck={false} />
        : <Field key={way} label={way === 'bundle' ? 'Bundle' : 'Folder'} error={form.at('/files')} hint={way === 'bundle' ? 'A gzipped tar of at most 8 MiB.' : chosen.length ? `${chosen.length} files` : 'Every file in it is sent, but for .git and node_modules.'}>
            {(wired) => <input {...wired} class="file-input" type="file" {...(way === 'bundle' ? { accept: '.tar.gz,.tgz,application/gzip' } : { webkitdirectory: true, multiple: true })} onChange={(event) => setChosen([...(event.currentTarget.files ?? [])])} />}
          </Field>}
    </FormDialog>
  )
}
