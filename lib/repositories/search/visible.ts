import { setImmediate } from 'node:timers/promises'
import type { Collection, IndexEntry } from '../../records/collection.ts'
import { type Entries, recordKeyText } from '../../records/merge.ts'
import type { Found, Slice } from '../../records/pages.ts'
import type { ReadTransaction } from '../../storage/index.ts'

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
