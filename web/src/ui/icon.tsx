// The console's icons: 16 by 16, drawn with the colour of the text around them.
const drawings = {
  chat: 'M2.5 3.500h11v7.500h-6l-3 2.500v-2.500h-2z',
  runs: 'M5 3.500l7.5 4.5-7.5 4.500z',
  approvals: 'M8 1.800l5 2v4c0 3.2-2.1 5.4-5 6.4-2.9-1-5-3.2-5-6.400v-4zM5.7 8l1.7 1.7 3-3.3',
  capacity: 'M2.5 13V9.500M6.2 13V6M9.8 13V8M13.5 13V3',
  workflows: 'M2 2.500h4.500v3.500h-4.500zM9.5 10h4.500v3.500h-4.500zM4.2 6v5.800h5.3',
  tables: 'M2.5 3h11v10h-11zM2.5 6.300h11M2.5 9.600h11M6.5 3v10',
  agents: 'M3.5 6h9v6.500h-9zM8 6V3M6.2 9v.800M9.8 9v.800M8 3h.01',
  environments: 'M8 1.800l5.5 3v6.400l-5.5 3-5.5-3V4.800zM2.5 4.800l5.5 3 5.5-3M8 7.800v6.4',
  skills: 'M8 2l1.6 3.9 4.2.3-3.2 2.7 1 4.100L8 10.8 4.4 13l1-4.1-3.2-2.7 4.2-.300z',
  secrets: 'M10.2 8.700a3.2 3.2 0 1 0-3-3l-5 5V13.500h2.800v-1.700h1.700V10z',
  tenants: 'M3 13.500V3.500l5-1.500v11.500M8 6h5v7.500M1.8 13.500h12.400M5.5 5.500v.010M5.5 8v.010M5.5 10.500v.010M10.5 8.500v.010M10.5 11v.01',
  plus: 'M8 3v10M3 8h10',
  close: 'M3.5 3.500l9 9M12.5 3.500l-9 9',
  check: 'M3 8.500l3.2 3.200L13 4.8',
  chevron: 'M6 3.500l4.5 4.500L6 12.5',
  down: 'M3.5 6l4.5 4.500L12.5 6',
  menu: 'M2.5 4.500h11M2.5 8h11M2.5 11.500h11',
  more: 'M3.5 8h.010M8 8h.010M12.5 8h.01',
  copy: 'M5.5 5.500h8v8h-8zM10.5 5.500v-3h-8v8h3',
  send: 'M8 13V3.200M3.8 7.200L8 3l4.2 4.2',
  stop: 'M4 4h8v8H4z',
  attach: 'M13 7.500l-5.3 5.300a3.2 3.2 0 0 1-4.5-4.500l5.8-5.800a2.1 2.1 0 0 1 3 3l-5.7 5.700a1.05 1.05 0 0 1-1.5-1.500l5-5',
  download: 'M8 2.500v8M4.8 7.500L8 10.700l3.2-3.200M3 13.500h10',
  file: 'M4 1.800h5l3.5 3.500v8.900h-8.500zM9 1.800v3.500h3.5',
  folder: 'M1.8 3.500h4.500l1.5 1.800h6.400v7.700h-12.400z',
  trash: 'M2.8 4.200h10.400M6 4.200V2.500h4v1.700M4.2 4.200l.6 9.300h6.400l.6-9.3',
  pencil: 'M10.8 2.800l2.4 2.4-7.7 7.7-3 .6.6-3z',
  search: 'M7 11.500a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.300l3.4 3.4',
  sun: 'M8 10.800a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.600zM8 1.500v1.200M8 13.300v1.200M1.5 8h1.200M13.3 8h1.200M3.4 3.400l.8.800M11.8 11.800l.8.800M3.4 12.600l.8-.800M11.8 4.200l.8-.8',
  moon: 'M13.2 9.700A5.7 5.7 0 0 1 6.3 2.800a5.7 5.7 0 1 0 6.9 6.900z',
  system: 'M2 3h12v8H2zM6 13.500h4M8 11v2.5',
  alert: 'M8 2l6.3 11.500H1.700zM8 6.500v3.200M8 11.700v.01',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.500v3.300M8 5.200v.01',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.800V8l2.2 1.5',
  thought: 'M8 2.500a4 4 0 0 0-2.2 7.300v1.700h4.400V9.800A4 4 0 0 0 8 2.500zM6.5 13.500h3',
  leave: 'M6.5 2.500h-4v11h4M6.5 8h7M10.5 5l3 3-3 3',
  keyboard: 'M1.5 4h13v8h-13zM4 6.500h.010M6.7 6.500h.010M9.3 6.500h.010M12 6.500h.010M4.5 9.500h7',
  refresh: 'M13.3 6.500A5.5 5.5 0 0 0 3.2 5.200M2.7 9.500a5.5 5.5 0 0 0 10.1 1.300M3 2.500v3h3M13 13.500v-3h-3',
  branch: 'M4.5 5.500v5M4.5 5.500a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM4.5 13.500a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 6.500a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 6.500c0 2.5-2 3-4 3.5-1.5.4-2.5.5-3 .5',
  list: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01',
  panel: 'M2 3h12v10H2zM10 3v10',
} as const

export type IconName = keyof typeof drawings

// Decoration by default; with a label it is read aloud.
export function Icon({ name, label, size = 16 }: { name: IconName; label?: string; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.4"
      stroke-linecap="round" stroke-linejoin="round" focusable="false"
      {...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' })}>
      <path d={drawings[name]} />
    </svg>
  )
}

export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" class="mark-ground" />
      <path d="M9 7v11M23 7v11M9 11h14" class="mark-gate" />
      <path d="M6 22c2.5-2.4 4.2-2.4 6.7 0s4.1 2.4 6.6 0 4.2-2.4 6.7 0" class="mark-water" />
    </svg>
  )
}
