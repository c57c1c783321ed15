import { canSee, isOpenAccount, type Viewer } from '../../accounts/access.ts'
import { accountByName, repositoryById } from '../../accounts/find.ts'
import { compare } from '../../compare.ts'
import { invalid } from '../../errors.ts'
import { accounts, type Repository, stars } from '../../records/schema/index.ts'
import { foldCase } from '../../search/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'

/** A word to find, in repositories of one owner if `ownerName` is set. */
export interface QueryPart {
  readonly word: string
  readonly ownerName?: string
}

/**
 * Filters of a search besides name and owner. No index has them, so every repository that matches the name is
 * read, or with `texts` every one, {@link MAX_MATCHES} at most.
 */
export interface RepositoryFilter {
  /** Finds only repositories that everyone can see. */
  open?: true | undefined
  private?: boolean | undefined
  archived?: boolean | undefined
  /** Words of which one is in the name or the description, or is a topic; with `topicOnly`, is a topic. */
  texts?: { readonly parts: readonly QueryPart[]; readonly topicOnly: boolean } | undefined
  mode?: SearchMode | undefined
  /** Id of a user who has starred the repository. */
  starredBy?: number | undefined
  sort?: SearchSort | undefined
  descending?: boolean | undefined
}

export const SEARCH_MODES = ['source', 'fork', 'mirror'] as const
type SearchMode = (typeof SEARCH_MODES)[number]

/** Sort keys; among equal keys the repository with the lower id comes first, in both directions. */
const SORTS = {
  alpha: ({ name }: Repository) => name.toLowerCase(),
  created: ({ createdAt }: Repository) => createdAt,
  updated: ({ updatedAt }: Repository) => updatedAt,
  size: ({ size, lfs }: Repository) => size + lfs,
  git_size: ({ size }: Repository) => size,
  lfs_size: ({ lfs }: Repository) => lfs,
  id: ({ id }: Repository) => id,
  stars: ({ stars }: Repository) => stars,
  forks: ({ forks }: Repository) => forks,
} as const satisfies Record<string, (repository: Repository) => string | number>
type SearchSort = keyof typeof SORTS
export const SEARCH_SORTS = Object.keys(SORTS) as SearchSort[]

export const MAX_MATCHES = 10_000

/** Whether any filter is set. */
export const isFiltered = (filter: RepositoryFilter): boolean =>
  Object.values(filter).some((value) => value !== undefined)

type Predicate = (repository: Repository) => boolean | Promise<boolean>

const tooMany = ({ texts }: RepositoryFilter) =>
  invalid(
    texts === undefined
      ? `more than ${MAX_MATCHES} repositories match: search for a longer q or within an owner (uid) to filter or sort them`
      : `topic and includeDesc read every repository, which are more than ${MAX_MATCHES}: search within an owner (uid)`,
  )

type Condition = Exclude<keyof RepositoryFilter, 'sort' | 'descending'>

/** The predicate of each condition. Those that read records are last, since the first that fails decides. */
const CONDITIONS: {
  readonly [C in Condition]: (
    value: NonNullable<RepositoryFilter[C]>,
    tx: ReadTransaction,
    viewer: Viewer,
  ) => Predicate | Promise<Predicate>
} = {
  private: (value) => (repository) => repository.private === value,
  archived: (value) => (repository) => repository.archived === value,
  texts: (texts, tx) => textsPredicate(tx, texts),
  open: (_, tx) => openPredicate(tx),
  mode: (mode, tx) => (repository) => matchesMode(tx, repository, mode),
  starredBy: (id, tx, viewer) => starPredicate(tx, viewer, id),
}

/**
 * Whether a repository that the viewer can see matches the filter. It throws `invalid` when more than
 * {@link MAX_MATCHES} were read.
 */
export const predicateOf = async (
  tx: ReadTransaction,
  viewer: Viewer,
  filter: RepositoryFilter,
): Promise<(repository: Repository, read: number) => Promise<boolean>> => {
  const predicateFor = <C extends Condition>(condition: C) => {
    const value = filter[condition]
    return value === undefined ? [] : [CONDITIONS[condition](value, tx, viewer)]
  }
  const predicates = await Promise.all((Object.keys(CONDITIONS) as Condition[]).flatMap(predicateFor))
  return async (repository, read) => {
    if (read > MAX_MATCHES) throw tooMany(filter)
    for (const matches of predicates) if (!(await matches(repository))) return false
    return true
  }
}

/** Reads each owner once. */
const openPredicate = (tx: ReadTransaction): Predicate => {
  const isOpen = new Map<number, boolean>()
  return async ({ private: isPrivate, owner }) => {
    if (isPrivate) return false
    if (!isOpen.has(owner)) isOpen.set(owner, isOpenAccount(null, await accounts.get(tx, [owner])))
    return isOpen.get(owner)!
  }
}

const textsPredicate = async (
  tx: ReadTransaction,
  { parts, topicOnly }: NonNullable<RepositoryFilter['texts']>,
): Promise<Predicate> => {
  const wanted = await Promise.all(
    parts.map(async ({ word, ownerName }) => ({
      word: foldCase(word),
      isWithin: ownerName === undefined ? () => true : await ownerPredicate(tx, ownerName),
    })),
  )
  return ({ owner, name, description, topics = [] }) => {
    const texts = topicOnly ? [] : [foldCase(name), foldCase(description)]
    return wanted.some(
      ({ word, isWithin }) =>
        isWithin(owner) && (topics.includes(word) || texts.some((text) => text.includes(word))),
    )
  }
}

const ownerPredicate = async (tx: ReadTransaction, name: string) => {
  const id = (await accountByName(tx, name))?.id
  return (owner: number) => owner === id
}

const matchesMode = async (
  tx: ReadTransaction,
  { parent }: Repository,
  mode: SearchMode,
): Promise<boolean> => {
  // No repository is a mirror.
  if (mode === 'mirror') return false
  // A job makes the forks of a deleted repository independent.
  const isFork = parent !== null && (await repositoryById(tx, parent)) !== undefined
  return isFork === (mode === 'fork')
}

/** The stars of a user whom the viewer cannot see match nothing. */
const starPredicate = async (tx: ReadTransaction, viewer: Viewer, id: number): Promise<Predicate> => {
  const account = await accounts.get(tx, [id])
  if (account === undefined || !(await canSee(tx, viewer, account))) return () => false
  return async (repository) => (await stars.get(tx, [id, repository.id])) !== undefined
}

export const sort = (
  found: readonly Repository[],
  { sort: by = 'alpha', descending = false }: RepositoryFilter,
): Repository[] => {
  const key = SORTS[by]
  const sign = descending ? -1 : 1
  return found.toSorted((left, right) => sign * compare(key(left), key(right)) || left.id - right.id)
}
