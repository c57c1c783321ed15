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

/** Items that are counted at most, unless a page needs more. */
export const MAX_COUNTED = 1000

/** Records that are loaded at once. */
const BATCH_SIZE = 250

interface Listed<R> {
  readonly collection: Pick<Collection<R>, 'load'>
  /** In the order of the results; equal ones follow each other. */
  readonly entries: Entries
  readonly isVisible: (record: R) => boolean | Promise<boolean>
  /** Of the visible records, those that the search finds, given also how many were read; all unless given. */
  readonly matches?: (record: R, read: number) => boolean | Promise<boolean>
}

/** A page of the records that the viewer can see and that match. Lets other requests run between batches. */
export const visibleIn = async <R>(
  tx: ReadTransaction,
  listed: Listed<R>,
  { offset, limit }: Slice,
): Promise<Found<R>> => {
  const enough = Math.max(offset + limit, MAX_COUNTED)
  const items: R[] = []
  let total = 0
  for await (const record of visibleRecords(tx, listed)) {
    if (total >= offset && items.length < limit) items.push(record)
    if (++total > enough) return { items, total: undefined }
  }
  return { items, total }
}

async function* visibleRecords<R>(
  tx: ReadTransaction,
  { collection, entries, isVisible, matches = () => true }: Listed<R>,
): AsyncGenerator<R> {
  let read = 0
  for await (const batch of batchesOf(entries)) {
    for (const record of await collection.load(tx, batch))
      if ((await isVisible(record)) && (await matches(record, ++read))) yield record
    await setImmediate()
  }
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
