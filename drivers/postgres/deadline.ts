import { StorageError } from '../../lib/storage/index.ts'

/** Writes of one process that may wait at the same time. */
const MAX_WAITING = 5000

/**
 * The time in which one write must be acknowledged or refused. The engine calls {@link begin} when it sends the commit: a
 * write that is over before that is not sent any more.
 */
export class Deadline {
  #isOver = false
  #isSent = false

  /** @returns false when the write was refused already and must not be sent */
  begin(): boolean {
    this.#isSent = !this.#isOver
    return this.#isSent
  }

  /** Nothing was written, and the commit may be sent again. */
  reset(): void {
    this.#isSent = false
  }

  get isOver(): boolean {
    return this.#isOver
  }

  end(): StorageError {
    this.#isOver = true
    return this.#isSent ? unknownOutcome() : notWritten()
  }
}

/** Limits the writes that wait and the time that each of them waits. */
export class WriteLimits {
  readonly #timeoutMs: number
  #waiting = 0

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** @throws StorageError `busy` when too many writes wait or when nothing was written in time, `away` when that is unknown */
  async run<T>(write: (deadline: Deadline) => Promise<T>): Promise<T> {
    if (this.#waiting >= MAX_WAITING)
      throw new StorageError('busy', 'too many writes wait for the database: try again in a moment')
    this.#waiting++
    const deadline = new Deadline()
    let timer: NodeJS.Timeout | undefined
    const over = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(deadline.end()), this.#timeoutMs)
    })
    try {
      return await Promise.race([write(deadline), over])
    } finally {
      clearTimeout(timer)
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
