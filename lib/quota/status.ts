import { LRUCache } from 'lru-cache'
import { maxEntries, namedCache } from '../caches.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { QuotaGroup } from './evaluate.ts'
import { assignedTo, readGroup } from './groups.ts'
import type { Usage } from './subjects.ts'
import type { UsageCounters } from './usage.ts'

/** All that an evaluation needs to know of one owner. */
export interface QuotaStatus {
  readonly usage: Usage
  /** The groups that the owner is judged by. */
  readonly groups: readonly QuotaGroup[]
  /** Those of them that are shown: the built-in default group has no name and is not. */
  readonly shown: readonly QuotaGroup[]
}

/** "A user with no explicit assignment is evaluated against the default groups set in the instance configuration." */
export interface QuotaDefaults {
  groups: readonly string[]
  /** Bytes over everything, for the simple case of neither group; undefined is no limit. */
  total?: number | undefined
}

export interface QuotaStatusCache {
  /** The answer itself where it is memoized, so that the hot path needs no promise. */
  of(owner: number): QuotaStatus | Promise<QuotaStatus>
  drop(owner: number): void
  dropAll(): void
}

const MAX_CACHED_OWNERS = 20_000

export const createStatusCache = (
  store: Store,
  usageCounters: UsageCounters,
  defaults: QuotaDefaults,
): QuotaStatusCache => {
  const read = (owner: number) => store.read((tx) => readStatus(tx, owner, usageCounters, defaults))
  // Other processes write to a shared store, and what they change is not heard of here: nothing is kept.
  if (store.driver.shared) return { of: read, drop: () => undefined, dropAll: () => undefined }

  // fetch() joins readers of one owner, and a fetch that was under way when its owner was dropped is not kept:
  // so, with the drop after the commit, no answer is older than the last acknowledged write.
  const memo = namedCache(
    'quota',
    new LRUCache<number, QuotaStatus>({
      ...maxEntries(MAX_CACHED_OWNERS),
      fetchMethod: read,
      ignoreFetchAbort: true,
    }),
  )
  return {
    of: (owner) => memo.get(owner) ?? (memo.fetch(owner) as Promise<QuotaStatus>),
    drop: (owner) => void memo.delete(owner),
    dropAll: () => memo.clear(),
  }
}

const readStatus = async (
  tx: ReadTransaction,
  owner: number,
  usageCounters: UsageCounters,
  defaults: QuotaDefaults,
): Promise<QuotaStatus> => {
  const usage = await usageCounters.of(tx, owner)
  const explicit = await readGroups(tx, await assignedTo(tx, owner))
  const shown = explicit.length > 0 ? explicit : await readGroups(tx, defaults.groups)
  return { usage, shown, groups: effectiveGroups(shown, defaults) }
}

const readGroups = async (tx: ReadTransaction, names: readonly string[]): Promise<QuotaGroup[]> => {
  const found = await Promise.all(names.map((name) => readGroup(tx, name)))
  return found.filter((group) => group !== undefined)
}

/** The built-in default group judges where there is no other. */
export const effectiveGroups = (
  shown: readonly QuotaGroup[],
  defaults: QuotaDefaults,
): readonly QuotaGroup[] => (shown.length > 0 ? shown : builtIn(defaults))

const builtIn = ({ total }: QuotaDefaults): QuotaGroup[] =>
  total === undefined ? [] : [{ name: '', rules: [{ name: '', limit: total, subjects: ['size:all'] }] }]
