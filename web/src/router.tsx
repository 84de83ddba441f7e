// Addresses under /console, by the history API.
import { computed, signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

export const root = '/console'

export interface Place {
  path: string // without /console; begins with /
  query: URLSearchParams
}

function here(): Place {
  const path = location.pathname.slice(root.length).replace(/\/+$/, '')
  return { path: path || '/', query: new URLSearchParams(location.search) }
}

export const place = signal<Place>(here())
export const path = computed(() => place.value.path)

addEventListener('popstate', () => { place.value = here() })

export function hrefOf(to: string): string {
  return root + (to === '/' ? '' : to)
}

export function navigate(to: string, how: 'push' | 'replace' = 'push'): void {
  const href = hrefOf(to)
  if (href === location.pathname + location.search) return
  if (how === 'push') history.pushState(null, '', href)
  else history.replaceState(null, '', href)
  place.value = here()
}

// Changes ?name=value in place; null takes it away. What a list is filtered by belongs in its address.
export function setQuery(changes: Record<string, string | null>): void {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  navigate(here().path + (text ? `?${text}` : ''), 'replace')
}

// Gives the parts that a pattern names: match('/runs/:id', '/runs/run_1') is {id: 'run_1'}; null if it does not fit.
export function match(pattern: string, given: string): Record<string, string> | null {
  const want = pattern.split('/')
  const have = given.split('/')
  if (want.length !== have.length) return null
  const params: Record<string, string> = {}
  for (let i = 0; i < want.length; i++) {
    const part = want[i]!
    if (part.startsWith(':')) params[part.slice(1)] = decode(have[i]!)
    else if (part !== have[i]) return null
  }
  return params
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

interface LinkProps {
  to: string
  class?: string
  title?: string
  'aria-current'?: 'page' | undefined
  'aria-label'?: string
  'data-row-link'?: number
  onClick?: (event: MouseEvent) => void
  children?: ComponentChildren
}

export function Link({ to, onClick, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={hrefOf(to)}
      onClick={(event) => {
        onClick?.(event)
        const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
        if (event.defaultPrevented || !plain) return
        event.preventDefault()
        navigate(to)
      }}
    />
  )
}
