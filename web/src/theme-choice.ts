// Light, dark, or as the system has it. The choice is the only thing the console keeps in localStorage.
export type Theme = 'system' | 'light' | 'dark'

const key = 'sluice.theme'

export function storedTheme(): Theme {
  try {
    const found = localStorage.getItem(key)
    return found === 'light' || found === 'dark' ? found : 'system'
  } catch {
    return 'system' // storage is forbidden here
  }
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export function storeTheme(theme: Theme): void {
  try {
    if (theme === 'system') localStorage.removeItem(key)
    else localStorage.setItem(key, theme)
  } catch {
    // It holds until the page is closed.
  }
  applyTheme(theme)
}
