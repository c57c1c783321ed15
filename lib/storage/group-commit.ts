import type { ReadTransaction, WriteTransaction } from './driver.ts'
import { StorageError } from './errors.ts'
import { Layer, type Pending } from './layer.ts'
import { buffered } from './transactions.ts'

/** Writes a batch and resolves when it is on the disk, wholly; rejects when it is not known to be. */
export type WriteBatch = (changes: Iterable<Pending>) => Promise<void>

interface Batch {
  readonly layer: Layer
  readonly written: Promise<void>
  readonly settle: (outcome: Promise<void>) => void
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
  #turn: Promise<void> = Promise.resolve()
  #waiting: Batch | undefined
  #writing: Batch | undefined
  #failure: StorageError | undefined

  /** @param source the newest state of the database. */
  constructor(source: ReadTransaction, write: WriteBatch) {
    this.#source = source
    this.#write = write
  }

  async run<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    const { result, written } = await this.#inTurn(() => this.#apply(work))
    await written
    return result
  }

  /** Resolves when every transaction that was begun has ended, well or not. */
  async idle(): Promise<void> {
    await this.#turn
    await Promise.allSettled([this.#writing?.written, this.#waiting?.written])
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.then(
      () => undefined,
      () => undefined,
    )
    return done
  }

  async #apply<T>(
    work: (tx: WriteTransaction) => Promise<T>,
  ): Promise<{ result: T; written: Promise<void> | undefined }> {
    if (this.#failure !== undefined) throw this.#failure
    const layers = [this.#waiting, this.#writing]
      .filter((batch) => batch !== undefined)
      .map((batch) => batch.layer)
    const { tx, end, buffer } = buffered(this.#source, layers)
    const result = await work(tx).finally(end)
    if (this.#failure !== undefined) throw this.#failure
    // Who only read must not answer before what it may have read is durable.
    if (buffer.size === 0) return { result, written: (this.#waiting ?? this.#writing)?.written }
    return { result, written: this.#enqueue(buffer).written }
  }

  #enqueue(buffer: Layer): Batch {
    this.#waiting ??= newBatch()
    const batch = this.#waiting
    batch.layer.absorb(buffer)
    // The transactions that are ready in this turn of the event loop join before the batch leaves.
    if (this.#writing === undefined) setImmediate(() => void this.#flush())
    return batch
  }

  async #flush(): Promise<void> {
    if (this.#writing !== undefined || this.#waiting === undefined) return
    const batch = this.#waiting
    this.#writing = batch
    this.#waiting = undefined
    const outcome = this.#writeOnce(batch)
    batch.settle(outcome)
    await outcome.catch(() => undefined)
    this.#writing = undefined
    if (this.#waiting !== undefined) void this.#flush()
  }

  async #writeOnce(batch: Batch): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    try {
      await this.#write(batch.layer.changes())
    } catch (cause) {
      this.#failure = stopped(cause)
      throw this.#failure
    }
  }
}

const newBatch = (): Batch => {
  let settle!: (outcome: Promise<void>) => void
  const written = new Promise<void>((resolve) => {
    settle = resolve
  })
  // Each transaction hears of a failure itself; a batch that nobody waits for any more must not end the process.
  written.catch(() => undefined)
  return { layer: new Layer(), written, settle }
}

const stopped = (cause: unknown): StorageError => {
  const full = isFull(cause)
  return new StorageError(
    full ? 'full' : 'failed',
    full
      ? 'the disk is full: the store takes no more writes until there is room and the process is started again'
      : 'writing to the disk failed: the store takes no more writes until the process is started again',
    { cause },
  )
}

const isFull = (cause: unknown): boolean =>
  cause instanceof Error &&
  (/ENOSPC|EFBIG|No space left|File too large/i.test(cause.message) || isFull(cause.cause))
