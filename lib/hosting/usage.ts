import type { QuotaEngine } from '../quota/index.ts'
import type { ListedKind } from '../quota/ledger.ts'
import { type LedgerEntry, repositories } from '../records/schema.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { Page, Slice } from './listing.ts'

/** What counts toward an owner, and the name of the repository that it is in. */
export interface UsedEntry {
  readonly entry: LedgerEntry
  /** Undefined for a package that belongs to its owner and to no repository. */
  readonly repository: string | undefined
}

export interface UsageListings {
  /** Largest first, with the names and the total of one snapshot. */
  used(owner: number, kind: ListedKind, slice: Slice): Promise<Page<UsedEntry>>
}

export const createUsageListings = (store: Store, { ledger }: QuotaEngine): UsageListings => ({
  used: (owner, kind, slice) =>
    store.read(async (tx) => {
      const entries = await ledger.list(tx, owner, kind, slice)
      const names = await namesOf(tx, entries)
      const items = entries.map((entry) => ({
        entry,
        repository: entry.container === null ? undefined : names.get(entry.container),
      }))
      return { items, total: await ledger.count(tx, owner, kind) }
    }),
})

const namesOf = async (
  tx: ReadTransaction,
  entries: readonly LedgerEntry[],
): Promise<Map<number, string>> => {
  const ids = [...new Set(entries.flatMap(({ container }) => container ?? []))]
  const found = await repositories.getMany(
    tx,
    ids.map((id) => [id]),
  )
  return new Map(found.flatMap((one) => (one === undefined ? [] : [[one.id, one.name] as const])))
}
