// The frame of a page: its heading, what can be done on it, and its content.
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { Link } from '../router'
import { Icon } from './icon'

interface PageProps {
  title: string
  about?: ComponentChildren
  actions?: ComponentChildren
  back?: { to: string; label: string }
  children: ComponentChildren
  full?: boolean // the content fills the height and scrolls by itself (a table)
}

export function PageFrame({ title, about, actions, back, children, full }: PageProps) {
  useTitle(title)
  return (
    <div class={`page${full ? ' full' : ''}`}>
      <header class="page-head">
        <div>
          {back && <Link to={back.to} class="back"><Icon name="chevron" /> {back.label}</Link>}
          <h1>{title}</h1>
          {about && <p class="about">{about}</p>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      <div class="page-body">{children}</div>
    </div>
  )
}

export function useTitle(title: string): void {
  useEffect(() => { document.title = title ? `${title} · Sluice` : 'Sluice' }, [title])
}
