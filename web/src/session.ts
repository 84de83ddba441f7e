// Signing in and out, and which tenant an operator acts in.
import { api, Problem, session, type Session } from './api'
import { forgetWaiting } from './chat/outbox'

// A one-time code comes in the fragment, which no server sees. It leaves the address bar and the history before anything
// else happens, so that neither keeps it.
export function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  if (code !== null) history.replaceState(null, '', location.pathname + location.search)
  return code
}

export async function signIn(by: { key: string } | { code: string }): Promise<void> {
  session.value = await api.post<Session>('/console/session', by)
}

export async function signOut(): Promise<void> {
  await api.delete('/console/session').catch(() => {}) // it is over here, whatever the server makes of it
  forgetWaiting()
  session.value = null
}

export async function actIn(tenantId: string): Promise<void> {
  session.value = await patched(tenantId)
}

async function patched(tenantId: string): Promise<Session> {
  return api.patch<Session>('/console/session', { tenantId })
}

// Finds the session of an earlier visit. A server that cannot be reached leaves the question open.
export async function findSession(): Promise<void> {
  try {
    session.value = await api.get<Session>('/console/session')
  } catch (error) {
    if (error instanceof Problem && error.unreachable) return
    session.value = null
  }
}
