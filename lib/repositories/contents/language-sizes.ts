import { LRUCache } from 'lru-cache'
import { maxEntries, namedCache } from '../../caches.ts'
import { type LanguageTable, languageTable } from '../../git/language-table.ts'
import { successOf } from '../../git/processes.ts'
import { commitOf, type OpenRepository } from './open-repository.ts'
import { recordsOf } from './trees.ts'

/** Bytes by language. */
type Languages = Readonly<Record<string, number>>

/** Languages by repository and commit, which never change. */
const known = namedCache('languages', new LRUCache<string, Languages>(maxEntries(10_000)))

/**
 * The languages of the default branch, the one with the most bytes first. Files are told apart by their names
 * alone.
 */
export const languagesOf = async (open: OpenRepository): Promise<Languages> => {
  const commit = await commitOf(open, '')
  if (commit === undefined) return {}
  const key = `${open.access.repository}:${commit}`
  const languages = known.get(key) ?? (await count(open, commit))
  known.set(key, languages)
  return languages
}

const count = async ({ git, access }: OpenRepository, commit: string): Promise<Languages> => {
  const table = await languageTable()
  const certain = new Map<string, number>()
  const unsure = new Map<string, number>()
  const child = await git.start(access, 'ls-tree', ['-r', '-l', '-z', '--full-tree', commit])
  child.stdin.end()
  for await (const line of recordsOf(child.stdout)) {
    const { path, size } = fileOf(line)
    if (size === 0 || NOT_OWN.test(path)) continue
    const candidates = candidatesFor(table, path)
    if (candidates.length === 1) add(certain, candidates[0]!, size)
    else if (candidates.length > 1) add(unsure, candidates.join('\n'), size)
  }
  await successOf(child)
  // `.h` is C, unless the repository has more of another language that uses it.
  for (const [names, size] of unsure) add(certain, mostUsed(names.split('\n'), certain), size)
  certain.delete('')
  return Object.fromEntries([...certain].sort(([, left], [, right]) => right - left))
}

const add = (sizes: Map<string, number>, name: string, size: number): void =>
  void sizes.set(name, (sizes.get(name) ?? 0) + size)

/**
 * The language with the most bytes. Languages that are not counted have no size, so they are only chosen when
 * no other one is known.
 */
const mostUsed = (names: readonly string[], sizes: ReadonlyMap<string, number>): string => {
  const sizeOf = (name: string) => (name === '' ? 0 : (sizes.get(name) ?? 0))
  return names.reduce((best, name) => (sizeOf(name) > sizeOf(best) ? name : best))
}

/** `mode type id size<TAB>path`; only files have a size, and links are not counted. */
const fileOf = (line: string): { path: string; size: number } => {
  const tab = line.indexOf('\t')
  const [mode = '', , , size] = line.slice(0, tab).split(/ +/)
  return { path: line.slice(tab + 1), size: mode.startsWith('100') ? Number(size) : 0 }
}

/** Folders and files that others wrote, or that are generated. */
const NOT_OWN =
  /(?:^|\/)(?:node_modules|vendor|third[-_]party|bower_components|dist|\.git[a-z]*|docs?)\/|[.-]min\.(?:js|css)$|\.lock$|(?:^|\/)package-lock\.json$/i

const candidatesFor = ({ byExtension, byFilename }: LanguageTable, path: string): readonly string[] => {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const whole = byFilename.get(name)
  if (whole !== undefined) return [whole]
  // The longest extension first: `.d.ts` before `.ts`.
  for (let dot = name.indexOf('.', 1); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const found = byExtension.get(name.slice(dot).toLowerCase())
    if (found !== undefined) return found
  }
  return []
}
