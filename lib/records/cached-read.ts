import { type CacheInput, cacheKey } from '../caches.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { Store } from './store.ts'

/**
 * Declares a read whose result is cached until a record that it has read changes. Results of `undefined` are not cached,
 * because clients can ask for any number of things that do not exist.
 *
 * Declare it at module level: then `read` sees nothing but its transaction and its input, and the input is the cache key.
 *
 * @param name part of the cache key; no other read may have it
 * @param read may run again, so it must change nothing
 */
export const cachedRead =
  <Input extends { readonly [member: string]: CacheInput }, T>(
    name: string,
    read: (tx: ReadTransaction, input: Input) => Promise<T>,
  ) =>
  (store: Pick<Store, 'read'>, input: Input): Promise<T> =>
    store.read((tx) => read(tx, input), cacheKey(name, input))
