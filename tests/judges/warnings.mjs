// What a client warns of while it is judged. Several are judged at once, so each warning is put down to the judgement in
// whose asynchronous context it was given; one that belongs to none of them is kept in `strays`.
import { AsyncLocalStorage } from 'node:async_hooks'

const current = new AsyncLocalStorage()
const { warn, error } = console
let running = 0
export const strays = []

// Awaits `work`, with its warnings added to the list `warnings`.
export async function collectWarnings(warnings, work) {
  if (running++ === 0) {
    console.warn = console.error = (...words) => (current.getStore() ?? strays).push(words.join(' '))
  }
  try {
    return await current.run(warnings, work)
  } finally {
    if (--running === 0) Object.assign(console, { warn, error })
  }
}
