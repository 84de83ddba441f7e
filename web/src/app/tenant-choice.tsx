// Whose things are shown. An operator may act in any tenant; a service key has one.
import { useEffect, useState } from 'preact/hooks'
import { api, type Page, type Session } from '../api'
import { useLoad } from '../load'
import { navigate, path } from '../router'
import { actIn } from '../session'
import { toastError } from '../ui/toast'

interface Tenant { id: string; name: string }

export function TenantChoice({ session }: { session: Session }) {
  if (session.kind !== 'admin') return <p class="tenant-name" title={session.tenant?.id}>{session.tenant?.name}</p>
  return <OperatorChoice session={session} />
}

function OperatorChoice({ session }: { session: Session }) {
  const [busy, setBusy] = useState(false)
  const tenants = useLoad((stop) => api.get<Page<Tenant>>('/v1/tenants', { limit: 100 }, stop))
  const own = session.tenant ? [session.tenant] : []
  const others = (tenants.data?.data ?? []).filter((tenant) => tenant.id !== session.tenant?.id)
  const choose = async (id: string) => {
    setBusy(true)
    await actIn(id).then(() => navigate(`/${path.value.split('/')[1]}`)).catch(toastError)
    setBusy(false)
  }
  // With one tenant there is nothing to choose.
  const only = !session.tenant && others.length === 1 && !tenants.data?.has_more ? others[0]! : null
  useEffect(() => { if (only) void choose(only.id) }, [only?.id])
  return (
    <div class="tenant-choice">
      <label for="tenant-choice">Tenant</label>
      <select id="tenant-choice" disabled={busy} value={session.tenant?.id ?? ''} onChange={(event) => void choose(event.currentTarget.value)}>
        {!session.tenant && <option value="" disabled>Choose a tenant</option>}
        {[...own, ...others].map((tenant) => <option key={tenant.id} value={tenant.id}>{tenant.name}</option>)}
      </select>
    </div>
  )
}
