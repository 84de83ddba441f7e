import { chooseTheme, theme } from '../theme'
import type { Theme } from '../theme-choice'
import { Icon, type IconName } from '../ui/icon'

const choices: { value: Theme; label: string; icon: IconName }[] = [
  { value: 'system', label: 'As the system', icon: 'system' },
  { value: 'light', label: 'Light', icon: 'sun' },
  { value: 'dark', label: 'Dark', icon: 'moon' },
]

export function ThemeSwitch() {
  return (
    <div class="theme-switch" role="group" aria-label="Colours">
      {choices.map(({ value, label, icon }) => (
        <button key={value} type="button" aria-pressed={theme.value === value} aria-label={label} title={label} onClick={() => chooseTheme(value)}>
          <Icon name={icon} />
        </button>
      ))}
    </div>
  )
}
