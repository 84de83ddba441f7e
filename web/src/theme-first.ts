// Runs before the first paint, so that a chosen theme does not flash in the other colours.
import { applyTheme, storedTheme } from './theme-choice'

applyTheme(storedTheme())
