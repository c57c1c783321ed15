import type { Entry, KeyRange, ReadTransaction } from './driver.ts'

/** A range of a transaction that calls `check` for each entry. */
export async function* guardedRange(
  source: ReadTransaction,
  range: KeyRange,
  check: () => void,
): AsyncGenerator<Entry> {
  check()
  if (isEmptyRange(range)) return
  for await (const entry of source.range(range)) {
    yield entry
    check()
  }
}

const isEmptyRange = ({ start, end, limit }: KeyRange): boolean =>
  (limit !== undefined && limit <= 0) || Buffer.compare(start, end) >= 0
