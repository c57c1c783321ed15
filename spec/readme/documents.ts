import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The documents of the project and their snippets. Blocks of `sh` and `ts` are run by snippets.spec.ts.
 * Blocks of `console` are not: they install, run until they are stopped, or need another server. Blocks of
 * `typescript` are excerpts.
 */
const root = fileURLToPath(new URL('../../', import.meta.url))

/** Paths from the root of the checkout. */
export const documents: readonly string[] = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'examples/README.md'],
  ...readdirSync(join(root, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
]

export const readDocument = (path: string): string => readFileSync(join(root, path), 'utf8')

const BLOCK = /^( *)```(\w*)\n([\s\S]*?)^ *```$/gm

/** The code blocks of a document in a language, such as `sh`. */
export const snippetsOf = (path: string, language: string): string[] =>
  [...readDocument(path).matchAll(BLOCK)].filter((match) => match[2] === language).map((match) => match[3]!)

/** The text of a document without its code blocks. */
export const proseOf = (path: string): string => readDocument(path).replaceAll(BLOCK, '')

/** The text between `<!-- name -->` and `<!-- end of name -->`. */
export const sectionOf = (path: string, name: string): string => {
  const text = readDocument(path)
  const [from, to] = boundsOf(path, text, name)
  return text.slice(from, to).trim()
}

export const replaceSection = (path: string, name: string, content: string): void => {
  const text = readDocument(path)
  const [from, to] = boundsOf(path, text, name)
  writeFileSync(join(root, path), `${text.slice(0, from)}\n${content}\n${text.slice(to)}`)
}

const boundsOf = (path: string, text: string, name: string): [from: number, to: number] => {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from === -1 || to === -1) throw new Error(`${path} must have ${begin} and ${end}`)
  return [from + begin.length, to]
}
