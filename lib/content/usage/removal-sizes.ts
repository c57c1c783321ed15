/**
 * What the deletion of repositories or of an owner frees, by kind, from the counters. Ledger entries that the
 * host has put count toward quota, and go with their repository; the files that they stand for are in another
 * system, and stay there.
 */
import {
  type LedgerKind,
  ledgerEntries,
  type OwnerUsage,
  RESERVED_PREFIX,
  type RepositoryUsage,
} from '../../records/schema/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { ENTRY_KINDS } from './storage-item.ts'

/** What goes of one kind. */
export interface RemovedKind {
  readonly kind: 'git' | LedgerKind
  readonly bytes: number
  /**
   * Whether this server stores it, so that the deletion frees its bytes; undefined for a kind of which the
   * server stores only a part.
   */
  readonly isStoredHere: boolean | undefined
}

/** Bytes that a deletion frees for certain. */
export const freedBy = (kinds: readonly RemovedKind[]): number =>
  kinds.reduce((sum, { bytes, isStoredHere }) => (isStoredHere ? sum + bytes : sum), 0)

/** Whether the deletion may free more than {@link freedBy} says. */
export const mayFreeMore = (kinds: readonly RemovedKind[]): boolean =>
  kinds.some(({ isStoredHere }) => isStoredHere === undefined)

/** Whether this server stores the entries of each kind, in the whole store, as `RemovedKind` says it. */
export type KindPlaces = ReadonlyMap<RemovedKind['kind'], boolean | undefined>

export const kindPlaces = async (tx: ReadTransaction): Promise<KindPlaces> => {
  const places = ENTRY_KINDS.map(async (kind) => [kind, await placeOf(tx, kind)] as const)
  return new Map([['git', true], ...(await Promise.all(places))])
}

/**
 * The first text after all keys with the reserved prefix: the prefix ends with a colon, and a semicolon
 * follows it in every order of texts by bytes.
 */
const AFTER_RESERVED = `${RESERVED_PREFIX.slice(0, -1)};`

const placeOf = async (tx: ReadTransaction, kind: LedgerKind): Promise<boolean | undefined> => {
  const firstFrom = async (from: string): Promise<string | undefined> => {
    for await (const { key } of ledgerEntries.all(tx, [kind], from)) return key
    return undefined
  }
  const isReserved = (key: string | undefined) => key?.startsWith(RESERVED_PREFIX) ?? false
  const [first, reserved, after] = await Promise.all(['', RESERVED_PREFIX, AFTER_RESERVED].map(firstFrom))
  const hasOthers = (first !== undefined && !isReserved(first)) || after !== undefined
  return isReserved(reserved) && hasOthers ? undefined : isReserved(reserved)
}

const KINDS: readonly RemovedKind['kind'][] = ['git', ...ENTRY_KINDS]

/**
 * What goes with repositories or owners.
 * @param usages of all of them
 * @returns the kinds that they have
 */
export const removedKinds = (
  usages: readonly (RepositoryUsage | OwnerUsage)[],
  places: KindPlaces,
): RemovedKind[] =>
  KINDS.map((kind) => ({
    kind,
    bytes: usages.reduce((sum, usage) => sum + bytesOf(usage, kind), 0),
    isStoredHere: places.get(kind),
  })).filter(({ bytes }) => bytes > 0)

const bytesOf = (usage: RepositoryUsage | OwnerUsage, kind: RemovedKind['kind']): number => {
  if (kind === 'attachments') return usage.issues + usage.releases
  if (kind !== 'git') return usage[kind]
  return 'git' in usage ? usage.git : usage.reposPublic + usage.reposPrivate
}
