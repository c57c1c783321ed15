import { setImmediate } from 'node:timers/promises'
import type { Collection, IndexEntry } from '../../records/collection.ts'
import { type Entries, recordKeyText } from '../../records/merge.ts'
import type { Found, Slice } from '../../records/pages.ts'
import type { ReadTransaction } from '../../storage/index.ts'

/** Items that are counted at most, unless a page needs more. */
export const MAX_COUNTED = 1000

/** Entries that are read at most for a total: those that the viewer cannot see are read, too. */
export const MAX_READ = 10_000

/** Entries that a search reads before it takes a slot of its client. */
const MAX_WITHOUT_SLOT = 2000

/** Entries that are looked at together. */
const BATCH_SIZE = 250

interface Listed<R> {
  readonly collection: Pick<Collection<R>, 'load'>
  /** In the order of the results; equal ones follow each other. */
  readonly entries: Entries
  /** Those that the viewer can see; all unless given. */
  readonly visibleAmong?: (entries: readonly IndexEntry[]) => Promise<readonly IndexEntry[]>
}

interface Counted<R> extends Listed<R> {
  /**
   * Waits for a slot, without which only some thousand entries are read: hidden ones can be any number.
   * @returns releases the slot
   */
  readonly acquire?: (() => Promise<() => void>) | undefined
}

/** A page of what the viewer can see. Only its own records are read, and of the others only the entries. */
export const visiblePage = async <R>(
  tx: ReadTransaction,
  { acquire = async () => () => undefined, collection, ...listed }: Counted<R>,
  { offset, limit }: Slice,
): Promise<Found<R>> => {
  const end = offset + limit
  const page: IndexEntry[] = []
  let [total, read, release] = [0, 0, undefined as (() => void) | undefined]
  let isCounted = true
  try {
    for await (const { entries, size } of visibleBatches(listed)) {
      page.push(...entries.slice(Math.max(0, offset - total), Math.max(0, end - total)))
      total += entries.length
      read += size
      isCounted = total < end || (total <= MAX_COUNTED && read < MAX_READ)
      if (!isCounted) break
      if (read >= MAX_WITHOUT_SLOT) release ??= await acquire()
    }
    return { items: await collection.load(tx, page), total: isCounted ? total : undefined }
  } finally {
    release?.()
  }
}

/**
 * All records that the viewer can see and that match.
 * @param matches is given also how many records were read
 */
export const allMatching = async <R>(
  tx: ReadTransaction,
  { collection, ...listed }: Listed<R>,
  matches: (record: R, read: number) => Promise<boolean>,
): Promise<R[]> => {
  const found: R[] = []
  let read = 0
  for await (const { entries } of visibleBatches(listed))
    for (const record of await collection.load(tx, entries))
      if (await matches(record, ++read)) found.push(record)
  return found
}

/** The visible entries of each batch, and its size. Lets other requests run between batches. */
async function* visibleBatches({
  entries,
  visibleAmong = async (all) => all,
}: Omit<Listed<never>, 'collection'>) {
  for await (const batch of batchesOf(entries)) {
    yield { entries: await visibleAmong(batch), size: batch.length }
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
