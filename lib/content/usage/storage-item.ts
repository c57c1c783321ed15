/**
 * Storage items: what uses an owner's storage, made of repositories and ledger entries, and how lists sort
 * and filter them.
 */
import type { Viewer } from '../../accounts/access.ts'
import { compare } from '../../compare.ts'
import {
  type LedgerKind,
  type LedgerRecord,
  REPOSITORY_SIZES,
  RESERVED_PREFIX,
  type Repository,
  type RepositoryUsage,
} from '../../records/schema/index.ts'
import { hasScope, type Scope } from '../../scopes.ts'
import { foldCase } from '../../search/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { type IsReadable, type UsedEntry, usedEntry } from './ledger-lists.ts'

/**
 * The kinds of ledger entries, in the order in which lists show them. Members of an object, so that each must
 * be named.
 */
export const ENTRY_KINDS = Object.keys({
  lfs: 1,
  packages: 1,
  attachments: 1,
  artifacts: 1,
} satisfies Record<LedgerKind, 1>) as readonly LedgerKind[]

/** `repositories`: each with all that is in it; `git`: their git data alone. */
export type StorageItemKind = 'repositories' | 'git' | LedgerKind
export const storageItemKinds: readonly StorageItemKind[] = ['repositories', 'git', ...ENTRY_KINDS]

/** Something that counts toward an owner, such as a repository, an LFS object or the file of a package. */
export interface StorageItem {
  /**
   * Its key in HTML forms: the kind, a colon, and the id of the repository or the key of the ledger entry.
   */
  readonly id: string
  readonly kind: StorageItemKind
  /** Empty when it is hidden. */
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** Seconds since 1970. */
  readonly createdAt: number
  /** Id of its repository; null for what belongs to the owner alone. */
  readonly repositoryId: number | null
  /** The repository itself, unless the viewer cannot read it. */
  readonly inRepository: Repository | undefined
  /** Whether it is in a private repository that the scopes of the viewer do not include. */
  readonly isHidden: boolean
  /** Whether it can be deleted here: false for ledger entries that the host has put. */
  readonly isStoredHere: boolean
  /** Bytes by category, of repositories and git data. */
  readonly usage: RepositoryUsage | undefined
  /** The entry that is counted; undefined for repositories and git data. */
  readonly used: UsedEntry | undefined
  /** Name of the user who attached it, in lists, if the viewer can see the user. */
  readonly uploader?: string | undefined
}

export interface StorageItemQuery {
  /** Undefined: all kinds except `repositories`, whose bytes the other kinds already have. */
  readonly kind?: StorageItemKind | undefined
  /** Name of a repository. */
  readonly repository?: string | undefined
  /** Name of a user: only what the user attached. */
  readonly uploader?: string | undefined
  /** Part of a name, in any case. */
  readonly search?: string | undefined
  readonly sort?: 'size' | 'name' | 'created' | undefined
  readonly reverse?: boolean | undefined
}

export interface RepositoryWithUsage {
  readonly repository: Repository
  readonly usage: RepositoryUsage
}

export type Candidate = Omit<StorageItem, 'used' | 'isStoredHere' | 'uploader'> & {
  readonly entry: LedgerRecord | undefined
}

export const isNamed = ({ name }: Repository, wanted: string | undefined): boolean =>
  !wanted || name.toLowerCase() === wanted.toLowerCase()

export const matches = (name: string, search = ''): boolean => foldCase(name).includes(foldCase(search))

export const repositoryItem = (
  isReadable: IsReadable,
  { repository, usage }: RepositoryWithUsage,
  kind: 'repositories' | 'git',
): Candidate => {
  const isHidden = !isReadable(repository)
  const { id, name, createdAt } = repository
  return {
    id: `${kind}:${id}`,
    kind,
    name: isHidden ? '' : name,
    createdAt,
    repositoryId: id,
    isHidden,
    size: kind === 'git' ? usage.git : totalOf(usage),
    usage,
    entry: undefined,
    inRepository: isHidden ? undefined : repository,
  }
}

/** Bytes of git data and of everything in a repository. */
export const totalOf = (usage: RepositoryUsage): number =>
  REPOSITORY_SIZES.reduce((sum, size) => sum + usage[size], 0)

export const entryItem = (
  isReadable: IsReadable,
  entry: LedgerRecord,
  repository: Repository | undefined,
): Candidate => {
  const isHidden = entry.repository !== null && !isReadable(repository)
  const { kind, key, name, size, createdAt } = entry
  return {
    id: `${kind}:${key}`,
    kind,
    name: isHidden ? '' : name,
    size,
    createdAt,
    isHidden,
    repositoryId: entry.repository,
    inRepository: isHidden ? undefined : repository,
    usage: undefined,
    entry,
  }
}

export const itemOf = async (tx: ReadTransaction, { entry, ...item }: Candidate): Promise<StorageItem> => ({
  ...item,
  isStoredHere: entry === undefined || entry.key.startsWith(RESERVED_PREFIX),
  used: entry && (await usedEntry(tx, entry, item.inRepository, item.isHidden)),
})

export const orderOf =
  ({ sort = 'size', reverse = false }: StorageItemQuery) =>
  (left: Candidate, right: Candidate): number =>
    (reverse ? -1 : 1) * ORDERS[sort](left, right) || (left.id < right.id ? -1 : 1)

const ORDERS: Record<NonNullable<StorageItemQuery['sort']>, (left: Candidate, right: Candidate) => number> = {
  size: (left, right) => right.size - left.size || compareNames(left, right),
  name: (left, right) => compareNames(left, right),
  created: (left, right) => right.createdAt - left.createdAt,
}

const compareNames = (left: Candidate, right: Candidate): number => compare(left.name, right.name)

/** The scope that a session needs to download an item, or to delete it. */
export const itemScope = ({ kind, used }: StorageItem, level: 'read' | 'write'): Scope => {
  if (kind === 'packages') return `${level}:package`
  const isOnIssue = used?.attached !== undefined && used.attached.on !== 'release'
  return isOnIssue ? `${level}:issue` : `${level}:repository`
}

/** Whether the viewer may delete it here. */
export const isRemovable = (viewer: NonNullable<Viewer>, item: StorageItem): boolean =>
  item.isStoredHere &&
  item.kind !== 'git' &&
  !item.isHidden &&
  hasScope(viewer.scopes, itemScope(item, 'write'))
