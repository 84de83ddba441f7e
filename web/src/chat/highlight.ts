// Colours for code, by the few things that most languages share: comments, texts, numbers, words of the language.
export interface Coloured { kind: '' | 'c' | 's' | 'n' | 'k'; text: string }

const words = new Set(('abstract and as async await bool boolean break case catch char class const continue def default defer del delete do done double ' +
  'elif else end enum esac except export extends false fi final finally float fn for from func function go if impl implements import in int ' +
  'interface is lambda let long loop match mod module mut namespace new nil none not null or package pass private protected pub public raise ' +
  'return self short static string struct super switch template then this throw throws trait true try type typedef union unsigned use using var ' +
  'virtual void when where while with yield select insert update into values create table order group by join on limit None True False').split(' '))

const hashComments = /^(sh|bash|zsh|shell|console|python|py|ruby|rb|yaml|yml|toml|perl|r|make|makefile|dockerfile|ini|conf)$/
const dashComments = /^(sql|lua|haskell|hs)$/
const plain = /^(|text|txt|plain|diff|markdown|md)$/
const charsMax = 60_000

export function highlight(text: string, language: string): Coloured[] {
  const name = language.toLowerCase()
  if (plain.test(name) || text.length > charsMax) return [{ kind: '', text }]
  const comment = hashComments.test(name) ? '#[^\\n]*' : dashComments.test(name) ? '--[^\\n]*' : '//[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)'
  const scan = new RegExp(`(${comment})|("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?|\`[^\`]*\`?)|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`, 'g')
  const out: Coloured[] = []
  let at = 0
  const add = (kind: Coloured['kind'], part: string) => {
    const last = out[out.length - 1]
    if (last?.kind === kind) last.text += part
    else out.push({ kind, text: part })
  }
  for (const found of text.matchAll(scan)) {
    if (found.index > at) add('', text.slice(at, found.index))
    add(found[1] ? 'c' : found[2] ? 's' : found[3] ? 'n' : words.has(found[4]!) ? 'k' : '', found[0])
    at = found.index + found[0].length
  }
  if (at < text.length) add('', text.slice(at))
  return out
}
