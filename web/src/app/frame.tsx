// The frame around every page: navigation, who is signed in, shortcuts.
import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../api'
import { shortcuts, useKeys } from '../keys'
import { pages, type Entry, type PageProps } from '../pages'
import { Link, match, navigate, path, place } from '../router'
import { signOut } from '../session'
import { IconButton } from '../ui/controls'
import { Dialog } from '../ui/dialog'
import { Icon, Mark } from '../ui/icon'
import { PageFrame } from '../ui/page'
import { Empty, Loading, Trouble } from '../ui/words'
import { waitingApprovals, watchApprovals } from './approval-count'
import { navigationOpen } from './navigation'
import { TenantChoice } from './tenant-choice'
import { ThemeSwitch } from './theme-switch'

const helpOpen = signal(false)

export function Frame({ session }: { session: Session }) {
  const found = find(path.value)
  useEffect(() => { if (path.value === '/') navigate('/chat', 'replace') }, [path.value])
  useEffect(() => watchApprovals(), [session.tenant?.id])
  useEffect(() => { navigationOpen.value = false }, [path.value])
  const entered = useRef(found?.entry)
  useEffect(() => {
    if (entered.current !== found?.entry) document.getElementById('content')?.focus() // as a page that is loaded would
    entered.current = found?.entry
  }, [found?.entry])
  useKeys({
    '?': () => { helpOpen.value = !helpOpen.value },
    g: () => { navigationOpen.value = true; document.querySelector<HTMLElement>('.navigation a')?.focus() },
    Escape: () => { navigationOpen.value = false },
  })
  return (
    <div class="frame">
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById('content')?.focus() }}>Skip to the content</a>
      <header class="top-bar">
        <IconButton icon="menu" label="Open the navigation" aria-expanded={navigationOpen.value} onClick={() => { navigationOpen.value = true }} />
        <Mark size={22} /><span class="top-title">{found?.entry.label || 'Sluice'}</span>
        <span id="top-actions" class="top-actions" />
      </header>
      <Navigation session={session} current={found?.entry} />
      {navigationOpen.value && <div class="curtain" onClick={() => { navigationOpen.value = false }} />}
      <main id="content" tabIndex={-1}>
        {found ? <Place key={found.entry.paths[0]} entry={found.entry} params={found.params} session={session} /> : <Nowhere />}
      </main>
      {helpOpen.value && <Shortcuts />}
    </div>
  )
}

// Fetches the code of the page that an address leads to, while the session is still being asked for.
export function preload(at: string): void {
  find(at === '/' ? '/chat' : at)?.entry.load().catch(() => {}) // the page says so when it is opened
}

function find(at: string): { entry: Entry; params: Record<string, string> } | null {
  for (const entry of pages) {
    for (const pattern of entry.paths) {
      const params = match(pattern, at)
      if (params) return { entry, params }
    }
  }
  return null
}

const groups: { id: Entry['group']; label: string }[] = [
  { id: 'work', label: 'Work' }, { id: 'operate', label: 'Operate' }, { id: 'build', label: 'Build' }, { id: 'admin', label: 'Server' },
]

function Navigation({ session, current }: { session: Session; current: Entry | undefined }) {
  const shown = pages.filter((entry) => entry.label && (!entry.adminOnly || session.kind === 'admin'))
  const isCurrent = (entry: Entry) => entry === current || (current?.label === '' && current.paths[0]!.startsWith(`${entry.paths[0]}/`))
  return (
    <nav class={`navigation${navigationOpen.value ? ' open' : ''}`} aria-label="Console">
      <div class="brand"><Mark size={24} /><span>Sluice</span>
        <IconButton icon="close" label="Close the navigation" class="close-navigation" onClick={() => { navigationOpen.value = false }} />
      </div>
      <TenantChoice session={session} />
      <div class="navigation-list">
        {groups.map(({ id, label }) => {
          const entries = shown.filter((entry) => entry.group === id)
          return entries.length > 0 && (
            <div key={id} class="navigation-group">
              <h2>{label}</h2>
              <ul>
                {entries.map((entry) => (
                  <li key={entry.label}>
                    <Link to={entry.paths[0]!} aria-current={isCurrent(entry) ? 'page' : undefined}>
                      <Icon name={entry.icon} /><span>{entry.label}</span>
                      {entry.icon === 'approvals' && <Waiting />}
                    </Link>
                  </li>
                ))}
              </ul>
            </div>
          )
        })}
      </div>
      <div class="navigation-foot">
        <ThemeSwitch />
        <IconButton icon="keyboard" label="Keyboard shortcuts" onClick={() => { helpOpen.value = true }} />
        <IconButton icon="leave" label="Sign out" onClick={() => void signOut()} />
      </div>
    </nav>
  )
}

function Waiting() {
  const count = waitingApprovals.value
  return count > 0 ? <span class="count" aria-label={`${count} waiting`}>{count > 99 ? '99+' : count}</span> : null
}

const loaded = new Map<Entry, ComponentType<PageProps>>()

function Place({ entry, params, session }: { entry: Entry; params: Record<string, string>; session: Session }) {
  const [, setCount] = useState(0)
  const [failure, setFailure] = useState<unknown>(null)
  const alive = useRef(true)
  const load = () => {
    setFailure(null)
    entry.load().then((part) => { loaded.set(entry, part.default); if (alive.current) setCount((n) => n + 1) }, setFailure)
  }
  useEffect(() => {
    if (!loaded.has(entry)) load()
    return () => { alive.current = false }
  }, [entry])
  if (entry.adminOnly && session.kind !== 'admin') return <PageFrame title={entry.label}><Empty icon="secrets" title="Only for operators">Sign in with an admin key to see this page.</Empty></PageFrame>
  if (!session.tenant && !entry.tenantless) return <NoTenant title={entry.label} />
  const Page = loaded.get(entry)
  if (failure) return <PageFrame title={entry.label}><Trouble error={new Error('This part of the console could not be loaded. The server may have been updated: reload the page.')} retry={load} /></PageFrame>
  return Page ? <Page key={session.tenant?.id ?? ''} params={params} query={place.value.query} /> : <Loading />
}

function NoTenant({ title }: { title: string }) {
  return (
    <PageFrame title={title || 'Choose a tenant'}>
      <Empty icon="tenants" title="Choose a tenant">You are signed in as an operator. This page shows what belongs to one tenant: choose it in the navigation.</Empty>
    </PageFrame>
  )
}

function Nowhere() {
  return (
    <PageFrame title="Not found">
      <Empty icon="search" title="There is no such page" action={<Link to="/chat" class="button plain">Go to the chat</Link>} />
    </PageFrame>
  )
}

function Shortcuts() {
  return (
    <Dialog title="Keyboard" onClose={() => { helpOpen.value = false }}>
      <dl class="shortcuts">
        {shortcuts.map(({ keys, what }) => (
          <div key={what}><dt>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</dt><dd>{what}</dd></div>
        ))}
      </dl>
    </Dialog>
  )
}
