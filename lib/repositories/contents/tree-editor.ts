import { setImmediate } from 'node:timers/promises'
import { AllotError, invalid, invalidMember } from '../../errors.ts'
import { type NewObject, newLargeTree } from '../../git/objects/pack.ts'
import { entryAt, MODES, slicesOf, type TreeEntry } from '../../git/objects/parse.ts'
import { pathBytes, pathText } from '../../git/text.ts'
import { normalizePath } from './files.ts'
import type { OpenRepository } from './open-repository.ts'

/**
 * Folders of one change, and bytes of those that exist: a small request can name folders that take minutes.
 */
const MAX_FOLDERS = 10_000
const MAX_BYTES = 16 * 1024 * 1024

/** What a server writes in a few milliseconds. */
const [MANY_ENTRIES, MANY_FOLDERS] = [1000, 100]

/** Entries by name, with a character for each byte of it: names in old histories are not always UTF-8. */
type Folder = Map<string, TreeEntry>

/**
 * The folders of a commit, changed in memory. Only folders on the way to a change are read and written.
 * Invariant: a folder that is known is an entry of its parent.
 */
export class TreeEditor {
  readonly #open: OpenRepository
  readonly #folders = new Map<string, Folder>()
  readonly #root: string | undefined
  #entered = 0
  #bytesRead = 0

  /** @param root id of the tree; undefined begins with an empty one */
  constructor(open: OpenRepository, root: string | undefined) {
    this.#open = open
    this.#root = root
  }

  /** @returns undefined when there is nothing */
  async find(path: string): Promise<TreeEntry | undefined> {
    const { folder, name } = splitPath(path)
    return (await this.#folder(folder, false))?.get(name)
  }

  async set(path: string, entry: Omit<TreeEntry, 'name'>): Promise<void> {
    const { folder, name } = splitPath(path)
    const entries = (await this.#folder(folder, true))!
    if (entries.get(name)?.mode === MODES.tree) throw invalid(`${path} is a folder: a file cannot replace it`)
    entries.set(name, { ...entry, name })
  }

  /**
   * Removes a file, and the folders that this empties, as git keeps none: a file can have the name of one
   * then.
   */
  async remove(path: string): Promise<void> {
    const { folder, name } = splitPath(path)
    const entries = await this.#folder(folder, false)
    entries?.delete(name)
    if (entries?.size !== 0 || folder === '') return
    this.#folders.delete(folder)
    await this.remove(folder)
  }

  /** The trees that were changed, the root last. */
  async write(): Promise<NewObject[]> {
    const written: NewObject[] = []
    // A folder becomes known after its parent.
    for (const path of [...this.#folders.keys()].reverse()) {
      const entries = this.#folders.get(path)!
      const tree = await newLargeTree(entries.values())
      if (path !== '') {
        const { folder, name } = splitPath(path)
        this.#folders.get(folder)!.set(name, { mode: MODES.tree, name, id: tree.id })
      }
      written.push(tree)
      // Other requests are served between large folders, and between many.
      if (entries.size > MANY_ENTRIES || written.length % MANY_FOLDERS === 0) await setImmediate()
    }
    return written
  }

  async #folder(path: string, isCreated: boolean): Promise<Folder | undefined> {
    const known = this.#folders.get(path)
    if (known !== undefined) return known
    const entries = path === '' ? await this.#read(this.#root, path) : await this.#below(path, isCreated)
    if (entries === undefined) return undefined
    // Counted again when a folder is emptied and filled again.
    if (++this.#entered > MAX_FOLDERS)
      throw invalid(`the paths lead through more than ${MAX_FOLDERS} folders: make several commits`)
    this.#folders.set(path, entries)
    return entries
  }

  async #below(path: string, isCreated: boolean): Promise<Folder | undefined> {
    const { folder, name } = splitPath(path)
    const parent = await this.#folder(folder, isCreated)
    const entry = parent?.get(name)
    if (entry?.mode === MODES.tree) return this.#read(entry.id, path)
    if (!isCreated) return undefined
    if (entry !== undefined) throw invalid(`${path} is a file: nothing can be below it`)
    parent!.set(name, { mode: MODES.tree, name, id: '' })
    return new Map()
  }

  async #read(id: string | undefined, path: string): Promise<Folder> {
    const { git, access } = this.#open
    const tree = id === undefined ? undefined : await git.object(access, id)
    const bytes = tree?.content.length ?? 0
    // Several commits would not help.
    if (bytes > MAX_BYTES)
      throw invalid(
        `${path === '' ? 'the root folder' : `the folder ${path}`} alone has more than ${MAX_BYTES} bytes: push the change with git`,
      )
    this.#bytesRead += bytes
    if (this.#bytesRead > MAX_BYTES)
      throw invalid(`the folders of the files have more than ${MAX_BYTES} bytes: make several commits`)
    const entries: Folder = new Map()
    if (tree !== undefined)
      for await (const slice of slicesOf(tree.content))
        for (const position of slice) {
          const entry = entryAt(tree.content, position, 'latin1')
          entries.set(entry.name, entry)
        }
    return entries
  }
}

/** @returns the name as in a {@link Folder} */
const splitPath = (path: string): { folder: string; name: string } => {
  const slash = path.lastIndexOf('/')
  const name = pathBytes(path.slice(slash + 1)).toString('latin1')
  return { folder: path.slice(0, Math.max(slash, 0)), name }
}

/**
 * The path of a file that may be written.
 * @throws AllotError invalid when git would refuse it
 */
export const checkedPath = (path: string): string => {
  const normal = normalizePath(path)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a path with them cannot be named in a diff.
  const isBad = !normal || /[\u0000-\u001f\u007f]/.test(normal) || !normal.isWellFormed()
  if (isBad || normal.split('/').some((name) => /^(?:\.git|git~1)$/i.test(name)) || normal.length > MAX_PATH)
    throw invalidMember('path', `${JSON.stringify(path.slice(0, 100))} is not a path that git can store`)
  return pathText(pathBytes(normal))
}

/** Characters; file systems allow about 4096 bytes. */
const MAX_PATH = 1024

/** @throws AllotError conflict when a file is not the one that the client has seen */
export const checkSha = (path: string, entry: TreeEntry, sha: string): void => {
  if (entry.id !== sha)
    throw new AllotError('conflict', `${path} has changed: its sha is ${entry.id}, and not ${sha}`)
}
