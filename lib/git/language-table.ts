import { readFile } from 'node:fs/promises'
import { brotliDecompressSync } from 'node:zlib'

/** A programming language, as github-linguist lists it. */
interface Language {
  readonly name: string
  readonly type: string
  readonly extensions?: readonly string[]
  readonly filenames?: readonly string[]
}

/**
 * Names of the languages that a file name or an extension may stand for. Those that it is the usual one of
 * come first.
 */
export interface LanguageTable {
  readonly byExtension: ReadonlyMap<string, readonly string[]>
  readonly byFilename: ReadonlyMap<string, string>
}

let table: Promise<LanguageTable> | undefined

/** The table, which is read once, when languages are asked for. */
export const languageTable = (): Promise<LanguageTable> => {
  table ??= readLanguages()
    .then(tableOf)
    .catch((error) => {
      table = undefined
      throw error
    })
  return table
}

/**
 * The package has the languages as one compressed file; in a checkout they come from a development
 * dependency.
 */
const readLanguages = async (): Promise<readonly Language[]> => {
  if (import.meta.url.endsWith('.js')) {
    const file = await readFile(new URL('./languages.json.br', import.meta.url))
    return JSON.parse(brotliDecompressSync(file).toString())
  }
  const source: string = 'linguist-languages'
  return Object.values((await import(source)) as Record<string, Language>)
}

/** Prose and data are not counted, as on GitHub and Gitea. */
const COUNTED = ['programming', 'markup']

const tableOf = (languages: readonly Language[]): LanguageTable => {
  const byExtension = new Map<string, string[]>()
  const byFilename = new Map<string, string>()
  for (const { name, type, extensions = [], filenames = [] } of languages) {
    // Languages that are not counted keep their extensions, so that no other language with the same extension
    // takes them.
    const counted = COUNTED.includes(type) ? name : ''
    for (const filename of filenames) byFilename.set(filename, counted)
    for (const [index, extension] of extensions.entries()) {
      const names = byExtension.get(extension) ?? []
      byExtension.set(extension, names)
      if (index === 0) names.unshift(counted)
      else names.push(counted)
    }
  }
  return { byExtension, byFilename }
}
