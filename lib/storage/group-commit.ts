import { isFull, type ReadTransaction, StorageError, type WriteTransaction } from './driver.ts'
import { Mutex } from './lifecycle.ts'
import { buffered } from './transactions.ts'
import type { PendingChange, WriteBuffer } from './write-buffer.ts'

/** Writes a batch and resolves when it is on the disk, wholly; rejects when it is not known to be. */
export type WriteBatch = (changes: Iterable<PendingChange>) => Promise<void>

interface Batch {
  readonly layer: WriteBuffer
  readonly written: Promise<void>
  readonly settle: (outcome: Promise<void>) => void
}

/** What a transaction gave, and the batch it must wait for, if any. */
interface Applied<T> {
  outcome: Promise<T>
  written: Promise<void> | undefined
}

/**
 * Write transactions run one after another, so they are serialisable by being serial; each sees what the ones before it
 * wrote. Those that end while a batch is on its way to the disk share the next batch, and each promise resolves only when
 * the batch that holds its changes is synced. When a batch fails nobody can say what is on the disk, so every later write
 * is refused; nothing is tried again in silence.
 */
export class GroupCommit {
  readonly #source: ReadTransaction
  readonly #write: WriteBatch
  readonly #turns = new Mutex()
  #waiting: Batch | undefined
  #writing: Batch | undefined
  #failure: StorageError | undefined

  /** @param source the newest state of the database. */
  constructor(source: ReadTransaction, write: WriteBatch) {
    this.#source = source
    this.#write = write
  }

  async run<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    const { outcome, written } = await this.#turns.run(() => this.#apply(work))
    // Who only read, or failed over what was read, must not answer before what it may have read is durable.
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

  /** What is not in the database yet, the newest first. */
  #layers(): WriteBuffer[] {
    return [this.#waiting, this.#writing].filter((batch) => batch !== undefined).map(({ layer }) => layer)
  }

  #enqueue(buffer: WriteBuffer): Batch {
    if (this.#waiting !== undefined) {
      this.#waiting.layer.merge(buffer)
      return this.#waiting
    }
    this.#waiting = newBatch(buffer)
    // The transactions that are ready in this turn of the event loop join before the batch leaves.
    if (this.#writing === undefined) setImmediate(() => void this.#flush())
    return this.#waiting
  }

  /** One batch is under way at a time; that which has gathered meanwhile follows it. */
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
  // Each transaction hears of a failure itself; a batch that nobody waits for any more must not end the process.
  written.catch(() => undefined)
  return { layer, written, settle }
}

const commitFailure = (cause: unknown): StorageError =>
  isFull(cause)
    ? new StorageError(
        'full',
        'the disk is full: the store takes no more writes until there is room and the server is started again',
        { cause },
      )
    : new StorageError(
        'failed',
        'writing to the disk failed: the store takes no more writes until the server is started again',
        { cause },
      )
