import type { QuotaEngine } from '../quota/index.ts'
import type { ListedKind } from '../quota/ledger.ts'
import { type Attachment, attachments, type LedgerEntry, releases, repositories } from '../records/schema.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { attachmentIdIn } from './attached.ts'
import type { Page, Slice } from './listing.ts'

/** What counts toward an owner, and the name of the repository that it is in. */
export interface UsedEntry {
  readonly entry: LedgerEntry
  /** Undefined for a package that belongs to its owner and to no repository. */
  readonly repository: string | undefined
  /** Of an attachment that this server keeps: what it hangs on. */
  readonly attached?: Attached | undefined
}

export interface Attached {
  /** The id of the attachment. */
  readonly id: number
  readonly on: Attachment['on']
  /** The number of the issue, or the id of the comment or the release. */
  readonly holder: number
  /** Of a release. */
  readonly tag: string | undefined
}

export interface UsageListings {
  /** Largest first, with the names and the total of one snapshot; the same object while nothing of it has changed. */
  used(owner: number, kind: ListedKind, slice: Slice): Promise<Page<UsedEntry>>
}

export const createUsageListings = (store: Store, { ledger }: QuotaEngine): UsageListings => ({
  used: (owner, kind, slice) =>
    store.read(async (tx) => {
      const entries = await ledger.list(tx, owner, kind, slice)
      const names = await namesOf(tx, entries)
      const items = await Promise.all(
        entries.map(async (entry) => ({
          entry,
          repository: entry.container === null ? undefined : names.get(entry.container),
          attached: await attachedIn(tx, entry),
        })),
      )
      return { items, total: await ledger.count(tx, owner, kind) }
    }, `usage of ${owner} in ${kind} from ${slice.offset} to ${slice.limit}`),
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

const attachedIn = async (
  tx: ReadTransaction,
  { key, index }: LedgerEntry,
): Promise<Attached | undefined> => {
  const id = attachmentIdIn(key)
  const attachment = id === undefined ? undefined : await attachments.get(tx, [id])
  if (attachment === undefined) return undefined
  const { on, holder } = attachment
  const tag = on === 'release' ? (await releases.get(tx, [holder]))?.tag : undefined
  return { id: attachment.id, on, holder: on === 'issue' ? (index ?? 0) : holder, tag }
}
