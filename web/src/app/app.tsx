// What is on the screen: the login page, or the frame with a page in it.
import { session } from '../api'
import { reachable } from '../reach'
import { Toasts } from '../ui/toast'
import { Mark } from '../ui/icon'
import { Frame } from './frame'
import { Login } from './login'

export function App() {
  return (
    <>
      <Unreachable />
      {session.value === undefined ? <Opening /> : session.value === null ? <Login /> : <Frame session={session.value} />}
      <Toasts />
    </>
  )
}

function Opening() {
  return <main class="opening" aria-busy="true"><Mark size={40} /><h1 class="hidden">Sluice</h1></main>
}

// Always in the document, so that a screen reader hears it when it fills.
function Unreachable() {
  return (
    <div class="banner-place" role="status" aria-live="assertive">
      {!reachable.value && (
        <div class="banner">
          <span class="spinner" aria-hidden="true" />
          <span><strong>The server is not reachable.</strong> What you see may be old. Trying again by itself…</span>
        </div>
      )}
    </div>
  )
}
