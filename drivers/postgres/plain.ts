import {
  buffered,
  guarded,
  type PendingChange,
  type ReadTransaction,
  type StorageDriver,
  StorageError,
  type WriteTransaction,
} from '../../lib/storage/index.ts'
import type { Connections } from './connections.ts'
import { type Deadline, notWritten, unknownOutcome } from './deadline.ts'
import {
  isConflict,
  isLockShortage,
  isLost,
  tooFewLocks,
  tooManyConflicts,
  toStorageError,
} from './errors.ts'
import type { Writer } from './primary.ts'
import { isKeyQuery, type QueryResult, readTransaction, runPage, runQueries } from './queries.ts'
import { byteaArray, type Session, splitChanges } from './statements.ts'

/** How transactions are run. Processes with different engines may share a database. */
export interface Engine extends Pick<StorageDriver, 'read'> {
  write<T>(body: (tx: WriteTransaction) => Promise<T>, deadline: Deadline): Promise<T>
}

/** Result of a callback, to be returned or thrown once its transaction is known to be valid. */
export type Outcome<T> = PromiseSettledResult<T>

export const outcomeOf = async <Tx, T>(body: (tx: Tx) => Promise<T>, tx: Tx): Promise<Outcome<T>> => {
  const [outcome] = await Promise.allSettled([(async () => body(tx))()])
  return outcome
}

export const unwrap = <T>(outcome: Outcome<T>): T => {
  if (outcome.status === 'rejected') throw outcome.reason
  return outcome.value
}

/** Pooled connections that may turn out to be broken, one after another, when the database was restarted. */
export const MAX_BROKEN_CONNECTIONS = 3

export const tooManyBroken = () =>
  new StorageError('away', 'the connections to the database break again and again')

/** Exponential, with jitter. */
export const backoff = (attempt: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(2 ** attempt, 100)))

/** Times that a write waits for room in the server's table of locks, and for how long each time. */
const [MAX_LOCK_WAITS, LOCK_WAIT_MS] = [100, 100]

/** The times that one write has waited because the server had no room for its locks. */
export class LockWaits {
  #count = 0

  /** @throws StorageError `busy` when the write has waited for about 10 seconds */
  async wait(): Promise<void> {
    if (++this.#count > MAX_LOCK_WAITS) throw tooFewLocks()
    await new Promise((resolve) => setTimeout(resolve, LOCK_WAIT_MS))
  }
}

const KEEP_ALIVE_MS = 20_000

/**
 * Sends a statement every 20 s while a read runs: the database ends transactions that are idle for a minute,
 * and an export may write repositories and files for longer than that before it reads on.
 */
const keptAlive = async <T>(session: Session, run: () => Promise<T>): Promise<T> => {
  const keepAlive = () => session.run({ text: 'SELECT 1' }).catch(() => undefined)
  const timer = setInterval(keepAlive, KEEP_ALIVE_MS).unref()
  try {
    return await run()
  } finally {
    clearInterval(timer)
  }
}

/**
 * Runs each transaction as BEGIN, statements and COMMIT on one connection. Serves databases other than
 * PostgreSQL, and the transactions that read too much for the optimistic engine.
 */
export class PlainEngine implements Engine {
  readonly #connections: Connections
  readonly #retries: number

  /** @param retries of a write after conflicts */
  constructor(connections: Connections, retries: number) {
    this.#connections = connections
    this.#retries = retries
  }

  /** Reads from one snapshot, taken before the body starts. */
  async read<T>(body: (tx: ReadTransaction) => Promise<T>): Promise<T> {
    for (let attempt = 0; attempt < MAX_BROKEN_CONNECTIONS; attempt++) {
      const outcome = await this.#connections.withReader((session) => this.#readOnce(session, body))
      if (outcome !== 'lost') return unwrap(outcome)
    }
    throw tooManyBroken()
  }

  /** @param onCommitted called with the changes once they are durable */
  async write<T>(
    body: (tx: WriteTransaction) => Promise<T>,
    deadline: Deadline,
    onCommitted: (changes: Iterable<PendingChange>) => void = () => undefined,
  ): Promise<T> {
    const lockWaits = new LockWaits()
    let broken = 0
    for (let attempt = 0; attempt <= this.#retries && !deadline.isOver; attempt++) {
      const result = await this.#connections.withWriter((session, writer) =>
        this.#writeOnce(session, writer, body, deadline),
      )
      if (result === 'conflict') await backoff(attempt)
      else if (result === 'no locks') {
        await lockWaits.wait()
        attempt--
      } else if (result !== 'lost') {
        onCommitted(result.changes)
        return unwrap(result.outcome)
      } else if (++broken === MAX_BROKEN_CONNECTIONS) throw tooManyBroken()
    }
    throw deadline.isOver ? notWritten() : tooManyConflicts()
  }

  /** @returns `lost` when the connection broke before the body started. */
  async #readOnce<T>(
    session: Session,
    body: (tx: ReadTransaction) => Promise<T>,
  ): Promise<Outcome<T> | 'lost'> {
    try {
      await session.run({ text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' })
      // The first statement takes the snapshot, not BEGIN.
      await session.run({ text: 'SELECT 1' })
    } catch (error) {
      if (isLost(error)) return 'lost'
      throw toStorageError(undefined, error)
    }
    const { tx, end } = guarded(this.#readerOver(session))
    const outcome = await keptAlive(session, () => outcomeOf(body, tx))
    end()
    if (session.failure !== undefined) throw toStorageError(undefined, session.failure)
    await session.run({ text: 'COMMIT' }).catch(() => session.discard())
    return outcome
  }

  /** @returns `lost` when the connection broke before anything was written. */
  async #writeOnce<T>(
    session: Session,
    writer: Writer,
    body: (tx: WriteTransaction) => Promise<T>,
    deadline: Deadline,
  ): Promise<{ outcome: Outcome<T>; changes: Iterable<PendingChange> } | 'conflict' | 'no locks' | 'lost'> {
    let isShort = false
    try {
      await session.run({ text: 'BEGIN ISOLATION LEVEL SERIALIZABLE' })
      const { tx, end, buffer } = buffered(this.#readerOver(session, new Map(), deadline))
      const outcome = await outcomeOf(body, tx)
      end()
      if (session.failure !== undefined) throw session.failure
      // A rejected body commits, too, without changes: the rejection must follow from a consistent state.
      const changes = outcome.status === 'fulfilled' ? [...buffer.changes()] : []
      if ((await this.#sendChanges(session, writer, changes)) && deadline.markSent()) {
        if (await this.#commit(session, writer)) return { outcome, changes }
        deadline.reset()
        return 'lost'
      }
    } catch (error) {
      if (isLost(error)) return 'lost'
      isShort = isLockShortage(error)
      if (!isShort && !isConflict(error)) throw toStorageError(undefined, error)
    }
    deadline.reset()
    await session.rollBack()
    return isShort ? 'no locks' : 'conflict'
  }

  /**
   * Marks the write even without changes: only a commit proves that the server is still the primary, whose
   * reads the body relies on.
   * @returns false when the writer is fenced and must not write any more
   */
  async #sendChanges(session: Session, writer: Writer, changes: PendingChange[]): Promise<boolean> {
    const { markWrite, put, remove } = this.#connections.statements
    const marked = await session.run(markWrite, [writer.id, ++writer.lastWrite])
    if (marked.length === 0) {
      session.discard()
      return false
    }
    const { putKeys, putValues, deletes } = splitChanges(changes)
    if (putKeys.length > 0) await session.run(put, [byteaArray(putKeys), byteaArray(putValues)])
    if (deletes.length > 0) await session.run(remove, [byteaArray(deletes)])
    return true
  }

  /** @returns false when the connection broke and nothing was written */
  async #commit(session: Session, writer: Writer): Promise<boolean> {
    try {
      await session.run({ text: 'COMMIT' })
      return true
    } catch (error) {
      if (!isLost(error)) throw error
      return recoverOutcome(this.#connections, writer)
    }
  }

  /**
   * @param known results of key queries in this transaction, which cannot change; absent when keys are read
   * only once
   */
  #readerOver(session: Session, known?: Map<string, QueryResult>, deadline?: Deadline): ReadTransaction {
    const { statements } = this.#connections
    return readTransaction(async (queries) => {
      const results = known ?? new Map<string, QueryResult>()
      const missing = queries.filter((query) => isKeyQuery(query) && !results.has(query.id))
      if (missing.length > 0)
        for (const [id, result] of await runQueries(session, statements, missing)) results.set(id, result)
      const all = queries.map((query) => results.get(query.id) ?? runPage(session, statements, query))
      return Promise.all(all).finally(() => deadline?.extend())
    })
  }
}

/** How long to look up the outcome of a commit while the database is unreachable. */
const RECOVERY_TIMEOUT_MS = 20_000
const RECOVERY_PAUSE_MS = 200

/**
 * Finds out whether the last write of a writer was committed, when its connection broke before the reply.
 *
 * Fencing makes the result final: the UPDATE waits for a transaction of this writer that is still running,
 * and a transaction that arrives later finds the writer fenced and writes nothing.
 * @throws StorageError `away` when the outcome stays unknown.
 */
export const recoverOutcome = async (connections: Connections, writer: Writer): Promise<boolean> => {
  const deadline = Date.now() + RECOVERY_TIMEOUT_MS
  for (;;)
    try {
      const [row] = await connections.run(connections.statements.fenceWriter, [writer.id])
      if (row !== undefined) return Number(row[0]) === writer.lastWrite
      throw new StorageError('failed', 'the database does not know the writer of a commit')
    } catch (cause) {
      if (Date.now() > deadline || (cause instanceof StorageError && cause.reason === 'failed'))
        throw unknownOutcome(cause)
      await new Promise((resolve) => setTimeout(resolve, RECOVERY_PAUSE_MS))
    }
}
