import { setImmediate } from 'node:timers/promises'
import type { Found, Slice } from '../records/pages.ts'

/** Items that are counted at most, unless a page needs more. */
export const MAX_COUNTED = 1000

/** Items that are read before a slot of the client is taken. */
const MAX_WITHOUT_SLOT = 2000

/** Items that are looked at together. */
const BATCH_SIZE = 250

type Items<T> = AsyncIterable<T> | Iterable<T>

/** What the viewer can see of a batch, in its order. */
type VisibleAmong<T, R> = (batch: readonly T[]) => Promise<readonly R[]>

interface Reading {
  /** Items that are read at most for a total: those that the viewer cannot see are read, too. */
  readonly maxRead?: number
  /**
   * Waits for a slot, without which only some thousand items are read: hidden ones can be any number.
   * @returns releases the slot
   */
  readonly acquire?: (() => Promise<() => void>) | undefined
}

/**
 * A page of what the viewer can see. No record copies who may see what it refers to, so each item is looked
 * at, and a total that takes too many is left out.
 */
export const visiblePage = async <T, R>(
  items: Items<T>,
  visibleAmong: VisibleAmong<T, R>,
  { offset, limit }: Slice,
  { maxRead = MAX_COUNTED, acquire = async () => () => undefined }: Reading = {},
): Promise<Found<R>> => {
  const end = offset + limit
  const page: R[] = []
  let [total, read, release] = [0, 0, undefined as (() => void) | undefined]
  let isCounted = true
  try {
    for await (const { visible, size } of visibleBatches(items, visibleAmong)) {
      page.push(...visible.slice(Math.max(0, offset - total), Math.max(0, end - total)))
      total += visible.length
      read += size
      isCounted = total < end || (total <= MAX_COUNTED && read <= maxRead)
      if (!isCounted) break
      if (read >= MAX_WITHOUT_SLOT) release ??= await acquire()
    }
    return { items: page, total: isCounted ? total : undefined }
  } finally {
    release?.()
  }
}

/** What the viewer can see of each batch, and its size. Lets other requests run between batches. */
export async function* visibleBatches<T, R>(items: Items<T>, visibleAmong: VisibleAmong<T, R>) {
  for await (const batch of batchesOf(items)) {
    yield { visible: await visibleAmong(batch), size: batch.length }
    if (batch.length === BATCH_SIZE) await setImmediate()
  }
}

async function* batchesOf<T>(items: Items<T>) {
  let batch: T[] = []
  for await (const item of items) {
    if (batch.push(item) < BATCH_SIZE) continue
    yield batch
    batch = []
  }
  yield batch
}
