// Whether the navigation is open, where it does not fit beside the page.
import { signal } from '@preact/signals'

export const navigationOpen = signal(false)
