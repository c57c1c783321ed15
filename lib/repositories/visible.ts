import { setImmediate } from 'node:timers/promises'
import { openAudiences, type Viewer } from '../accounts/access.ts'
import { type Shared, sharedWith } from '../accounts/rights.ts'
import type { Collection, IndexEntry } from '../records/collection.ts'
import { pendingIds } from '../records/jobs.ts'
import { recordKey } from '../records/layout.ts'
import { type Entries, recordKeyText } from '../records/merge.ts'
import type { Found, Slice } from '../records/pages.ts'
import { type Audience, PRIVATE, type Repository } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** Which repositories a viewer can see, to decide on many. */
export interface Sight {
  /** Audiences of the repositories that the viewer can see, whoever owns them. */
  readonly open: readonly Audience[]
  /** What the viewer can see by a right. */
  readonly own: Shared
  readonly isVisible: (repository: Repository) => boolean
}

export const sightOf = async (tx: ReadTransaction, viewer: Viewer): Promise<Sight> => {
  const open = openAudiences(viewer)
  // A job removes the repositories of deleted owners in steps.
  const deleted = new Set(await pendingIds(tx, 'removeAccountData'))
  const own =
    viewer === null || open.includes(PRIVATE)
      ? { owners: [], repositories: [] }
      : await sharedWith(tx, viewer.id)
  const [owners, shared] = [new Set(own.owners), new Set(own.repositories.map(({ id }) => id))]
  const isVisible = ({ id, owner, audience }: Repository) =>
    !deleted.has(owner) && (open.includes(audience) || owners.has(owner) || shared.has(id))
  return { open, own, isVisible }
}

/** Items that a search counts at most, unless a page needs more. */
export const MAX_COUNTED = 1000

/** Records that are read at most for a total: what the viewer cannot see is read, too. */
export const MAX_READ = 10_000

/** Records that are loaded at once. */
const BATCH_SIZE = 250

interface Listed<R> {
  readonly collection: Pick<Collection<R>, 'load'>
  /** In the order of the results; equal ones follow each other. */
  readonly entries: Entries
  readonly isVisible: (record: R) => boolean | Promise<boolean>
  /** Of the visible records, those that the search finds, given also how many were read; all unless given. */
  readonly matches?: (record: R, read: number) => boolean | Promise<boolean>
  /** Items that are counted at most, unless the page needs more. */
  readonly maxCounted?: number
}

/** A page of the records that the viewer can see and that match. Lets other requests run between batches. */
export const visibleIn = async <R>(
  tx: ReadTransaction,
  listed: Listed<R>,
  { offset, limit }: Slice,
): Promise<Found<R>> => {
  const end = offset + limit
  const items: R[] = []
  const visible = { count: 0 }
  let [total, read] = [0, 0]
  for await (const batch of batchesOf(listed.entries)) {
    const found = await matching(tx, listed, batch, visible)
    items.push(...found.slice(Math.max(0, offset - total), Math.max(0, end - total)))
    total += found.length
    read += batch.length
    const isEnough = total > (listed.maxCounted ?? MAX_COUNTED) || read >= MAX_READ
    if (isEnough && total >= end) return { items, total: undefined }
    await setImmediate()
  }
  return { items, total }
}

/**
 * Of the records of a batch, those that the viewer can see and that match.
 * @param visible number of those that the viewer can see, of this batch and the ones before
 */
const matching = async <R>(
  tx: ReadTransaction,
  { collection, isVisible, matches = () => true }: Listed<R>,
  batch: readonly IndexEntry[],
  visible: { count: number },
): Promise<R[]> => {
  const found: R[] = []
  for (const record of await collection.load(tx, batch))
    if ((await isVisible(record)) && (await matches(record, ++visible.count))) found.push(record)
  return found
}

/** Entries of other records as those of the records of a collection that they refer to. */
export async function* referred<R>(
  { options }: Collection<R, string, string, string>,
  entries: AsyncIterable<IndexEntry>,
  idOf: (entry: IndexEntry) => number,
): AsyncGenerator<IndexEntry> {
  for await (const entry of entries)
    yield { order: entry.order, recordKey: recordKey(options.name, [idOf(entry)]) }
}

/** The entries without repetitions, in batches. */
async function* batchesOf(entries: Entries) {
  let [batch, last]: [IndexEntry[], string] = [[], '']
  for await (const entry of entries) {
    const record = recordKeyText(entry)
    if (record === last) continue
    last = record
    if (batch.push(entry) < BATCH_SIZE) continue
    yield batch
    batch = []
  }
  yield batch
}
