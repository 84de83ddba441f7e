// Skills: folders of knowledge and programs that agents take up when they need them.
import { useState } from 'preact/hooks'
import { api } from '../api'
import { useLoad } from '../load'
import { List } from '../ops/list-page'
import { usePaged } from '../ops/paged'
import { Remove } from '../ops/remove'
import { SkillUpload } from '../ops/skill-upload'
import type { Skill } from '../ops/types'
import { Fact, Facts, Id, Shown } from '../ops/words'
import type { PageProps } from '../pages'
import { navigate } from '../router'
import { Button, CopyButton, Icon, PageFrame, sizeText, Time, type Column } from '../ui/ui'

export default function SkillsPage({ params }: PageProps) {
  return params.id ? <SkillPage key={params.id} id={params.id} /> : <Skills />
}

const columns: Column<Skill>[] = [
  { label: 'Name', width: '32%', cell: (skill) => skill.name },
  { label: 'What for', cell: (skill) => <span title={skill.description}>{skill.description}</span> },
  { label: 'Files', width: '5rem', wideOnly: true, align: 'end', cell: (skill) => skill.file_count },
  { label: 'Size', width: '6rem', wideOnly: true, align: 'end', cell: (skill) => sizeText(skill.size) },
  { label: 'Changed', width: '7rem', wideOnly: true, cell: (skill) => <Time at={skill.updated_at} /> },
]

function Skills() {
  const list = usePaged<Skill>('/v1/skills')
  const [uploading, setUploading] = useState(false)
  const upload = <Button kind="primary" icon="plus" onClick={() => setUploading(true)}>New skill</Button>
  return (
    <PageFrame title="Skills" full about="Knowledge and programs that an agent takes up when it needs them." actions={upload}>
      <List label="Skills" list={list} columns={columns} idOf={(skill) => skill.id} to={(skill) => `/skills/${skill.id}`}
        empty={{ icon: 'skills', title: 'No skills yet', text: 'Upload a folder with a SKILL.md; agents that have it know when to read it.', action: upload }} />
      {uploading && <SkillUpload skill={null} onClose={() => setUploading(false)} onSaved={list.reload} />}
    </PageFrame>
  )
}

function SkillPage({ id }: { id: string }) {
  const found = useLoad((stop) => api.get<Skill>(`/v1/skills/${id}`, {}, stop), [id])
  const [uploading, setUploading] = useState(false)
  const name = found.data?.name
  return (
    <PageFrame title={name ?? 'Skill'} back={{ to: '/skills', label: 'Skills' }} actions={found.data && <>
      <a class="button plain" href={`/v1/skills/${id}/bundle`} download={`${name}.tar.gz`}><Icon name="download" /><span>Download</span></a>
      <Button icon="refresh" onClick={() => setUploading(true)}>New version</Button>
      <Remove path={`/v1/skills/${id}`} what={name!} onDone={() => navigate('/skills')}>A skill that an agent names cannot be deleted.</Remove>
    </>}>
      <Shown of={found}>{(skill) => (
        <div class="card panel">
          <p class="skill-about">{skill.description}</p>
          <Facts>
            <Fact name="Id"><Id id={skill.id} copy /></Fact>
            <Fact name="Files">{skill.file_count}</Fact>
            <Fact name="Size">{sizeText(skill.size)}</Fact>
            <Fact name="Changed"><Time at={skill.updated_at} /></Fact>
            <Fact name="Version"><span class="id"><span class="mono" title={skill.sha256}>{skill.sha256.slice(0, 16)}…</span><CopyButton text={skill.sha256} label="Copy the SHA-256" /></span></Fact>
          </Facts>
        </div>
      )}</Shown>
      {uploading && found.data && <SkillUpload skill={found.data} onClose={() => setUploading(false)} onSaved={found.set} />}
    </PageFrame>
  )
}
