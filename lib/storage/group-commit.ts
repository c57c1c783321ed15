import { isFull, type ReadTransaction, StorageError, type WriteTransaction } from './driver.ts'
import { Mutex } from './lifecycle.ts'
import { buffered, type PendingChange, type WriteBuffer } from './transactions.ts'

/** Writes a batch atomically. Resolves when it is durable, and rejects when that is not certain. */
export type WriteBatch = (changes: Iterable<PendingChange>) => Promise<void>

interface Batch {
  readonly layer: WriteBuffer
  readonly written: Promise<void>
  readonly settle: (outcome: Promise<void>) => void
}

/** The result of a transaction, and the write that it must wait for. */
interface Applied<T> {
  outcome: Promise<T>
  written: Promise<void> | undefined
}

/**
 * Runs write transactions one at a time, which makes them serialisable; each sees the changes of those before it. The
 * transactions that end while a batch is being written share the next batch, and each resolves when its batch is durable.
 * After a failed batch the state of the disk is unknown, so every later write is refused, and nothing is retried.
 */
export class GroupCommit {
  readonly #source: ReadTransaction
  readonly #write: WriteBatch
  readonly #mutex = new Mutex()
  #waiting: Batch | undefined
  #writing: Batch | undefined
  #failure: StorageError | undefined

  /** @param source reads the current state of the database */
  constructor(source: ReadTransaction, write: WriteBatch) {
    this.#source = source
    this.#write = write
  }

  async run<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    const { outcome, written } = await this.#mutex.run(() => this.#apply(work))
    // A transaction that only read, or failed, may have seen changes that are not durable yet.
    await written
    return outcome
  }

  async #apply<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<Applied<T>> {
    this.#refuseAfterFailure()
    const { tx, end, buffer } = buffered(this.#source, this.#layers())
    const outcome = (async () => work(tx))()
    const failed = await outcome.then(
      () => false,
      () => true,
    )
    end()
    this.#refuseAfterFailure()
    if (failed || buffer.size === 0) return { outcome, written: (this.#waiting ?? this.#writing)?.written }
    return { outcome, written: this.#enqueue(buffer).written }
  }

  #refuseAfterFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Changes that are not in the database yet, the newest first. */
  #layers(): WriteBuffer[] {
    return [this.#waiting, this.#writing].filter((batch) => batch !== undefined).map(({ layer }) => layer)
  }

  #enqueue(buffer: WriteBuffer): Batch {
    if (this.#waiting !== undefined) {
      this.#waiting.layer.merge(buffer)
      return this.#waiting
    }
    this.#waiting = newBatch(buffer)
    // Transactions that end in this turn of the event loop join the batch.
    if (this.#writing === undefined) setImmediate(() => void this.#flush())
    return this.#waiting
  }

  /** Writes the waiting batch, and then the one that has filled meanwhile. */
  async #flush(): Promise<void> {
    const batch = this.#waiting
    if (batch === undefined) return
    this.#writing = batch
    this.#waiting = undefined
    const outcome = this.#writeOnce(batch)
    batch.settle(outcome)
    await outcome.catch(() => undefined)
    this.#writing = undefined
    void this.#flush()
  }

  async #writeOnce(batch: Batch): Promise<void> {
    this.#refuseAfterFailure()
    try {
      await this.#write(batch.layer.changes())
    } catch (cause) {
      this.#failure = commitFailure(cause)
      throw this.#failure
    }
  }
}

const newBatch = (layer: WriteBuffer): Batch => {
  let settle!: (outcome: Promise<void>) => void
  const written = new Promise<void>((resolve) => {
    settle = resolve
  })
  // Each transaction handles the failure itself; without a waiting transaction the rejection would be unhandled.
  written.catch(() => undefined)
  return { layer, written, settle }
}

const commitFailure = (cause: unknown): StorageError =>
  isFull(cause)
    ? new StorageError(
        'full',
        'the disk is full: free some space and restart the server; until then the store refuses writes',
        { cause },
      )
    : new StorageError(
        'failed',
        'writing to the disk failed: restart the server; until then the store refuses writes',
        { cause },
      )
