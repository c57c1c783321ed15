/**
 * Ids in the order of the commits. A process takes ids before its transactions begin and in blocks, so that
 * insertions do not contend for a sequence: a later record can have a lower id than one of another process,
 * or than one of this process whose transaction was quicker. Where a list is ordered by ids, a write compares
 * its ids with the last one of the list, and runs again with higher ones when they are not above it.
 */
import type { Store, WriteContext } from './store.ts'

class IdsTooLow extends Error {
  override readonly message = 'the ids of this write are too low, so it runs again with higher ones'
  readonly last: number

  constructor(last: number) {
    super()
    this.last = last
  }
}

/**
 * Called within {@link writeAscending}.
 * @param last the highest id of the list; undefined when it is empty
 */
export const requireAbove = (last: number | undefined, ids: readonly number[]): void => {
  if (last !== undefined && ids.length > 0 && ids[0]! <= last) throw new IdsTooLow(last)
}

/**
 * Runs a write with as many ids of a sequence as `count`, which ascend.
 * @param work calls {@link requireAbove}; it may run again, like that of `store.write`, and with other ids
 */
export const writeAscending = async <T>(
  store: Store,
  { sequence, count = 1 }: { readonly sequence: string; readonly count?: number },
  work: (tx: WriteContext, ids: readonly number[]) => Promise<T>,
): Promise<T> => {
  let last = 0
  for (;;) {
    const ids: number[] = []
    while (ids.length < count) ids.push(await store.sequences.next(sequence, ids.at(-1) ?? last))
    try {
      return await store.write((tx) => work(tx, ids))
    } catch (error) {
      if (!(error instanceof IdsTooLow)) throw error
      last = error.last
    }
  }
}
