/**
 * Everything that an owner uses, of all kinds together: git data, LFS objects, packages, attachments and artifacts, or
 * repositories with all that is in them. The pages list it, and delete or download what this server keeps.
 */
import { hasScope, openAudiences, repositoryViewer, type Viewer } from '../accounts/access.ts'
import { add, compare, type Sum } from '../integers.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { Page, Slice } from '../records/collection.ts'
import {
  type LedgerEntry,
  type LedgerKind,
  type Repository,
  type RepositoryUsage,
  repositories,
  repositoryUsages,
} from '../records/schema/index.ts'
import { cachedRead, type Store } from '../records/store.ts'
import { RESERVED_PREFIX } from '../repositories/ledger-by-name.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type UsedEntry, usedEntry } from './usage-lists.ts'

const ENTRY_KINDS = ['lfs', 'packages', 'attachments', 'artifacts'] as const satisfies readonly LedgerKind[]

/** `repositories`: each with all that is in it; `git`: their git data alone. */
export const thingKinds = ['repositories', 'git', ...ENTRY_KINDS] as const
export type ThingKind = (typeof thingKinds)[number]

/** Something that counts toward an owner. */
export interface Thing {
  /** Names it in forms: the kind, a colon, and the id of the repository or the key of the ledger entry. */
  readonly id: string
  readonly kind: ThingKind
  /** Empty when it is hidden. */
  readonly name: string
  /** Bytes. */
  readonly size: Sum
  /** Seconds since 1970. */
  readonly createdAt: number
  /** Id of its repository; null for what belongs to the owner alone. */
  readonly repository: number | null
  /** The repository itself, unless the viewer cannot read it. */
  readonly inRepository: Repository | undefined
  /** Whether it is in a private repository that the scopes of the viewer do not include. */
  readonly isHidden: boolean
  /** Whether this server keeps it, so that it can be deleted here. */
  readonly isKept: boolean
  /** Bytes by category, of repositories and git data. */
  readonly usage: RepositoryUsage | undefined
  /** The entry that is counted; undefined for repositories and git data. */
  readonly used: UsedEntry | undefined
}

export interface ThingQuery {
  /** Undefined: all kinds but repositories, which would count twice. */
  readonly kind?: ThingKind | undefined
  /** Name of a repository. */
  readonly repository?: string | undefined
  /** Part of a name, in any case. */
  readonly search?: string | undefined
  readonly sort?: 'size' | 'name' | 'created' | undefined
  readonly reverse?: boolean | undefined
}

export interface ThingPage extends Page<Thing> {
  /** True when only the {@link MAX_READ} largest of each kind were looked at. */
  readonly isPartial: boolean
}

/** Things of each kind that one request reads at most. */
export const MAX_READ = 1000

interface OwnRepository {
  readonly repository: Repository
  readonly usage: RepositoryUsage
}

/** The repositories of an owner with their usage. */
const readRepositories = cachedRead(
  'repositories with usage',
  async (tx, { owner }: { readonly owner: number }): Promise<readonly OwnRepository[]> => {
    const owned = await repositories.list(tx, 'id', { prefix: [owner] })
    const usages = await repositoryUsages.byIds(
      tx,
      owned.map(({ id }) => id),
    )
    return owned.flatMap((repository) => {
      const usage = usages.get(repository.id)
      return usage === undefined ? [] : [{ repository, usage }]
    })
  },
)

type Candidate = Omit<Thing, 'used' | 'isKept'> & { readonly entry: LedgerEntry | undefined }

export class UsedThings {
  readonly #store: Store
  readonly #quota: QuotaEngine

  constructor(store: Store, quota: QuotaEngine) {
    this.#store = store
    this.#quota = quota
  }

  /** Reads at most {@link MAX_READ} things of each kind, the largest. */
  async list(viewer: Viewer, owner: number, query: ThingQuery, slice: Slice): Promise<ThingPage> {
    const all = await readRepositories(this.#store, { owner })
    const own = all.filter(({ repository }) => isNamed(repository, query.repository))
    const isPlain = !query.search && (query.sort ?? 'size') === 'size' && !query.reverse
    const limit = isPlain ? Math.min(MAX_READ, slice.offset + slice.limit) : MAX_READ
    return this.#store.read(async (tx) => {
      const { candidates, total } = await this.#candidates(tx, viewer, owner, own, query, limit)
      const found = candidates.filter(({ name }) => matches(name, query.search)).sort(orderOf(query))
      const shown = found.slice(slice.offset, slice.offset + slice.limit)
      const isPartial = limit === MAX_READ && total > candidates.length
      return {
        items: await Promise.all(shown.map((candidate) => thingOf(tx, candidate))),
        total: isPlain ? total : found.length,
        isPartial,
      }
    })
  }

  /** The things with these ids that count toward the owner. */
  async byIds(viewer: Viewer, owner: number, ids: readonly string[]): Promise<Thing[]> {
    const own = await readRepositories(this.#store, { owner })
    return this.#store.read(async (tx) => {
      const found = await Promise.all(ids.map((id) => this.#find(tx, viewer, owner, own, id)))
      const visible = found.filter((candidate) => candidate !== undefined && !candidate.isHidden)
      return Promise.all(visible.map((candidate) => thingOf(tx, candidate!)))
    })
  }

  async #find(
    tx: ReadTransaction,
    viewer: Viewer,
    owner: number,
    own: readonly OwnRepository[],
    id: string,
  ): Promise<Candidate | undefined> {
    const [kind = '', key = ''] = id.split(/:(.*)/s)
    const isRepository = kind === 'repositories' || kind === 'git'
    if (isRepository) {
      const one = own.find(({ repository }) => String(repository.id) === key)
      return one && repositoryThing(viewer, one, kind)
    }
    const entryKind = ENTRY_KINDS.find((name) => name === kind)
    const entry = entryKind && (await this.#quota.ledger.get(tx, entryKind, key))
    if (entry === undefined) return undefined
    const one = own.find(({ repository }) => repository.id === entry.repository)
    const isOwn = entry.repository === null ? entry.owner === owner : one !== undefined
    return isOwn ? entryThing(viewer, entry, one?.repository) : undefined
  }

  async #candidates(
    tx: ReadTransaction,
    viewer: Viewer,
    owner: number,
    own: readonly OwnRepository[],
    { kind, repository }: ThingQuery,
    limit: number,
  ): Promise<{ candidates: Candidate[]; total: number }> {
    const byId = new Map(own.map((one) => [one.repository.id, one.repository]))
    const kinds = kind === undefined ? thingKinds.slice(1) : [kind]
    const parts = kinds.map(async (one) => {
      if (one === 'repositories' || one === 'git')
        return {
          total: own.length,
          candidates: own.map((item) => repositoryThing(viewer, item, one)),
        }
      const usages = own.map(({ usage }) => usage)
      const { ledger } = this.#quota
      const { items, total } =
        repository === undefined || repository === ''
          ? await ledger.largest(tx, owner, one, usages, limit)
          : await ledger.largestIn(tx, usages, one, limit)
      return {
        total,
        candidates: items.map((entry) => entryThing(viewer, entry, byId.get(entry.repository ?? 0))),
      }
    })
    const all = await Promise.all(parts)
    return {
      candidates: all.flatMap(({ candidates }) => candidates),
      total: all.reduce((sum, { total }) => sum + total, 0),
    }
  }
}

const isNamed = ({ name }: Repository, wanted: string | undefined): boolean =>
  !wanted || name.toLowerCase() === wanted.toLowerCase()

const matches = (name: string, search = ''): boolean => name.toLowerCase().includes(search.toLowerCase())

const isReadable = (viewer: Viewer, repository: Repository | undefined): boolean =>
  repositoryViewer(viewer) !== null ||
  (repository !== undefined && openAudiences(null).includes(repository.audience))

const repositoryThing = (
  viewer: Viewer,
  { repository, usage }: OwnRepository,
  kind: 'repositories' | 'git',
): Candidate => {
  const isHidden = !isReadable(viewer, repository)
  const { id, name, createdAt } = repository
  return {
    ...{ id: `${kind}:${id}`, kind, name: isHidden ? '' : name, createdAt, repository: id, isHidden },
    ...{ size: kind === 'git' ? usage.git : totalOf(usage), usage, entry: undefined },
    inRepository: isHidden ? undefined : repository,
  }
}

/** Bytes of git data and of everything in a repository. */
export const totalOf = ({ git, lfs, issues, releases, artifacts, packages }: RepositoryUsage): Sum =>
  [lfs, issues, releases, artifacts, packages].reduce<Sum>(add, git)

const entryThing = (viewer: Viewer, entry: LedgerEntry, repository: Repository | undefined): Candidate => {
  const isHidden = entry.repository !== null && !isReadable(viewer, repository)
  const { kind, key, name, size, createdAt } = entry
  return {
    ...{ id: `${kind}:${key}`, kind, name: isHidden ? '' : name, size, createdAt, isHidden },
    ...{ repository: entry.repository, inRepository: isHidden ? undefined : repository },
    ...{ usage: undefined, entry },
  }
}

const thingOf = async (tx: ReadTransaction, { entry, ...thing }: Candidate): Promise<Thing> => ({
  ...thing,
  isKept: entry === undefined || entry.key.startsWith(RESERVED_PREFIX),
  used: entry && (await usedEntry(tx, entry, thing.inRepository, thing.isHidden)),
})

const orderOf =
  ({ sort = 'size', reverse = false }: ThingQuery) =>
  (left: Candidate, right: Candidate): number =>
    (reverse ? -1 : 1) * ORDERS[sort](left, right) || (left.id < right.id ? -1 : 1)

const ORDERS: Record<NonNullable<ThingQuery['sort']>, (left: Candidate, right: Candidate) => number> = {
  size: (left, right) => compare(right.size, left.size) || compareNames(left, right),
  name: (left, right) => compareNames(left, right),
  created: (left, right) => right.createdAt - left.createdAt,
}

const compareNames = (left: Candidate, right: Candidate): number =>
  left.name < right.name ? -1 : left.name > right.name ? 1 : 0

/** The scope that a session needs to delete something of the kind. */
export const removalScope = ({ kind, used }: Thing): string => {
  if (kind === 'packages') return 'write:package'
  return used?.attached !== undefined && used.attached.on !== 'release' ? 'write:issue' : 'write:repository'
}

/** Whether the viewer may delete it here. */
export const isRemovable = (viewer: NonNullable<Viewer>, thing: Thing): boolean =>
  thing.isKept && thing.kind !== 'git' && !thing.isHidden && hasScope(viewer.scopes, removalScope(thing))
