import { setImmediate } from 'node:timers/promises'
import type { Collection, IndexEntry } from '../../records/collection.ts'
import { type Entries, recordKeyText } from '../../records/merge.ts'
import type { Found, Slice } from '../../records/pages.ts'
import type { ReadTransaction } from '../../storage/index.ts'

/** Items that are counted at most, unless a page needs more. */
export const MAX_COUNTED = 1000

/** Records that are read at most for a total: what the viewer cannot see is read, too. */
export const MAX_READ = 10_000

/** Records that a search reads before it takes a slot of its client. */
const MAX_WITHOUT_SLOT = 2000

/** Records that are loaded at once. */
const BATCH_SIZE = 250

interface Listed<R> {
  readonly collection: Pick<Collection<R>, 'load'>
  /** In the order of the results; equal ones follow each other. */
  readonly entries: Entries
  readonly isVisible: (record: R) => boolean | Promise<boolean>
  /** Of the visible records, those that the search finds, given also how many were read; all unless given. */
  readonly matches?: (record: R, read: number) => boolean | Promise<boolean>
  /**
   * Waits for a slot, without which only some thousand records are read: hidden ones can be any number.
   * @returns releases the slot
   */
  readonly acquire?: (() => Promise<() => void>) | undefined
}

/** A page of the records that the viewer can see and that match. Lets other requests run between batches. */
export const visibleIn = async <R>(
  tx: ReadTransaction,
  listed: Listed<R>,
  { offset, limit }: Slice,
): Promise<Found<R>> => {
  const { acquire = async () => () => undefined } = listed
  const end = offset + limit
  const items: R[] = []
  const visible = { count: 0 }
  let [total, read, release] = [0, 0, undefined as (() => void) | undefined]
  try {
    for await (const batch of batchesOf(listed.entries)) {
      const found = await matching(tx, listed, batch, visible)
      items.push(...found.slice(Math.max(0, offset - total), Math.max(0, end - total)))
      total += found.length
      read += batch.length
      if (total >= end && (total > MAX_COUNTED || read >= MAX_READ)) return { items, total: undefined }
      if (read >= MAX_WITHOUT_SLOT) release ??= await acquire()
      await setImmediate()
    }
    return { items, total }
  } finally {
    release?.()
  }
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
