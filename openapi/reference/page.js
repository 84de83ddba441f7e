// Finds operations and schemas by their words, and opens what a link points at. Without it the page is whole, too.
const filter = document.getElementById('filter')
const groups = [...document.querySelectorAll('nav details')]
const links = new Map([...document.querySelectorAll('nav li a')].map((a) => [a.hash.slice(1), a.parentElement]))
filter.hidden = false

function show() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
  let found = 0
  for (const article of document.querySelectorAll('article')) {
    const fits = words.every((word) => article.dataset.words.includes(word))
    article.hidden = !fits
    found += fits ? 1 : 0
    const link = links.get(article.id)
    if (link) link.hidden = !fits
  }
  for (const part of document.querySelectorAll('section')) {
    part.hidden = words.length > 0 && !part.querySelector('article:not([hidden])')
  }
  document.getElementById('top').hidden = words.length > 0
  document.getElementById('nothing').hidden = found > 0
  for (const group of groups) {
    group.hidden = !group.querySelector('li:not([hidden])')
    group.open = words.length > 0 && !group.hidden
  }
}

function follow() {
  const target = document.getElementById(location.hash.slice(1))
  if (!target) return
  if (target.hidden || target.closest('[hidden]')) {
    filter.value = ''
    show()
  }
  const inner = target.querySelector(':scope > details')
  if (inner) inner.open = true
  const link = links.get(target.id)
  if (link && link.closest('details')) link.closest('details').open = true
  target.scrollIntoView()
}

filter.addEventListener('input', show)
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== filter) {
    event.preventDefault()
    filter.focus()
  }
  if (event.key === 'Escape' && document.activeElement === filter) {
    filter.value = ''
    show()
  }
})
addEventListener('hashchange', follow)
follow()
