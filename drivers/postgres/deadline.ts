import { deferred, StorageError } from '../../lib/storage/index.ts'

/** Writes of one process that may wait at the same time. */
const MAX_WAITING = 5000

/**
 * How long a write may wait without a reply of the database before it is refused. With the plain engine, each
 * reply to a read starts the time anew, so that a large write which makes progress is not refused. An engine
 * calls {@link markSent} before it sends the commit: a write whose time is up before that is never sent.
 */
export class Deadline {
  readonly #timer: NodeJS.Timeout
  #isOver = false
  #isSent = false

  /** @param onOver called with the error of the write when the time is over */
  constructor(timeoutMs: number, onOver: (error: StorageError) => void) {
    this.#timer = setTimeout(() => {
      this.#isOver = true
      onOver(this.#isSent ? unknownOutcome() : notWritten())
    }, timeoutMs)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** The database has replied: the time begins again. */
  extend(): void {
    if (!this.#isOver) this.#timer.refresh()
  }

  /**
   * Call it before the commit is sent.
   * @returns false when the write was refused already and must not be sent
   */
  markSent(): boolean {
    this.#isSent = !this.#isOver
    return this.#isSent
  }

  /** Nothing was written, and the commit may be sent again. */
  reset(): void {
    this.#isSent = false
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}

/** Limits the writes that wait and the time that each of them waits. */
export class WriteLimits {
  readonly #timeoutMs: number
  #waiting = 0

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /**
   * @throws StorageError `busy` when too many writes wait or when nothing was written in time, `away` when it
   * is not known whether it was written
   */
  async run<T>(write: (deadline: Deadline) => Promise<T>): Promise<T> {
    if (this.#waiting >= MAX_WAITING)
      throw new StorageError('busy', 'too many writes wait for the database: try again in a moment')
    this.#waiting++
    const { promise: over, reject } = deferred<never>()
    const deadline = new Deadline(this.#timeoutMs, reject)
    try {
      return await Promise.race([write(deadline), over])
    } finally {
      deadline.end()
      this.#waiting--
    }
  }
}

export const notWritten = (): StorageError =>
  new StorageError('busy', 'the database did not answer in time, and nothing was written: try again')

export const unknownOutcome = (cause?: unknown): StorageError =>
  new StorageError(
    'away',
    'the database went away during a commit, and it is not known whether the write took place',
    { cause },
  )
