import { hash } from 'node:crypto'

/**
 * Keys of cached reads. These are the caches of records and credentials; those of git data are in
 * `lib/git/objects` and `lib/repositories/contents`. "Memory of caches" in docs/operations.md has the bound
 * of each:
 *
 * - the read cache of the storage driver, for all reads of records. LevelDB drops an entry before a record
 *   that it was read from is written; PostgreSQL, where other processes write too, validates it by one query
 *   before each use;
 * - what write transactions read on LevelDB (`RecentReads` in `lib/storage/transactions.ts`), dropped after
 *   the batch that changes it;
 * - quota statuses (`lib/quota/status.ts`), dropped after the commit that changes them: the hot path must not
 *   pay for a transaction. Only on a store of one process;
 * - the last token of a connection (`lib/accounts/identity.ts`), valid until the next write and for 10
 *   minutes at most, for the same reason. Only on a store of one process. Otherwise the read cache has the
 *   sender of a token (`senderOfToken`) and, on PostgreSQL, whole replies under its hash (`noteUse`). None of
 *   them ends with time, so only a write can end a token;
 * - totals of searches (`lib/repositories/search/search.ts`), valid for one version of the index;
 * - passwords that were verified (`lib/accounts/login.ts`), whose key includes the stored hash;
 * - the uses of tokens and sessions that were noted (`lib/accounts/last-uses.ts`), valid for an hour: losing
 *   one only costs a write;
 * - the table of all owners and the history of the instance (`lib/content/usage/owner-table.ts`,
 *   `instance-history.ts`), which the pages of administrators show. Only these may be out of date: they have
 *   the figures of the last scan.
 */

declare const isKey: unique symbol

/**
 * Key of a cached read: two reads with the same key return the same value while nothing they read has
 * changed.
 */
export type CacheKey = string & { readonly [isKey]: true }

/**
 * A value that a cached read depends on besides records. Objects must not change; members with other types do
 * not compile.
 */
export type CacheInput =
  | string
  | number
  | boolean
  | null
  | undefined
  | ReadonlySet<string>
  | CacheConstant
  | { readonly [member: string]: CacheInput }

/**
 * Base of objects that are created once, with the store, and never change. Every key of its cache has the
 * same text for them.
 */
export abstract class CacheConstant {
  /** Keeps other objects from being assignable. */
  protected readonly isConstant = true
}

/**
 * @param read name of the read, which no other read has
 * @param input everything that the read depends on besides records
 */
export const cacheKey = (read: string, input: { readonly [member: string]: CacheInput }): CacheKey => {
  let key = read
  for (const name in input) key += ` ${name}=${textOf(input[name])}`
  return key as CacheKey
}

/** Characters; about the length of a digest. */
const MAX_TEXT_LENGTH = 44

/** Texts of objects, since an identity is the same object from request to request. */
const texts = new WeakMap<object, string>()

/** Invariant: different inputs have different texts, because strings follow their lengths. */
const textOf = (input: CacheInput): string => {
  if (typeof input === 'string') return `${input.length}'${input}`
  if (typeof input === 'number') return String(input)
  if (typeof input !== 'object' || input === null) return JSON.stringify(input) ?? ''
  if (input instanceof CacheConstant) return ''
  const known = texts.get(input)
  if (known !== undefined) return known
  const members = Object.entries(input).map(([name, member]) => `${name}:${textOf(member)}`)
  const whole = input instanceof Set ? JSON.stringify([...input].sort()) : `{${members.join()}}`
  // Each read hashes its whole key, so the texts of identities, which have all scopes, are shortened.
  const text = whole.length > MAX_TEXT_LENGTH ? hash('sha256', whole, 'base64url') : whole
  texts.set(input, text)
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
