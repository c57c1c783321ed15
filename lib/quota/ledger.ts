import { containers, type LedgerEntry, type LedgerKind, ledgerEntries } from '../records/schema.ts'
import type { Change } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { Usage } from './subjects.ts'
import type { Tally } from './tally.ts'

/** The kinds that an owner can list; LFS objects are counted but not listed. */
export type ListedKind = Exclude<LedgerKind, 'lfs'>

/** The record of what counts toward quota and is not git data. */
export interface Ledger {
  get(tx: ReadTransaction, kind: LedgerKind, key: string): Promise<LedgerEntry | undefined>
  /** Writes the entry in the place of one with its kind and key, so the same entry twice counts once. */
  put(tx: Change, entry: LedgerEntry): Promise<{ replaced: boolean }>
  /** Answers whether there was such an entry. */
  remove(tx: Change, kind: LedgerKind, key: string): Promise<boolean>
  /** Removes what an owner has outside of any container. */
  removeOwned(tx: Change, owner: number): Promise<void>
  /** "Lists of what counts are ordered largest first, then by name." */
  list(
    tx: ReadTransaction,
    owner: number,
    kind: ListedKind,
    at: { offset: number; limit: number },
  ): Promise<LedgerEntry[]>
  count(tx: ReadTransaction, owner: number, kind: ListedKind): Promise<number>
}

export const createLedger = (tally: Tally): Ledger => {
  const account = async (tx: Change, entry: LedgerEntry, sign: 1 | -1) => {
    const kind = countedAs(entry)
    const bytes = sign === 1 ? entry.size : 0 - entry.size
    await tally.add(tx, entry.owner, { [kind]: bytes })
    if (entry.container === null) return
    const container = await containers.get(tx, [entry.container])
    if (container === undefined) throw new Error(`no container ${entry.container}`)
    await containers.save(tx, { ...container, [kind]: container[kind] + bytes })
  }

  const remove = async (tx: Change, kind: LedgerKind, key: string) => {
    const before = await ledgerEntries.remove(tx, [kind, key])
    if (before !== undefined) await account(tx, before, -1)
    return before !== undefined
  }

  return {
    get: (tx, kind, key) => ledgerEntries.get(tx, [kind, key]),
    async put(tx, entry) {
      const before = await ledgerEntries.get(tx, [entry.kind, entry.key])
      if (before !== undefined) await account(tx, before, -1)
      await account(tx, entry, 1)
      await ledgerEntries.save(tx, entry)
      return { replaced: before !== undefined }
    },
    remove,
    async removeOwned(tx, owner) {
      const owned = await ledgerEntries.list(tx, 'size', { prefix: [owner] })
      for (const entry of owned) await remove(tx, entry.kind, entry.key)
    },
    list: (tx, owner, kind, at) => ledgerEntries.list(tx, 'size', { prefix: [owner, kind], ...at }),
    count: (tx, owner, kind) => ledgerEntries.count(tx, 'owner', [owner, kind]),
  }
}

export type Counted = Exclude<keyof Usage, 'reposPublic' | 'reposPrivate'>

export const countedAs = (entry: LedgerEntry): Counted => {
  if (entry.kind !== 'attachments') return entry.kind
  return entry.on === 'issue' ? 'issues' : 'releases'
}
