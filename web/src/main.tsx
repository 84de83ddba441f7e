// The console: one page that the server serves at /console. Nothing of it leaves the server's own address.
import { effect } from '@preact/signals'
import { render } from 'preact'
import { session } from './api'
import { App } from './app/app'
import { preload } from './app/frame'
import { recoveries } from './reach'
import { path } from './router'
import { findSession, signIn, takeCode } from './session'
import { toastError } from './ui/toast'

const code = takeCode()
preload(path.value)
render(<App />, document.getElementById('app')!)

async function begin(): Promise<void> {
  if (code === null) return findSession()
  try {
    await signIn({ code })
  } catch (error) {
    toastError(error)
    await findSession()
  }
}

void begin()
effect(() => { if (recoveries.value > 0 && session.peek() === undefined) void findSession() })
