import { hash } from 'node:crypto'

/**
 * The caches of records and credentials; those of git data are in `lib/git/objects` and
 * `lib/repositories/contents`. "Memory of caches" in docs/operations.md has the bound of each:
 *
 * - `ReadCache` (lib/storage/read-cache.ts), by `Store.load`: whole replies of the JSON API, by what a
 *   request sends, the senders of tokens, the commits of references, and of owners the quota status and the
 *   repositories with their usage. A write drops what was read from its keys before it is committed; besides,
 *   only the limit of memory ends an entry, and no time does. Only on a store of one process: elsewhere each
 *   of these reads the records;
 * - passwords that were verified (`lib/accounts/login.ts`), whose key includes the stored hash;
 * - the uses of tokens and sessions that were noted (`lib/accounts/last-uses.ts`), valid for an hour: losing
 *   one only costs a write;
 * - the table of all owners and the history of the instance (`lib/content/usage/owners-snapshot.ts`,
 *   `instance-history.ts`), which the pages of administrators show. Only these may be out of date: they have
 *   the figures of the last scan.
 */

/** Texts of viewers, since the one of a token is the same object from request to request. */
const texts = new WeakMap<object, string>()

/**
 * A text for keys of caches, which only equal viewers have: it is made of all their members, the scopes and
 * the credentials included.
 */
export const viewerText = (viewer: object | null): string => {
  if (viewer === null) return 'nobody'
  const known = texts.get(viewer)
  if (known !== undefined) return known
  const members = JSON.stringify(viewer, (_name, member) =>
    member instanceof Set ? [...member].sort() : member,
  )
  // Each look-up hashes the whole key, and an identity names all its scopes.
  const text = hash('sha256', members, 'base64url')
  texts.set(viewer, text)
  return text
}

const names = new WeakMap<object, string>()

/** Names a cache for the metrics: lru-cache reports on a diagnostics channel, but without a name. */
export const namedCache = <C extends object>(name: string, cache: C): C => {
  names.set(cache, name)
  return cache
}

export const nameOfCache = (cache: object): string | undefined => names.get(cache)

/**
 * Limits a cache to a number of entries. lru-cache preallocates `max` slots, which takes most of a start;
 * `maxSize` does not.
 */
export const maxEntries = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 })
