// How many runs wait for a human, for the navigation. Asked for rarely, and at once when a page knows better.
import { signal } from '@preact/signals'
import { api, session, type Page } from '../api'

export const waitingApprovals = signal(0)
const everyMs = 15_000

export async function countApprovals(): Promise<void> {
  if (!session.value?.tenant) { waitingApprovals.value = 0; return }
  try {
    const page = await api.get<Page<unknown>>('/v1/approvals', { status: 'pending', limit: 100 })
    waitingApprovals.value = page.data.length
  } catch {
    // The pages say what is wrong; a number that is old does no harm.
  }
}

export function watchApprovals(): () => void {
  void countApprovals()
  const timer = setInterval(() => { if (document.visibilityState === 'visible') void countApprovals() }, everyMs)
  return () => clearInterval(timer)
}
