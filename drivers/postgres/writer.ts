import {
  buffered,
  type PendingChange,
  type ReadTransaction,
  type StorageError,
  WriteBuffer,
  type WriteTransaction,
} from '../../lib/storage/index.ts'
import type { Connections } from './connections.ts'
import {
  isConflict,
  isLockShortage,
  isLost,
  notWritten,
  tooManyWaiting,
  toStorageError,
  unknownOutcome,
} from './errors.ts'
import { type QueryResult, readResults, readTransaction, readValues } from './reads.ts'
import type { Session } from './session.ts'
import type { Settings } from './settings.ts'
import { byteaArray } from './statements.ts'

/** Writes of one process that may wait at the same time. */
const MAX_WAITING = 5000
/** Writes that share a transaction, and the keys from which on it takes no further one. */
const [MAX_BATCH, MAX_KEYS] = [100, 2000]
/** Connections that may turn out to be broken, one after another, when the database was restarted. */
export const MAX_BROKEN = 3
/** Batches that take turns with those of other processes after a conflict. */
const TURNS = 20
/** The client waits this much longer than the server's limit, so only a silent server runs into it. */
const MARGIN_MS = 5000
/**
 * Longest pause, in milliseconds, before a batch runs again: after a conflict, and for room for its
 * locks.
 */
const MAX_PAUSE_MS = { conflict: 100, locks: 1000 }

type Body = (tx: WriteTransaction) => Promise<unknown>

/** A write that waits for its batch, and then for the commit. */
class Write {
  readonly body: Body
  readonly resolve: (outcome: unknown) => void
  readonly reject: (error: unknown) => void
  readonly #timer: NodeJS.Timeout
  isOver = false
  isSent = false

  constructor(body: Body, timeoutMs: number, resolve: (outcome: never) => void, reject: Write['reject']) {
    this.body = body
    this.resolve = resolve as Write['resolve']
    this.reject = reject
    this.#timer = setTimeout(() => this.fail(this.isSent ? unknownOutcome() : notWritten()), timeoutMs)
  }

  /** The database has replied: the time begins again. */
  extend(): void {
    if (!this.isOver) this.#timer.refresh()
  }

  fail(error: StorageError): void {
    this.#end()
    this.reject(error)
  }

  settle(outcome: PromiseSettledResult<unknown>): void {
    this.#end()
    if (outcome.status === 'fulfilled') this.resolve(outcome.value)
    else this.reject(outcome.reason)
  }

  #end(): void {
    this.isOver = true
    clearTimeout(this.#timer)
  }
}

/**
 * Writes one batch at a time. The writes that wait run in their order over one buffer, in one SERIALIZABLE
 * transaction, which commits their changes together: see the comment of index.ts.
 */
export class Writer {
  readonly #connections: Connections
  readonly #settings: Settings
  #waiting: Write[] = []
  #isRunning = false
  /** Batches that will still take turns. */
  #turns = 0

  constructor(connections: Connections, settings: Settings) {
    this.#connections = connections
    this.#settings = settings
  }

  /**
   * Runs a write, possibly several times, and resolves when it is durable.
   * @throws StorageError `busy` when nothing was written, `away` when that is not known or the database
   *   cannot be reached
   */
  write<T>(body: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(tooManyWaiting())
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(new Write(body, this.#settings.writeTimeout, resolve, reject))
      if (!this.#isRunning) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      const batch: Write[] = []
      await this.#commit(batch).catch((error: unknown) => {
        // Without a connection no batch was begun: all that wait for one have waited in vain.
        const failed = batch.length > 0 ? batch : this.#waiting.splice(0)
        for (const write of failed) write.fail(toStorageError(undefined, error))
      })
    }
    this.#isRunning = false
  }

  /**
   * Commits a batch of those that wait, in as many runs as it needs.
   * @param batch gets the writes
   */
  async #commit(batch: Write[]): Promise<void> {
    const tries = { conflicts: 0, broken: 0 }
    for (let isDone = false; !isDone; ) {
      const session = await this.#connections.take()
      if (batch.length === 0) batch.push(...this.#waiting.splice(0, MAX_BATCH))
      batch.splice(0, batch.length, ...batch.filter(({ isOver }) => !isOver))
      try {
        isDone = batch.length === 0 || (await this.#runOnce(session, batch))
      } catch (error) {
        await this.#pauseAfter(error, batch, tries)
      } finally {
        await session.release()
      }
    }
  }

  /** @throws unless the batch may run again */
  async #pauseAfter(error: unknown, batch: Write[], tries: { conflicts: number; broken: number }) {
    if (isLost(error)) {
      if (batch.some(({ isSent }) => isSent)) throw unknownOutcome(error)
      if (++tries.broken === MAX_BROKEN) throw error
      return
    }
    const isShort = isLockShortage(error)
    if ((!isShort && !isConflict(error)) || ++tries.conflicts > this.#settings.retries) throw error
    for (const write of batch) write.isSent = false
    this.#turns = TURNS
    await pause(tries.conflicts, MAX_PAUSE_MS[isShort ? 'locks' : 'conflict'])
  }

  /**
   * Runs the writes of a batch in one transaction. Those for which there is no room wait again.
   * @returns false when the time of one was over before the commit, so that the others must run without it
   */
  async #runOnce(session: Session, batch: Write[]): Promise<boolean> {
    const begun = this.#begin(session)
    begun.catch(() => undefined)
    const source = this.#sourceOf(session, batch)
    // All together, over what is stored: their reads share statements, and the batch finds them in memory.
    if (batch.length > 1) await Promise.allSettled(batch.map((write) => runOver(source, [], write)))
    const changes = new WriteBuffer()
    const outcomes: PromiseSettledResult<unknown>[] = []
    for (const write of batch) {
      if (session.failure !== undefined || changes.size > MAX_KEYS) break
      const { outcome, buffer } = await runOver(source, [changes], write)
      if (outcome.status === 'fulfilled') changes.merge(buffer)
      outcomes.push(outcome)
    }
    await begun
    if (session.failure !== undefined) throw session.failure
    this.#waiting.unshift(...batch.splice(outcomes.length))
    if (batch.some(({ isOver }) => isOver)) {
      await session.run({ text: 'ROLLBACK' })
      return false
    }
    try {
      await this.#send(session, batch, [...changes.changes()])
    } catch (error) {
      // A read that a body has not waited for may have failed before.
      throw session.failure ?? error
    }
    if (session.failure !== undefined) throw session.failure
    for (const [at, write] of batch.entries()) write.settle(outcomes[at]!)
    return true
  }

  async #begin(session: Session): Promise<void> {
    const { takeTurn } = this.#connections.statements
    const { statementTimeout } = this.#settings
    const sent = [session.run({ text: 'BEGIN ISOLATION LEVEL SERIALIZABLE' })]
    if (this.#turns > 0) {
      this.#turns--
      sent.push(session.run(takeTurn, [], statementTimeout + MARGIN_MS))
    }
    await Promise.all(sent)
  }

  /** Reads what is stored. Results stay in memory for the batch, since a transaction has one snapshot. */
  #sourceOf(session: Session, batch: readonly Write[]): ReadTransaction {
    const { read } = this.#connections.statements
    const known = new Map<string, QueryResult>()
    return readTransaction(async (queries) => {
      const missing = [...new Map(queries.map((query) => [query.id, query])).values()].filter(
        ({ id }) => !known.has(id),
      )
      if (missing.length > 0) {
        const rows = await session.run(read, readValues(missing), this.#settings.statementTimeout + MARGIN_MS)
        for (const [at, result] of readResults(missing, rows).entries()) known.set(missing[at]!.id, result)
        for (const write of batch) write.extend()
      }
      return queries.map(({ id }) => known.get(id)!)
    })
  }

  /** Also commits without changes: what the bodies have read is only then known to be consistent. */
  async #send(session: Session, batch: readonly Write[], changes: readonly PendingChange[]): Promise<void> {
    const timeoutMs = this.#settings.statementTimeout + MARGIN_MS
    const puts = changes.filter(
      (change): change is [PendingChange[0], PendingChange[0]] => change[1] !== undefined,
    )
    const deletes = changes.filter(([, value]) => value === undefined)
    const values = [puts.map(([key]) => key), puts.map(([, value]) => value), deletes.map(([key]) => key)]
    const sent: Promise<unknown>[] = []
    if (changes.length > 0) {
      for (const write of batch) write.isSent = true
      sent.push(session.run(this.#connections.statements.change, values.map(byteaArray), timeoutMs))
    }
    // Sent without waiting: after a failed statement, COMMIT rolls back.
    sent.push(session.run({ text: 'COMMIT' }, [], timeoutMs))
    await Promise.all(sent)
  }
}

const runOver = async (source: ReadTransaction, layers: readonly WriteBuffer[], { body }: Write) => {
  const { tx, end, buffer } = buffered(source, layers)
  const [outcome] = await Promise.allSettled([(async () => body(tx))()])
  end()
  return { outcome, buffer }
}

/** Exponential, with jitter. */
const pause = (attempt: number, maxMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(2 ** attempt, maxMs)))
