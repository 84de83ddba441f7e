// Signing in with a key of the server.
import { useState } from 'preact/hooks'
import { wordsOf, Problem } from '../api'
import { signIn } from '../session'
import { Button, TextField } from '../ui/controls'
import { Mark } from '../ui/icon'
import { useTitle } from '../ui/page'
import { ThemeSwitch } from './theme-switch'

export function Login() {
  useTitle('Sign in')
  const [key, setKey] = useState('')
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  const submit = async (event: Event) => {
    event.preventDefault()
    if (busy) return
    if (!key.trim()) return setFailure('Give a key first.')
    setBusy(true)
    setFailure('')
    try {
      await signIn({ key: key.trim() })
    } catch (error) {
      setBusy(false)
      setFailure(error instanceof Problem && error.status === 401 ? 'The server does not know this key, or it was revoked.' : wordsOf(error))
    }
  }
  return (
    <main class="login">
      <div class="login-card">
        <header><Mark size={40} /><h1>Sluice</h1><p>Sign in to the console.</p></header>
        <form onSubmit={(event) => void submit(event)}>
          <TextField label="Admin or service key" type="password" value={key} onText={setKey} error={failure || undefined} autofocus
            placeholder="sk_adm_… or sk_int_…" spellcheck={false} autocomplete="off" name="key" />
          <Button kind="primary" type="submit" busy={busy}>Sign in</Button>
        </form>
        <footer>
          <p><code>sluice console</code> prints a link that signs you in. The key itself stays with you: this browser keeps a session
            cookie for 12 hours.</p>
          <ThemeSwitch />
        </footer>
      </div>
    </main>
  )
}
