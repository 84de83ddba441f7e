// The theme as the page's controls see it.
import { signal } from '@preact/signals'
import { storedTheme, storeTheme, type Theme } from './theme-choice'

export const theme = signal<Theme>(storedTheme())

export function chooseTheme(next: Theme): void {
  theme.value = next
  storeTheme(next)
}
