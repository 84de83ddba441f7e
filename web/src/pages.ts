// Every page of the console. A page is the default export of src/pages/NAME.tsx, loaded when it is first opened.
import type { ComponentType } from 'preact'
import type { IconName } from './ui/icon'

export interface PageProps { params: Record<string, string>; query: URLSearchParams }
type Loader = () => Promise<{ default: ComponentType<PageProps> }>

export interface Entry {
  paths: string[] // patterns, see match() in router.tsx; the first is where the navigation leads
  label: string // in the navigation; empty: it has no place there
  icon: IconName
  group: 'work' | 'operate' | 'build' | 'admin'
  load: Loader
  adminOnly?: boolean
  tenantless?: boolean // makes sense for an operator who acts in no tenant
}

export const pages: Entry[] = [
  { paths: ['/chat', '/chat/:id'], label: 'Chat', icon: 'chat', group: 'work', load: () => import('./pages/chat') },
  { paths: ['/approvals', '/approvals/:id'], label: 'Approvals', icon: 'approvals', group: 'work', load: () => import('./pages/approvals') },
  { paths: ['/runs'], label: 'Runs', icon: 'runs', group: 'operate', load: () => import('./pages/runs') },
  { paths: ['/runs/:id'], label: '', icon: 'runs', group: 'operate', load: () => import('./pages/run') },
  { paths: ['/capacity'], label: 'Capacity', icon: 'capacity', group: 'operate', load: () => import('./pages/capacity'), tenantless: true },
  { paths: ['/workflows', '/workflows/:id', '/workflows/:id/runs/:run'], label: 'Workflows', icon: 'workflows', group: 'build', load: () => import('./pages/workflows') },
  { paths: ['/tables', '/tables/:id'], label: 'Tables', icon: 'tables', group: 'build', load: () => import('./pages/tables') },
  { paths: ['/agents', '/agents/:id'], label: 'Agents', icon: 'agents', group: 'build', load: () => import('./pages/agents') },
  { paths: ['/environments', '/environments/:id'], label: 'Environments', icon: 'environments', group: 'build', load: () => import('./pages/environments') },
  { paths: ['/skills', '/skills/:id'], label: 'Skills', icon: 'skills', group: 'build', load: () => import('./pages/skills') },
  { paths: ['/secrets'], label: 'Secrets', icon: 'secrets', group: 'build', load: () => import('./pages/secrets') },
  { paths: ['/tenants', '/tenants/:id'], label: 'Tenants & keys', icon: 'tenants', group: 'admin', load: () => import('./pages/tenants'), adminOnly: true, tenantless: true },
]
