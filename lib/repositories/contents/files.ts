import { isUtf8 } from 'node:buffer'
import { posix } from 'node:path'
import { invalid } from '../../errors.ts'
import type { ObjectInfo } from '../../git/objects/batch-process.ts'
import {
  type EntryPosition,
  entryAt,
  findInTree,
  isFolderAt,
  MODES,
  slicesOf,
  type TreeEntry,
  typeOfMode,
} from '../../git/objects/parse.ts'
import { pathBytes, pathText, utf16Of } from '../../git/text.ts'
import type { Slice } from '../../records/pages.ts'
import type { OpenCommit } from './open-repository.ts'

/** Something at a path of a commit. */
export interface FoundEntry {
  /** Path without slashes at its ends; empty for the root folder. */
  readonly path: string
  readonly entry: TreeEntry
}

/** An entry of a folder, and the size of its content. */
export interface SizedEntry extends FoundEntry {
  /** Bytes; 0 for folders and submodules. */
  readonly size: number
}

/** @returns the path without slashes at its ends; undefined when no file can be there */
export const normalizePath = (path: string): string | undefined => {
  const names = path.split('/')
  const first = names.findIndex((name) => name !== '')
  const inner = first < 0 ? [] : names.slice(first, names.findLastIndex((name) => name !== '') + 1)
  return inner.every((name) => name !== '' && name !== '.' && name !== '..') ? inner.join('/') : undefined
}

/**
 * @param onFolder called with the folder of the path before the folder is read, and with the path without
 * slashes at its ends
 * @returns undefined when the commit has nothing at the path
 */
export const findEntry = async (
  open: OpenCommit,
  path: string,
  onFolder: (folder: ObjectInfo, path: string) => void = () => undefined,
): Promise<FoundEntry | undefined> => {
  const normal = normalizePath(path)
  if (normal === undefined) return undefined
  const wanted = pathText(pathBytes(normal))
  const slash = wanted.lastIndexOf('/')
  const folder = await findFolder(open, wanted.slice(0, Math.max(slash, 0)))
  if (folder === undefined) return undefined
  onFolder(folder, wanted)
  const root = { mode: MODES.tree, name: '', id: folder.id }
  const entry =
    wanted === '' ? root : await findInTree(await contentOf(open, folder), wanted.slice(slash + 1))
  return entry && { path: wanted, entry }
}

const findFolder = async (open: OpenCommit, path: string): Promise<ObjectInfo | undefined> => {
  const { git, access, commit } = open
  // Asked for `commit:`, git would read the whole root folder.
  if (path === '') return git.find(access, `${commit}^{tree}`)
  // git is asked with one line, and drops a carriage return at its end.
  const id = /[\r\n]/.test(path) ? ((await findEntry(open, path))?.entry.id ?? '') : undefined
  const found = id === undefined ? await git.find(access, commit, path) : await git.find(access, id)
  return found?.type === 'tree' ? found : undefined
}

/**
 * The content of a file or a folder.
 * @throws AllotError invalid when it is larger than can be read at once
 */
export const contentOf = async ({ git, access }: OpenCommit, { id }: { id: string }): Promise<Buffer> =>
  (await git.object(access, id))?.content ?? Buffer.alloc(0)

/** Entries of a folder in one response, and bytes of their paths, which a response has about ten times. */
const [MAX_ENTRIES, MAX_PATHS] = [10_000, 1024 * 1024]

/**
 * The entries of a folder, in the order of git.
 * @throws AllotError invalid when there are too many for one response
 */
export const listFolder = async (open: OpenCommit, { path, entry }: FoundEntry): Promise<SizedEntry[]> => {
  const tree = await contentOf(open, entry)
  const positions: EntryPosition[] = []
  let count = 0
  for await (const slice of slicesOf(tree)) {
    count += slice.length
    if (count <= MAX_ENTRIES) positions.push(...slice)
  }
  if (count > MAX_ENTRIES)
    throw invalid(
      `the folder has ${count} entries, and at most ${MAX_ENTRIES} are listed at once: ${USE_PAGES}`,
    )
  const entries = positions.map((position) => entryAt(tree, position))
  const bytes = entries.reduce((sum, { name }) => sum + Buffer.byteLength(name), entries.length * path.length)
  if (bytes > MAX_PATHS)
    throw invalid(
      `the paths of the folder have ${bytes} bytes, and at most ${MAX_PATHS} are listed at once: ${USE_PAGES}`,
    )
  const sizes = await sizesOf(open, entries)
  return entries.map((one, index) => ({ ...entryIn(path, one), size: sizes[index]! }))
}

const USE_PAGES = 'use git/trees, which has pages'

/** Symbolic links that are followed one after another, and bytes of the target of each. */
const [MAX_LINKS, MAX_TARGET] = [5, 4096]

/**
 * The file that symbolic links lead to; the entry itself when it is not a link.
 * @returns undefined when they lead out of the repository, to a folder or to nothing
 */
export const followLinks = async (open: OpenCommit, found: FoundEntry): Promise<FoundEntry | undefined> => {
  let { path, entry } = found
  for (let links = 0; entry.mode === MODES.symlink; links++) {
    const [size = 0] = await sizesOf(open, [entry])
    const target = size > MAX_TARGET ? '/' : pathText(await contentOf(open, entry))
    const isLocal = links < MAX_LINKS && !target.startsWith('/')
    const next = isLocal ? await findEntry(open, posix.join(posix.dirname(path), target)) : undefined
    if (next === undefined) return undefined
    path = next.path
    entry = next.entry
  }
  return typeOfMode(entry.mode) === 'blob' ? { path, entry } : undefined
}

const entryIn = (folder: string, entry: TreeEntry): FoundEntry => ({
  path: folder === '' ? entry.name : `${folder}/${entry.name}`,
  entry,
})

/** A page of a folder, and the file that introduces it. */
interface FolderPage {
  readonly items: readonly SizedEntry[]
  /** Entries on all pages. */
  readonly total: number
  readonly readme: FoundEntry | undefined
}

/** A page of the entries of a folder, folders first: of a folder of any size that can be read at once. */
export const pageOfFolder = async (
  open: OpenCommit,
  { path, entry }: FoundEntry,
  { offset, limit }: Slice,
): Promise<FolderPage> => {
  const tree = await contentOf(open, entry)
  const [folders, files, readmes]: EntryPosition[][] = [[], [], []]
  for await (const slice of slicesOf(tree)) {
    for (const position of slice) (isFolderAt(tree, position) ? folders : files)!.push(position)
    readmes!.push(...slice.filter((position) => isReadme(tree, position)))
  }
  const ordered = folders!.concat(files!)
  const shown = ordered.slice(offset, offset + limit).map((position) => entryAt(tree, position))
  const sizes = await sizesOf(open, shown)
  const readme = readmeAmong(tree, readmes!)
  return {
    items: shown.map((one, index) => ({ ...entryIn(path, one), size: sizes[index]! })),
    total: ordered.length,
    readme: readme && entryIn(path, readme),
  }
}

const README = /^readme(?:\.(?:md|markdown|txt|rst|adoc|org))?$/i
const MAX_README_NAME = 'readme.markdown'.length

const isReadme = (tree: Buffer, { space, nul }: EntryPosition): boolean =>
  nul - space - 1 <= MAX_README_NAME && README.test(tree.toString('latin1', space + 1, nul))

/** Markdown before other formats. */
const readmeAmong = (tree: Buffer, positions: readonly EntryPosition[]): TreeEntry | undefined => {
  const entries = positions.map((position) => entryAt(tree, position))
  const found = entries.filter(({ mode }) => typeOfMode(mode) === 'blob')
  return found.find(({ name }) => isMarkdown(name)) ?? found[0]
}

/** Whether a file is markdown, by its name. */
export const isMarkdown = (name: string): boolean => /\.(?:md|markdown)$/i.test(name)

/** Bytes in which a binary file has a NUL, as git assumes. */
const TEXT_PROBE = 8000

/** Whether a file is text, by its beginning. */
export const isText = (content: Buffer): boolean =>
  !content.subarray(0, TEXT_PROBE).includes(0) || utf16Of(content) !== undefined

/** The type that a file is sent with. Browsers find out the encoding of text that is not UTF-8. */
export const typeOfContent = (content: Buffer | undefined): string => {
  if (content === undefined || !isText(content)) return 'application/octet-stream'
  return isUtf8(content) ? 'text/plain;charset=utf-8' : 'text/plain'
}

/** Sizes of files in bytes; 0 for everything else. */
export const sizesOf = async (
  { git, access }: OpenCommit,
  entries: readonly Pick<TreeEntry, 'id' | 'mode'>[],
): Promise<number[]> => {
  const infos = await git.infos(
    access,
    entries.map(({ id }) => id),
  )
  return infos.map((info) => (info?.type === 'blob' ? info.size : 0))
}

/**
 * The address of each submodule that the commit's `.gitmodules` names, by its path. One that is not an
 * address of git is left out.
 */
export const submoduleUrls = async (open: OpenCommit): Promise<Map<string, string>> => {
  const urls = new Map<string, string>()
  const found = await findEntry(open, '.gitmodules')
  const [size = 0] = found === undefined ? [] : await sizesOf(open, [found.entry])
  if (found === undefined || size > MAX_GITMODULES_BYTES) return urls
  let section: Map<string, string> = new Map()
  for (const bytes of (await contentOf(open, found.entry)).toString('latin1').split('\n')) {
    const line = pathText(Buffer.from(bytes, 'latin1'))
    if (line.trimStart().startsWith('[')) section = new Map()
    const [, name, value] = SETTING.exec(line.trim()) ?? []
    if (name === undefined || section.has(name)) continue
    section.set(name, value!.trim().replace(/^"|"$/g, ''))
    const [path, url] = [section.get('path'), section.get('url')]
    if (path !== undefined && url !== undefined && ADDRESS.test(url) && !OPTION.test(url)) urls.set(path, url)
  }
  return urls
}

/**
 * What git clones from: `https://host/path`, `user@host:path`, or `../path`, which git resolves against the
 * address of the repository. Clients make links of addresses, so nothing may be one that runs as a script,
 * such as `javascript:`.
 */
const ADDRESS =
  /^(?:(?:https?|ssh|git):\/\/[^/]|(?:[\w.+-]+@[\w.-]+|[\w-]+(?:\.[\w-]+)+):(?!\/\/)|\.{1,2}\/)[^\s\p{Cc}]*$/iu

/** A host or a user that begins with a hyphen, which a command reads as an option. */
const OPTION = /^-|\/\/-|@-/

/** A larger file is not read, since each list of a folder that has a submodule reads it. */
const MAX_GITMODULES_BYTES = 1024 * 1024

/**
 * A setting of a submodule, on a line without blanks at its ends. With `s`, since a line can have a carriage
 * return.
 */
const SETTING = /^(path|url)\s*=(.*)$/s
