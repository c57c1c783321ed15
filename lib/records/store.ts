import { hash, randomBytes } from 'node:crypto'
import {
  keyText,
  type LoadOptions,
  type MadeOf,
  ReadCache,
  type ReadTransaction,
  type StorageDriver,
  type WriteTransaction,
} from '../storage/index.ts'
import { rangeBelow } from './key-codec.ts'
import { decodeValue, encodeValue, sequenceIn, sequenceKey } from './layout.ts'
import { paced } from './pacing.ts'

/** A write transaction with callbacks around its commit. */
export interface WriteContext extends WriteTransaction {
  /**
   * Runs the action at the end of the transaction, after its body, for records that follow from all of its
   * changes. The action's own writes are part of the transaction.
   */
  beforeCommit(action: () => Promise<void>): void
  /**
   * Calls the action after the commit, to invalidate a cache or notify the host. An action should not throw:
   * the others run all the same, but then the write rejects although it is committed.
   * @param action called with false when the commit failed, so that its outcome is unknown: it must
   *   invalidate caches, and must not notify anyone
   */
  afterCommit(action: (isCommitted: boolean) => void): void
}

/** Records that count until their time has passed: see lib/quota/expiries.ts. */
export interface Expiring {
  /** Whether one has expired, as far as this process knows. */
  readonly isDue: boolean
  /** When the next one expires, in milliseconds since 1970. */
  next(tx: ReadTransaction): Promise<number>
  /** @returns false when those that have expired could not be removed */
  remove(): Promise<boolean>
}

/** A time that no other call gets. */
interface UniqueTime {
  /** Seconds since 1970. */
  readonly seconds: number
  /** Hexadecimal digits, ordered like the times within the second. */
  readonly nonce: string
}

/** The records of a store: reads and writes of collections run in its transactions. */
export class Store {
  readonly driver: StorageDriver
  /** Removed before a read returns what counts them; set once. */
  expiring: Expiring | undefined
  /** Undefined on a shared store, where other processes write, too, and once the store is closed. */
  #cache: ReadCache | undefined

  constructor(driver: StorageDriver) {
    this.driver = driver
    this.#cache = driver.shared ? undefined : new ReadCache()
  }

  /**
   * Reads without what has expired. Runs `body`, possibly again, so it must have no side effects. It must not
   * call {@link read}: on a shared store it would wait for a second connection while it holds one.
   * @param name as in `StorageDriver.read`; may hold a token, so the driver gets a digest of it
   */
  read<T>(body: (tx: ReadTransaction) => Promise<T>, name?: string): Promise<T> {
    const { driver, expiring } = this
    if (expiring === undefined) return driver.read(body)
    if (driver.shared) return this.#readShared(body, expiring, name && hash('sha256', name, 'base64url'))
    return expiring.isDue ? expiring.remove().then(() => driver.read(body)) : driver.read(body)
  }

  /** The result that the store keeps under a key of {@link load}; undefined when there is none. */
  known<T>(key: string): T | undefined {
    if (this.#cache === undefined || this.expiring?.isDue) return undefined
    return this.#cache.get(key) as T | undefined
  }

  /**
   * Reads, and keeps the result under the key until something that it was read from changes: a key, whether
   * it exists or not, or a range. A result of `undefined` is not kept, since clients can ask for any number
   * of things that do not exist. On a shared store nothing is kept.
   *
   * @param key names `read` and all its inputs besides the records. `read` must depend on nothing else: not
   * on the clock, since a result is kept while time passes, nor on the disk, unless each change there is one
   * of a record that it reads
   */
  async load<T>(
    key: string,
    read: (tx: ReadTransaction) => Promise<T>,
    options?: LoadOptions<T>,
  ): Promise<T> {
    const cache = this.#cache
    if (cache === undefined) return this.read(read, key)
    if (this.expiring?.isDue) await this.expiring.remove()
    return cache.load(key, (watch) => this.driver.read((tx) => read(watch(tx))), options)
  }

  /** The result that is kept under the key, or that of {@link load}. */
  async cached<T>(key: string, read: (tx: ReadTransaction) => Promise<T>): Promise<T> {
    return this.known<T>(key) ?? this.load(key, read)
  }

  /**
   * Keeps under the key what was made of other results that are kept, and of nothing else that changes, until
   * one of them ends. Nothing when one has ended already, and on a shared store.
   * @param size bytes of the value
   */
  keep(key: string, value: unknown, size: number, madeOf: readonly MadeOf[]): void {
    this.#cache?.keep(key, value, size, madeOf)
  }

  /** Closes the driver, after which nothing is read any more, as from a driver that is closed. */
  close(): Promise<void> {
    this.#cache = undefined
    return this.driver.close()
  }

  /**
   * The same on a shared store, where other processes put what expires. The time is read with the result, so
   * it costs no round trip.
   */
  async #readShared<T>(body: (tx: ReadTransaction) => Promise<T>, expiring: Expiring, name?: string) {
    for (;;) {
      const { value, next } = await this.driver.read(async (tx) => {
        const [value, next] = await Promise.all([body(tx), expiring.next(tx)])
        return { value, next }
      }, name)
      if (next > Date.now() || !(await expiring.remove())) return value
    }
  }

  /**
   * May run `body` again; only the callbacks of the last run are called.
   */
  async write<T>(body: (tx: WriteContext) => Promise<T>): Promise<T> {
    const cache = this.#cache
    let actions: Actions['after'] = []
    let endWrite: (() => void) | undefined
    /** @returns what the actions have thrown */
    const runActions = (isCommitted: boolean): unknown[] => {
      endWrite?.()
      return actions.flatMap((action) => {
        try {
          action(isCommitted)
          return []
        } catch (error) {
          return [error]
        }
      })
    }
    const result = await this.driver
      .write(async (tx) => {
        actions = []
        endWrite?.()
        const added: Actions = { before: [], after: [] }
        const changed = cache && new Set<string>()
        const value = await body(writeContext(tx, added, changed))
        // An action may add others, and a batch has one for each of its owners.
        if (added.before.length > 0) for await (const action of paced(added.before)) await action()
        actions = added.after
        if (changed !== undefined) endWrite = cache?.begin(changed)
        return value
      })
      .catch((error) => {
        // A run that throws leaves no actions: those that are left are of a run whose commit failed, or was
        // not tried in time.
        runActions(false)
        throw error
      })
    for (const error of runActions(true)) throw error
    return result
  }
}

interface Actions {
  readonly before: (() => Promise<void>)[]
  readonly after: ((isCommitted: boolean) => void)[]
}

/** @param changed gets the keys that the transaction changes, as texts */
const writeContext = (
  tx: WriteTransaction,
  actions: Actions,
  changed: Set<string> | undefined,
): WriteContext => ({
  get: (key) => tx.get(key),
  getMany: (keys) => tx.getMany(keys),
  range: (range) => tx.range(range),
  put(key, value) {
    changed?.add(keyText(key))
    tx.put(key, value)
  },
  delete(key) {
    changed?.add(keyText(key))
    tx.delete(key)
  },
  beforeCommit: (action) => void actions.before.push(action),
  afterCommit: (action) => void actions.after.push(action),
})

const last = { ms: 0, calls: 0 }

/**
 * The time of this call. Within a write it is that of the run that is committed, so when a transaction reads
 * what another one of this process wrote, its time is later, unless the clock was set back. Times of several
 * processes are ordered as well as their clocks agree. The nonce is the millisecond, then the number of the
 * call in it; the rest tells processes apart.
 */
export const uniqueTime = (): UniqueTime => {
  const ms = Date.now()
  Object.assign(last, { ms, calls: ms === last.ms ? last.calls + 1 : 0 })
  const digits = (number: number, length: number) => number.toString(16).padStart(length, '0')
  const nonce = digits(ms % 1000, 3) + digits(last.calls, 4) + randomBytes(5).toString('hex').slice(1)
  return { seconds: Math.floor(ms / 1000), nonce }
}

/** Takes the next number of a sequence, from 1 on. Those of later commits are higher. */
export const takeNumber = async (tx: WriteTransaction, sequence: string): Promise<number> => {
  const bytes = await tx.get(sequenceKey(sequence))
  const number = bytes === undefined ? 1 : decodeValue<number>(bytes)
  setSequence(tx, sequence, number + 1)
  return number
}

/** The next number of each sequence. */
export async function* sequencesIn(tx: ReadTransaction): AsyncGenerator<{ name: string; next: number }> {
  for await (const [key, value] of tx.range(rangeBelow(['sequence'])))
    yield { name: sequenceIn(key), next: decodeValue<number>(value) }
}

/** Sets the next number of a sequence. */
export const setSequence = (tx: WriteTransaction, name: string, next: number): void =>
  tx.put(sequenceKey(name), encodeValue(next))
