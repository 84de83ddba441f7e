// Asks before a run is cancelled.
import { api } from '../api'
import { Confirm, toast } from '../ui/ui'
import type { Run } from './types'

export function CancelRun({ run, onDone, onClose }: { run: Run; onDone: (run: Run) => void; onClose: () => void }) {
  const cancel = async () => {
    onDone(await api.post<Run>(`/v1/runs/${run.id}/cancel`))
    toast('The run is cancelled, and its sandbox is gone.')
  }
  return (
    <Confirm title="Cancel this run?" action="Cancel the run" onConfirm={cancel} onClose={onClose}>
      <p>It is stopped where it is, and its sandbox is taken down. What it has said so far stays.</p>
      <p class="mono faint">{run.id}</p>
    </Confirm>
  )
}
