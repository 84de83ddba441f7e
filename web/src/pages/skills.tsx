import { Empty, PageFrame } from '../ui/ui'

export default function SkillsPage() {
  return (
    <PageFrame title="Skills">
      <Empty icon="skills" title="Nothing here yet" />
    </PageFrame>
  )
}
