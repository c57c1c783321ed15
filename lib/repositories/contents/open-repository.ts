import { LRUCache } from 'lru-cache'
import type { Viewer } from '../../accounts/access.ts'
import { readableRepository } from '../../accounts/find.ts'
import { namedCache, viewerText } from '../../caches.ts'
import { AllotError } from '../../errors.ts'
import type { ObjectInfo } from '../../git/objects/batch-process.ts'
import { OBJECT_ID } from '../../git/objects/parse.ts'
import type { GitReader, ReadAccess } from '../../git/objects/reader.ts'
import { canBePushed } from '../../git/ref-names.ts'
import { type Account, accounts, type Repository } from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import type { MadeOf } from '../../storage/index.ts'
import type { RepositoryName } from '../names.ts'

/** A repository that the viewer can read, and what its git data is read with. */
export interface OpenRepository {
  readonly repository: Repository
  readonly git: GitReader
  readonly access: ReadAccess
  /** Called after a search of the history for the last commit of something. */
  onSearched(): void
}

/** The same, and one commit of it. */
export interface OpenCommit extends OpenRepository {
  /** Id of the commit. */
  readonly commit: string
}

/** The same for commands that go on after the response. */
export const inBackground = (open: OpenCommit): OpenCommit => ({
  ...open,
  access: { ...open.access, isBackground: true },
})

/** A cached value as JSON, whose length is its size. */
interface SerializedSize {
  readonly text: string
}

interface ContentsOptions {
  /** Bytes of presented contents that are kept in memory. */
  readonly cacheSize: number
  /** Called after a search of the history of a repository. */
  readonly onSearched: (repository: Repository) => void
}

/** Opens repositories for reads of their git data. */
export class RepositoryContents {
  readonly #store: Store
  readonly #git: GitReader
  readonly #onSearched: ContentsOptions['onSearched']
  /** Values derived from commits, by repository and commit. */
  readonly #made: LRUCache<string, SerializedSize>

  constructor(store: Store, git: GitReader, { cacheSize, onSearched }: ContentsOptions) {
    this.#store = store
    this.#git = git
    this.#onSearched = onSearched
    this.#made = namedCache(
      'repository contents',
      new LRUCache<string, SerializedSize>({
        maxSize: cacheSize,
        maxEntrySize: cacheSize / 8,
        sizeCalculation: ({ text }, key) => 2 * (text.length + key.length) + 300,
      }),
    )
  }

  /**
   * Caches a value that is made of a commit, which never changes.
   * @param parts everything else that it depends on
   * @param make its result is not kept when it is undefined
   */
  async cached<T extends SerializedSize>(
    { access, commit }: OpenCommit,
    parts: readonly string[],
    make: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    // Git refuses names with a NUL, so nothing has this one.
    const key = `${access.repository} ${commit} ${parts.join('\0')}`
    const known = this.#made.get(key) as T | undefined
    if (known !== undefined) return known
    const made = await make()
    if (made !== undefined) this.#made.set(key, made)
    return made
  }

  /**
   * @param client account or address whose budget of processes the reads use: `clientOf` (lib/clients.ts)
   * @returns undefined when the viewer cannot see the repository
   */
  async open(
    viewer: Viewer,
    { owner, name }: RepositoryName,
    client: string,
  ): Promise<OpenRepository | undefined> {
    const repository = await this.#store.read((tx) => readableRepository(tx, viewer, owner, name, 'code'))
    return repository && this.of(repository, client)
  }

  /** The git data of a repository that the caller has authorized. */
  of(repository: Repository, client: string): OpenRepository {
    return {
      repository,
      git: this.#git,
      access: { repository: repository.id, client },
      onSearched: () => this.#onSearched(repository),
    }
  }

  /**
   * Opens a repository at a commit. The commit of a reference is cached until the repository's record
   * changes, which every push does. In a shared store another process can push, so it is read from the disk
   * each time.
   * @param ref name of a branch or a tag, or a commit's full id, which no reference needs to reach (see
   *   "Git" in SECURITY.md); the default branch when it is empty
   * @returns undefined when the viewer cannot see the repository, or when it has no such commit
   */
  async openAt(
    viewer: Viewer,
    { owner, name }: RepositoryName,
    ref: string,
    client: string,
  ): Promise<(OpenCommit & { readonly owner: Account; readonly madeOf: MadeOf }) | undefined> {
    const key = `commit ${viewerText(viewer)} ${JSON.stringify([owner, name, ref])}`
    const found = await this.#store.cached(key, async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name, 'code')
      if (repository === undefined) return undefined
      const commit = await commitOf(this.of(repository, client), ref)
      const account = await accounts.get(tx, [repository.owner])
      return commit === undefined ? undefined : { repository, owner: account!, commit }
    })
    if (found === undefined) return undefined
    const { repository, commit } = found
    const open = this.of(repository, client)
    return { ...open, owner: found.owner, commit, madeOf: { key, value: found } }
  }
}

/** @throws AllotError conflict when nothing was pushed yet */
export const refuseEmpty = ({ repository }: OpenRepository): void => {
  if (repository.empty) throw new AllotError('conflict', 'Git Repository is empty.')
}

/** The commit that a branch, a tag or a full id names; the default branch's when the name is empty. */
export const commitOf = async (open: OpenRepository, name: string): Promise<string | undefined> =>
  (await commitWithRef(open, name))?.commit

/** The commit of `commitOf`, with the full name of the reference; for an id, with the commit's id. */
export const commitWithRef = async (
  open: OpenRepository,
  name: string,
): Promise<{ commit: string; ref: string } | undefined> => {
  const wanted = name === '' || name === 'HEAD' ? HEADS + open.repository.defaultBranch : name
  for (const ref of expressionsOf(wanted)) {
    const commit = (await findObject(open, ref, '^{commit}'))?.id
    if (commit !== undefined) return { commit, ref: ref.startsWith('refs/') ? ref : commit }
  }
  return undefined
}

/**
 * The object that a name leads to.
 * @param name full id, `HEAD`, or full name of a reference
 * @param type what a tag or a commit is followed to, as in gitrevisions; the object itself when it is empty
 */
export const findObject = async (
  { git, access }: OpenRepository,
  name: string,
  type: '' | '^{commit}' | '^{tree}',
): Promise<ObjectInfo | undefined> => {
  const object = await git.find(access, name + type)
  if (object === undefined || !DESCRIPTION.test(name)) return object
  const found = await git.lines(access, 'for-each-ref', ['--format=%(refname)', name])
  return found.includes(name) ? object : undefined
}

/** As git-describe writes: git takes the end of such a name for an abbreviated id (gitrevisions). */
const DESCRIPTION = /-g[0-9a-f]{4,}$/i

const HEADS = 'refs/heads/'
const TAGS = 'refs/tags/'

/** The references that a name can mean, the most likely first, without those that git would refuse. */
export const expressionsOf = (name: string): string[] => {
  if (OBJECT_ID.test(name)) return [name, HEADS + name, TAGS + name]
  if (name === 'HEAD') return [name]
  if (!canBePushed(name)) return []
  const isFull = name.startsWith(HEADS) || name.startsWith(TAGS)
  return [
    ...(isFull ? [name] : []),
    HEADS + name,
    TAGS + name,
    ...(/^(?:heads|tags)\/./.test(name) ? [`refs/${name}`] : []),
  ]
}
