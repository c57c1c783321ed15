import { setTimeout } from 'node:timers/promises'

/**
 * Milliseconds that a page waits for a value, and for one after a change that was made on a page or that is
 * read for each page.
 */
const [WAIT_MS, LONG_WAIT_MS] = [500, 10_000]
/** A value that is older, in milliseconds, is not shown anymore. */
const MAX_AGE_MS = 86_400_000

interface Known<T> {
  readonly value: T
  /** Number of changes before it was read. */
  readonly changes: number
  /** Milliseconds since 1970 at which it was read. */
  readonly readAt: number
  /** Milliseconds after that in which it is not read again. */
  readonly age: number
}

/**
 * A value that is read from all records of a kind, for the pages of administrators: these must not wait for
 * the scan of a large instance. They get figures that are some seconds old, and the scan runs beside the
 * requests, in small steps, a small part of the time.
 */
export class Refreshed<T> {
  readonly #read: () => Promise<T>
  readonly #ageOf: (value: T, took: number) => number
  #known: Known<T> | undefined
  #reading: { readonly changes: number; readonly result: Promise<T> } | undefined
  #changes = 0

  /**
   * @param ageOf milliseconds after which a value is read again that took so many to read; 0 to read it for
   * each page
   */
  constructor(read: () => Promise<T>, ageOf: (value: T, took: number) => number) {
    this.#read = read
    this.#ageOf = ageOf
  }

  /** Makes the next page wait for a new value, after a change that an administrator made on a page. */
  changed(): void {
    this.#changes++
  }

  /** @returns undefined when none was read soon enough */
  async get(): Promise<T | undefined> {
    const known = this.#known
    const isCurrent = known?.changes === this.#changes
    const now = Date.now()
    if (isCurrent && now < known.readAt + known.age) return known.value
    // A page that is asked for again and again never waits.
    if (isCurrent && now < known.readAt + 2 * known.age) {
      this.#start()
      return known.value
    }
    const wait = known === undefined || (isCurrent && known.age > 0) ? WAIT_MS : LONG_WAIT_MS
    const waiting = new AbortController()
    const late = setTimeout(wait, undefined, { signal: waiting.signal }).catch(() => undefined)
    const found = await Promise.race([this.#start(), late]).finally(() => waiting.abort())
    return found ?? (known !== undefined && now < known.readAt + MAX_AGE_MS ? known.value : undefined)
  }

  #start(): Promise<T> {
    const changes = this.#changes
    if (this.#reading?.changes !== changes) {
      const result = this.#readNow(changes).finally(() => {
        if (this.#reading?.changes === changes) this.#reading = undefined
      })
      // A failure is reported to the requests that wait.
      result.catch(() => undefined)
      this.#reading = { changes, result }
    }
    return this.#reading.result
  }

  async #readNow(changes: number): Promise<T> {
    const begun = Date.now()
    const value = await this.#read()
    const readAt = Date.now()
    const age = this.#ageOf(value, readAt - begun)
    if (changes >= (this.#known?.changes ?? 0)) this.#known = { value, changes, readAt, age }
    return value
  }
}
