import { setTimeout } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { namedCache } from '../../caches.ts'
import type { Commit } from '../../git/objects/parse.ts'
import { successOf } from '../../git/processes.ts'
import { readCommits } from './commits.ts'
import { inBackground, type OpenCommit } from './open-repository.ts'
import { recordsOf } from './trees.ts'

/** Milliseconds that a page waits for the last commits of its entries. */
const WAIT_MS = 100
/** Milliseconds after which a search ends. */
export const SEARCH_MS = 3000
/** Changed paths that a search reads. */
const MAX_PATHS = 200_000

/** What a search has found so far. */
interface Searched {
  /** Ids of commits by the names of entries. */
  readonly ids: ReadonlyMap<string, string>
  /** Commits that were read, the newest first: the next search goes on after them. */
  readonly commits: number
  /** Whether there is nothing more to find. */
  readonly isWhole: boolean
}

const NOTHING: Searched = { ids: new Map(), commits: 0, isWhole: false }

/** By repository, commit and entries: a commit never changes. */
const searched = namedCache(
  'last commits',
  new LRUCache<string, Searched>({
    maxSize: 8 * 1024 * 1024,
    sizeCalculation: ({ ids }, key) => 2 * key.length + 200 * (ids.size + 1),
  }),
)

/** Searches in progress: requests for the same entries wait for one. */
const searches = new Map<string, Promise<Searched>>()

/**
 * The last commit that changed each of some entries of a folder, by name. Entries whose commit is not found
 * soon are missing: a search of a long history goes on for a while, and the next request has its result, and
 * goes on with it.
 * @param folder path; empty for the root
 */
export const lastCommitsIn = async (
  open: OpenCommit,
  folder: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, Commit>> => {
  const key = JSON.stringify([open.access.repository, open.commit, folder, names[0], names.length])
  const known = searched.get(key) ?? NOTHING
  const search = known.isWhole ? known : searchOnce(open, folder, names, key, known)
  const { ids } = await Promise.race([search, setTimeout(WAIT_MS, known, { ref: false })])
  // The page can do without them.
  const commits = await readCommits(open, [...new Set(ids.values())]).catch(() => [])
  const byId = new Map(commits.map((commit) => [commit.id, commit]))
  const found = [...ids].map(([name, id]) => [name, byId.get(id)] as const)
  return new Map(found.filter((entry): entry is readonly [string, Commit] => entry[1] !== undefined))
}

const searchOnce = (
  open: OpenCommit,
  folder: string,
  names: readonly string[],
  key: string,
  known: Searched,
): Promise<Searched> => {
  const search =
    searches.get(key) ??
    searchHistory(inBackground(open), folder, names, known)
      .then((found) => {
        searched.set(key, found)
        return found
      })
      .catch(() => known)
      .finally(() => searches.delete(key))
  searches.set(key, search)
  return search
}

/**
 * Reads the changed paths of one commit after the other, from the newest, until each entry was among them.
 */
const searchHistory = async (
  { git, access, commit, onSearched }: OpenCommit,
  folder: string,
  names: readonly string[],
  before: Searched,
): Promise<Searched> => {
  const below = folder === '' ? '' : `${folder}/`
  const found = new Map(before.ids)
  const missing = new Set(names.filter((name) => !found.has(name)))
  const args = [
    `--skip=${before.commits}`,
    '-z',
    '--no-renames',
    '--name-only',
    `--format=tformat:${MARK}%H`,
    commit,
    '--',
  ]
  const child = await git.start(access, 'log', folder === '' ? args : [...args, `:(literal)${folder}`])
  const timer = globalThis.setTimeout(() => child.stop(), SEARCH_MS)
  child.stdin.end()
  let id = ''
  // Length of the line end before the first path of a commit.
  let lineEnd = 0
  let commits = 0
  let paths = 0
  // The last commit may not have been read to its end. One that has too many paths is not read again.
  const result = (isWhole: boolean): Searched => ({
    ids: found,
    commits: before.commits + Math.max(commits - 1, 0),
    isWhole,
  })
  try {
    for await (const record of recordsOf(child.stdout)) {
      if (record.startsWith(MARK)) {
        id = record.slice(MARK.length)
        lineEnd = 1
        commits++
      } else {
        const name = record.slice(lineEnd + below.length).split('/', 1)[0]!
        lineEnd = 0
        if (missing.delete(name)) found.set(name, id)
      }
      if (missing.size === 0) return result(true)
      if (++paths > MAX_PATHS) return result(commits === 1)
    }
    // What was found until the timer stopped git is kept. When git failed or was killed, this throws, and the
    // next request searches again.
    if ((await child.ended).cause !== 'exited') return result(false)
    await successOf(child)
    return result(true)
  } finally {
    clearTimeout(timer)
    child.stop()
    onSearched()
  }
}

/** Begins the record of a commit. A path does not begin with a slash. */
const MARK = '/'
