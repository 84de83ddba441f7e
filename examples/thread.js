// Each tab has a thread of its own; its name is in the address, so that a reload finds it again.
const address = new URL(location.href)
if (!address.searchParams.has('thread')) {
  address.searchParams.set('thread', crypto.randomUUID())
  history.replaceState(null, '', address)
}
export const thread = address.searchParams.get('thread')

// Enter sends; with Shift it is a new line.
export function sendsOnEnter(event) {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  event.target.form.requestSubmit()
}
