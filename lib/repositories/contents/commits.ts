import { LRUCache } from 'lru-cache'
import { maxEntries, namedCache } from '../../caches.ts'
import { type Commit, parseCommit, parseTag, type Tag } from '../../git/objects/parse.ts'
import type { Slice } from '../../records/pages.ts'
import { commitOf, inBackground, type OpenCommit, type OpenRepository } from './open-repository.ts'

/**
 * Commits by their ids, once each; those that do not exist are left out. Of commits that are too large
 * together, only the beginnings are read, or nothing but the id: the message then ends with a mark.
 */
export const readCommits = async (
  { git, access }: OpenRepository,
  ids: readonly string[],
): Promise<Commit[]> => (await git.texts(access, 'commit', ids)).map(parseCommit)

export const readCommit = async (open: OpenRepository, id: string): Promise<Commit | undefined> => {
  const [commit] = await readCommits(open, [id])
  return commit
}

/** Annotated tags, by the ids of the tags themselves, as {@link readCommits}. */
export const readTags = async ({ git, access }: OpenRepository, ids: readonly string[]): Promise<Tag[]> =>
  (await git.texts(access, 'tag', ids)).map(parseTag)

/** Which commits of a history are listed; everything that is absent does not matter. */
interface CommitFilter {
  /** File or folder that the commit changed. */
  readonly path?: string | undefined
  /** Part of the author's name or address, without case. */
  readonly author?: string | undefined
  /** Seconds since 1970, of the committer's time. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** Branch, tag or id: commits that it reaches are left out. */
  readonly not?: string | undefined
}

interface CommitPage {
  readonly items: readonly Commit[]
  /**
   * Counts the commits of all pages. Called after everything else of the request, since a request runs one
   * git command at a time: two would wait for each other where the client's share is one.
   * @returns undefined for a long history, which is counted after its first page is read
   */
  count(): Promise<number | undefined>
}

/**
 * A page of the history of a commit, the newest first.
 * @returns undefined when the reference in `not` does not exist
 */
export const listCommits = async (
  open: OpenCommit,
  filter: CommitFilter,
  { offset, limit }: Slice,
): Promise<CommitPage | undefined> => {
  const selection = await selectionOf(open, filter)
  if (selection === undefined) return undefined
  if (isImpossible(filter)) return { items: [], count: () => Promise.resolve(0) }
  const skip = Math.min(offset, MAX_SKIP)
  const args = [`--max-count=${limit}`, `--skip=${skip}`, ...selection]
  const page = await open.git.lines(open.access, 'rev-list', args)
  return { items: await readCommits(open, page), count: () => countFor(open, selection) }
}

/** Larger numbers overflow in git, which then skips nothing. */
const MAX_SKIP = 2 ** 31 - 1

/**
 * No path or author has these characters: arguments end at a NUL, and git takes each line of an author as an
 * alternative.
 */
const isImpossible = ({ path = '', author = '', until = 0 }: CommitFilter): boolean =>
  path.includes('\0') || author.includes('\0') || author.includes('\n') || until < 0

/** A time as git reads it exactly: it would guess what a small number without `@` means. */
const timeOf = (seconds: number): string => `@${Math.max(0, seconds)} +0000`

const selectionOf = async (open: OpenCommit, filter: CommitFilter): Promise<string[] | undefined> => {
  const { path, author, since, until, not } = filter
  const excluded = not ? await commitOf(open, not) : undefined
  if (not && excluded === undefined) return undefined
  return [
    ...(author ? ['--fixed-strings', '--regexp-ignore-case', `--author=${author}`] : []),
    ...(since === undefined ? [] : [`--since=${timeOf(since)}`]),
    ...(until === undefined ? [] : [`--until=${timeOf(until)}`]),
    open.commit,
    ...(excluded === undefined ? [] : [`^${excluded}`]),
    '--',
    ...(path ? [`:(literal)${path}`] : []),
  ]
}

/** Commits that are counted while a page waits. A longer history is counted on, for the requests after it. */
const MAX_COUNT = 5000

/** @returns undefined when there are more than {@link MAX_COUNT} commits and they are not counted yet */
const countFor = async (open: OpenCommit, selection: readonly string[]): Promise<number | undefined> => {
  const { repository } = open.access
  const key = [repository, ...selection].join(' ')
  const known = counts.get(key)?.count
  if (known !== undefined || counting.has(key)) return known
  const near = await countFromLast(open, selection)
  const found = near ?? (await countList(open, [`--max-count=${MAX_COUNT + 1}`, ...selection]))
  if (near === undefined && found > MAX_COUNT) {
    // A failure means that the next request counts again.
    countOn(inBackground(open), selection, key).catch(() => undefined)
    return undefined
  }
  remember(open, selection, key, found)
  return found
}

/**
 * The number of commits of a whole history, from that of the last one that was counted in the repository and
 * what only one of them has: after a push, these are few.
 */
const countFromLast = async (
  { git, access, commit }: OpenCommit,
  selection: readonly string[],
): Promise<number | undefined> => {
  const last = isWhole(selection) ? counts.get(String(access.repository)) : undefined
  if (last === undefined) return undefined
  const range = [`--max-count=${MAX_COUNT + 1}`, `${commit}...${last.commit}`]
  // The last one may be deleted.
  const [line = ''] = await git
    .lines(access, 'rev-list', ['--count', '--left-right', ...range])
    .catch(() => [])
  const [added = Number.NaN, gone = Number.NaN] = line.split('\t').map(Number)
  return added + gone <= MAX_COUNT ? last.count + added - gone : undefined
}

/** Whether all commits that a commit reaches are selected. */
const isWhole = (selection: readonly string[]): boolean => selection.length === 2

/**
 * Numbers of commits by repository and selection, and the last of a whole history by repository. A selection
 * names commits by their ids, so its number never changes.
 */
const counts = namedCache(
  'commit counts',
  new LRUCache<string, { readonly commit: string; readonly count: number }>(maxEntries(10_000)),
)

const remember = (
  { commit, access }: OpenCommit,
  selection: readonly string[],
  key: string,
  count: number,
): void => {
  counts.set(key, { commit, count })
  if (isWhole(selection)) counts.set(String(access.repository), { commit, count })
}

const countOn = async (open: OpenCommit, selection: readonly string[], key: string): Promise<void> => {
  if (counting.has(key)) return
  counting.add(key)
  try {
    // A whole history is counted by its bitmap, if it has one.
    const args = isWhole(selection) ? ['--use-bitmap-index', open.commit] : selection
    remember(open, selection, key, await countList(open, args))
  } finally {
    counting.delete(key)
  }
}

/** Keys of the counts in progress: requests for the same history do not start another one. */
const counting = new Set<string>()

/** @param selection arguments of git-rev-list */
export const countList = async (
  { git, access }: OpenRepository,
  selection: readonly string[],
): Promise<number> => Number((await git.lines(access, 'rev-list', ['--count', ...selection]))[0] ?? 0)

/**
 * The last commit that changed a file or folder; undefined when there is none.
 * @param signal stops the search
 */
export const lastCommitOf = async (
  open: OpenCommit,
  path: string,
  signal?: AbortSignal,
): Promise<string | undefined> => {
  try {
    const args = ['--max-count=1', open.commit, '--', `:(literal)${path}`]
    const [id] = await open.git.lines(open.access, 'rev-list', args, signal)
    return id
  } finally {
    // A search that took too long is the one that a commit-graph helps most.
    open.onSearched()
  }
}
