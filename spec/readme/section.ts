import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Replaces the text between `<!-- name -->` and `<!-- end of name -->` in a document. @param path from the root of the checkout */
export const replaceSection = (name: string, text: string, path = 'README.md'): void => {
  const file = fileURLToPath(new URL(`../../${path}`, import.meta.url))
  const document = readFileSync(file, 'utf8')
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
  const [from, to] = [document.indexOf(begin), document.indexOf(end)]
  if (from === -1 || to === -1) throw new Error(`${path} must have ${begin} and ${end}`)
  writeFileSync(file, `${document.slice(0, from + begin.length)}\n${text}\n${document.slice(to)}`)
}
