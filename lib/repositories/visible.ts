import { setImmediate } from 'node:timers/promises'
import { ClientBudget } from '../client-budget.ts'
import type { Found, Slice } from '../records/pages.ts'

/** A total is at most this. */
export const MAX_COUNTED = 1000

/** Items that are read at most for a total: those that the viewer cannot see are read, too. */
export const MAX_READ = 10_000

/** Items that are read before a slot of the client is taken. */
const MAX_WITHOUT_SLOT = 2000

/** Items that are looked at together. */
const BATCH_SIZE = 250

type Items<T> = AsyncIterable<T> | Iterable<T>

/** What the viewer can see of a batch, in its order. */
type VisibleAmong<T, R> = (batch: readonly T[]) => Promise<readonly R[]>

/**
 * Waits for a slot, without which only some thousand items are read: hidden ones can be any number.
 * @returns releases the slot
 */
export type Acquire = () => Promise<() => void>

export interface WithReadBudget {
  /** The slots of the searches and lists of an instance that read many items. */
  readonly readBudget: ClientBudget
}

export const createReadBudget = () =>
  new ClientBudget({ slots: 2, queue: 100, message: 'too many searches are running: try again' })

/** @param client absent for the host itself, which waits for no slot */
export const slotFor = (budget: ClientBudget, client: string | undefined): Acquire | undefined =>
  client === undefined ? undefined : () => budget.acquire(client)

/**
 * A page of what the viewer can see. No record copies who may see what it refers to, so each item is looked
 * at. Invariant: whether there is a total, and which, is the same for every page, since a total that tells
 * pages apart would tell of hidden items.
 * @param acquire absent for a read that has a slot
 */
export const visiblePage = async <T, R>(
  items: Items<T>,
  visibleAmong: VisibleAmong<T, R>,
  { offset, limit }: Slice,
  acquire: Acquire = async () => () => undefined,
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
      isCounted = total <= MAX_COUNTED && read <= MAX_READ
      if (!isCounted && total >= end) break
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

/** The ids that items refer to. */
export async function* idsIn<T>(items: Items<T>, idOf: (item: T) => number): AsyncGenerator<number> {
  for await (const item of items) yield idOf(item)
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
