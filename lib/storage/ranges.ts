import type { Entry, KeyRange, ReadTransaction } from './driver.ts'

/** A source that returns items in pages; an empty page is the end. */
export interface PageSource<T> {
  /** The next page; an empty one at the end. */
  next(): Promise<readonly T[]>
  /** Releases what the source holds. */
  close(): Promise<void>
}

/**
 * Iterates over the items of pages, and fetches the next page while the current one is read. It costs a third
 * of what an async generator costs, which is most of the cost of reading a long range. The source is opened
 * when the first item is requested, and closed at the end, on an early return and on failure.
 */
export const prefetch = <T>(open: () => PageSource<T>): AsyncIterable<T> => ({
  [Symbol.asyncIterator]: () => new PrefetchIterator(open),
})

/** Pages after which a reader probably reads on. */
const PREFETCH_AFTER = 2

class PrefetchIterator<T> implements AsyncIterator<T, undefined> {
  readonly #open: () => PageSource<T>
  #source: PageSource<T> | undefined
  #page: readonly T[] = []
  #index = 0
  /** The page after this one, while it is being fetched. */
  #nextPage: Promise<readonly T[]> | undefined
  #pageCount = 0
  #hasEnded = false

  constructor(open: () => PageSource<T>) {
    this.#open = open
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#index < this.#page.length
      ? Promise.resolve({ done: false, value: this.#page[this.#index++]! })
      : this.#turnPage()
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    if (!this.#hasEnded) {
      this.#hasEnded = true
      this.#page = []
      await this.#nextPage?.catch(() => undefined)
      await this.#source?.close()
    }
    return { done: true, value: undefined }
  }

  async #turnPage(): Promise<IteratorResult<T, undefined>> {
    if (this.#hasEnded) return { done: true, value: undefined }
    try {
      this.#source ??= this.#open()
      const nextPage = this.#nextPage ?? this.#source.next()
      this.#nextPage = undefined
      this.#page = await nextPage
      this.#index = 0
      if (++this.#pageCount >= PREFETCH_AFTER && this.#page.length > 0) this.#fetch(this.#source)
    } catch (error) {
      await this.return()
      throw error
    }
    return this.#page.length === 0 ? this.return() : this.next()
  }

  #fetch(source: PageSource<T>): void {
    this.#nextPage = source.next()
    // The reader gets the error when it reaches this page; until then the rejection must not be unhandled.
    this.#nextPage.catch(() => undefined)
  }
}

/** A range of a transaction that calls `check` for each entry. Not an async generator, which is slower. */
export const guardedRange = (
  source: ReadTransaction,
  range: KeyRange,
  check: () => void,
): AsyncIterable<Entry> => ({
  [Symbol.asyncIterator]() {
    let entries: AsyncIterator<Entry> | undefined
    const isEmpty = isEmptyRange(range)
    const leave = async (): Promise<IteratorReturnResult<undefined>> => {
      await entries?.return?.()
      return { done: true, value: undefined }
    }
    const refuse = async (error: unknown): Promise<never> => {
      await leave()
      throw error
    }
    return {
      next() {
        try {
          check()
        } catch (error) {
          return refuse(error)
        }
        if (isEmpty) return leave()
        entries ??= source.range(range)[Symbol.asyncIterator]()
        return entries.next()
      },
      return: leave,
    }
  },
})

const isEmptyRange = ({ start, end, limit }: KeyRange): boolean =>
  (limit !== undefined && limit <= 0) || Buffer.compare(start, end) >= 0
