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

/** Ids of commits by the names of entries. Entries that were not found within the limits are missing. */
type LastIds = ReadonlyMap<string, string>

/** By repository, commit and entries: a commit never changes. */
const searched = namedCache(
  'last commits',
  new LRUCache<string, LastIds>({
    maxSize: 8 * 1024 * 1024,
    sizeCalculation: (ids, key) => 2 * key.length + 200 * (ids.size + 1),
  }),
)

/** Searches in progress: requests for the same entries wait for one. */
const searches = new Map<string, Promise<LastIds>>()

/**
 * The last commit that changed each of some entries of a folder, by name. Entries whose commit is not found
 * soon are missing: a search of a long history goes on for a while, and the next request has its result.
 * @param folder path; empty for the root
 */
export const lastCommitsIn = async (
  open: OpenCommit,
  folder: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, Commit>> => {
  const ids = await Promise.race([searchOnce(open, folder, names), setTimeout(WAIT_MS, NONE, { ref: false })])
  // The page can do without them.
  const commits = await readCommits(open, [...new Set(ids.values())]).catch(() => [])
  const byId = new Map(commits.map((commit) => [commit.id, commit]))
  const found = [...ids].map(([name, id]) => [name, byId.get(id)] as const)
  return new Map(found.filter((entry): entry is readonly [string, Commit] => entry[1] !== undefined))
}

const NONE: LastIds = new Map()

const searchOnce = async (open: OpenCommit, folder: string, names: readonly string[]): Promise<LastIds> => {
  const key = JSON.stringify([open.access.repository, open.commit, folder, names[0], names.length])
  const known = searched.get(key)
  if (known !== undefined) return known
  const search =
    searches.get(key) ??
    searchHistory(inBackground(open), folder, names)
      .then((found) => {
        searched.set(key, found)
        return found
      })
      .catch(() => NONE)
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
): Promise<LastIds> => {
  const below = folder === '' ? '' : `${folder}/`
  const missing = new Set(names)
  const found = new Map<string, string>()
  const args = ['-z', '--no-renames', '--name-only', `--format=tformat:${MARK}%H`, commit, '--']
  const child = await git.start(access, 'log', folder === '' ? args : [...args, `:(literal)${folder}`])
  const timer = globalThis.setTimeout(() => child.stop(), SEARCH_MS)
  child.stdin.end()
  let id = ''
  let paths = 0
  try {
    for await (const record of recordsOf(child.stdout)) {
      if (record.startsWith(MARK)) id = record.slice(MARK.length)
      else {
        // The first path of a commit follows a line end.
        const name = record.replace(/^\n/, '').slice(below.length).split('/', 1)[0]!
        if (missing.delete(name)) found.set(name, id)
      }
      if (missing.size === 0 || ++paths > MAX_PATHS) return found
    }
    // What was found until the timer stopped git is kept. When git failed or was killed, this throws, and the
    // next request searches again.
    if ((await child.ended).cause === 'exited') await successOf(child)
    return found
  } finally {
    clearTimeout(timer)
    child.stop()
    onSearched()
  }
}

/** Begins the line of a commit among those of paths. */
const MARK = '\u0001'
