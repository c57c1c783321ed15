import { setImmediate } from 'node:timers/promises'
import { isFull, REASON_IN_LOG } from '../disk.ts'
import { type ReadTransaction, StorageError, type WriteTransaction } from './driver.ts'
import { Mutex } from './lifecycle.ts'
import { buffered, type PendingChange, type WriteBuffer } from './transactions.ts'

/** Writes a batch atomically. Resolves when it is durable, and rejects when that is not certain. */
export type WriteBatch = (changes: Iterable<PendingChange>) => Promise<void>

/** The changes of transactions that are written together; `written` resolves when they are durable. */
interface Batch {
  readonly layer: WriteBuffer
  readonly written: Promise<void>
}

/**
 * Runs write transactions one at a time, which makes them serializable; each sees the changes of those before
 * it. The transactions that end while a batch is being written share the next batch, and each resolves when
 * its batch is durable. After a failed batch the state of the disk is unknown, so every later write is
 * refused, and nothing is retried: the owner may open the database again.
 */
export class GroupCommit {
  readonly #source: ReadTransaction
  readonly #write: WriteBatch
  readonly #mutex = new Mutex()
  #waiting: Batch | undefined
  #writing: Batch | undefined
  #failure: StorageError | undefined

  /** @param source reads the current state of the database, which nothing else writes */
  constructor(source: ReadTransaction, write: WriteBatch) {
    this.#source = source
    this.#write = write
  }

  /** Runs a transaction, and resolves when its changes are durable. */
  async run<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    const { outcome, written } = await this.#mutex.run(() => this.#apply(work))
    // A transaction that only read, or failed, may have seen changes that are not durable yet.
    await written
    return outcome
  }

  async #apply<T>(
    work: (tx: WriteTransaction) => Promise<T>,
  ): Promise<{ outcome: Promise<T>; written: Promise<void> | undefined }> {
    this.#refuseAfterFailure()
    const batches = [this.#waiting, this.#writing].filter((batch) => batch !== undefined)
    const { tx, end, buffer } = buffered(
      this.#source,
      batches.map(({ layer }) => layer),
    )
    const outcome = (async () => work(tx))()
    const [{ status }] = await Promise.allSettled([outcome])
    end()
    this.#refuseAfterFailure()
    if (status === 'fulfilled' && buffer.size > 0) return { outcome, written: this.#enqueue(buffer) }
    return { outcome, written: (this.#waiting ?? this.#writing)?.written }
  }

  #refuseAfterFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Adds the changes to the waiting batch. */
  #enqueue(changes: WriteBuffer): Promise<void> {
    if (this.#waiting !== undefined) this.#waiting.layer.merge(changes)
    else {
      this.#waiting = { layer: changes, written: this.#writeNext(this.#writing) }
      // Each transaction handles the failure itself; without a waiting transaction the rejection would be
      // unhandled.
      this.#waiting.written.catch(() => undefined)
    }
    return this.#waiting.written
  }

  /** Writes the waiting batch, which transactions join until the previous batch is written. */
  async #writeNext(previous: Batch | undefined): Promise<void> {
    // Without a previous batch, the transactions that end in this turn of the event loop join.
    await (previous?.written.catch(() => undefined) ?? setImmediate())
    const { layer } = this.#waiting!
    this.#writing = this.#waiting
    this.#waiting = undefined
    try {
      this.#refuseAfterFailure()
      await this.#write(layer.changes())
    } catch (cause) {
      this.#failure ??= commitFailure(cause)
      throw this.#failure
    } finally {
      this.#writing = undefined
    }
  }
}

const commitFailure = (cause: unknown): StorageError =>
  isFull(cause)
    ? new StorageError('full', 'the disk is full: the store takes no writes until there is space', { cause })
    : new StorageError('failed', `the store takes no writes${REASON_IN_LOG}`, {
        cause: new Error('writing to the disk failed: restart the server', { cause }),
      })
