import {
  buffered,
  type PendingChange,
  type ReadTransaction,
  StorageError,
  WriteBuffer,
  type WriteTransaction,
} from '../../lib/storage/index.ts'
import type { Connections } from './connections.ts'
import {
  isConflict,
  isLockShortage,
  isLost,
  isRefused,
  notWritten,
  tooManyWaiting,
  toStorageError,
  unknownOutcome,
} from './errors.ts'
import { type QueryResult, readResults, readTransaction, readValues } from './reads.ts'
import type { Session } from './session.ts'
import type { Settings } from './settings.ts'

/** Writes of one process that may wait at the same time. */
const MAX_WAITING = 5000
/** Writes that share a transaction, and the keys from which on it takes no further one. */
const [MAX_BATCH, MAX_KEYS] = [100, 2000]
/** Connections that may turn out to be broken, one after another, when the database was restarted. */
export const MAX_BROKEN = 3
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
  readonly #resolve: (outcome: never) => void
  readonly #reject: (error: unknown) => void
  readonly #timer: NodeJS.Timeout
  isOver = false
  isSent = false
  /** Keys that its last run has changed. */
  keys = 0

  constructor(
    body: Body,
    timeoutMs: number,
    ...settle: [(outcome: never) => void, (error: unknown) => void]
  ) {
    this.body = body
    ;[this.#resolve, this.#reject] = settle
    this.#timer = setTimeout(() => this.fail(this.isSent ? unknownOutcome() : notWritten()), timeoutMs)
  }

  /** The database has replied: the time begins again. */
  extend(): void {
    if (!this.isOver) this.#timer.refresh()
  }

  fail(reason: StorageError): void {
    this.settle({ status: 'rejected', reason })
  }

  settle(outcome: PromiseSettledResult<unknown>): void {
    this.isOver = true
    clearTimeout(this.#timer)
    if (outcome.status === 'fulfilled') this.#resolve(outcome.value as never)
    else this.#reject(outcome.reason)
  }
}

/**
 * Writes one batch at a time. The writes that wait run in their order over one buffer, in one SERIALIZABLE
 * transaction, which commits their changes together: see the comment of index.ts.
 */
export class Writer {
  readonly #connections: Connections
  readonly #settings: Settings
  /** Those whose time is over wait until the next batch begins. */
  #waiting: Write[] = []
  #isRunning = false
  /** Most writes of the next batch: half after a failure, so that only the one that causes it fails. */
  #size = MAX_BATCH
  /** Runs in vain since the last commit. */
  #tries = { conflicts: 0, broken: 0 }

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
    if (this.#waiting.length >= MAX_WAITING && this.#stillWaiting().length >= MAX_WAITING)
      return Promise.reject(tooManyWaiting())
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(new Write(body, this.#settings.writeTimeout, resolve, reject))
      if (!this.#isRunning) void this.#run()
    })
  }

  #stillWaiting(): Write[] {
    this.#waiting = this.#waiting.filter(({ isOver }) => !isOver)
    return this.#waiting
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#stillWaiting().length > 0) {
      const batch: Write[] = []
      try {
        const session = await this.#connections.take()
        batch.push(...this.#takeBatch())
        await this.#commit(session, batch).finally(() => session.release())
        this.#size = Math.min(2 * this.#size, MAX_BATCH)
        this.#tries = { conflicts: 0, broken: 0 }
      } catch (error) {
        // Without a connection no batch was begun: all that wait for one have waited in vain.
        if (batch.length === 0) fail(this.#waiting.splice(0), error)
        else await this.#afterFailure(batch, error)
      }
    }
    this.#isRunning = false
  }

  /** Those that have run before are counted by their keys, so that none runs each time for want of room. */
  #takeBatch(): Write[] {
    const waiting = this.#stillWaiting()
    let count = 1
    for (let keys = waiting[0]?.keys ?? 0; count < this.#size && keys <= MAX_KEYS; count++)
      keys += waiting[count]?.keys ?? 0
    return waiting.splice(0, count)
  }

  /** Lets the writes of a batch wait again, or fails them when that would be in vain. */
  async #afterFailure(batch: readonly Write[], error: unknown): Promise<void> {
    const [tries, isBroken, isShort] = [this.#tries, isLost(error), isLockShortage(error)]
    if (isBroken && !isRefused(error) && batch.some(({ isSent }) => isSent))
      return fail(batch, unknownOutcome(error))
    let mayRunAgain = batch.length > 1 && !(error instanceof StorageError)
    if (isBroken) mayRunAgain = ++tries.broken < MAX_BROKEN
    else if (isShort || isConflict(error)) mayRunAgain = ++tries.conflicts <= this.#settings.retries
    if (!mayRunAgain) {
      this.#tries = { conflicts: 0, broken: 0 }
      return fail(batch, error)
    }
    for (const write of batch) write.isSent = false
    this.#waiting.unshift(...batch)
    this.#size = Math.ceil(batch.length / 2)
    if (!isBroken) await pause(tries.conflicts, MAX_PAUSE_MS[isShort ? 'locks' : 'conflict'])
  }

  /**
   * Runs the writes of a batch in one transaction. Writes that would make it too large wait for the next one.
   * When the time of a write ends before the commit, the whole batch waits, and runs again without it.
   */
  async #commit(session: Session, batch: Write[]): Promise<void> {
    const { statementTimeout, writeTimeout } = this.#settings
    const begun = session.run({
      text: `BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL statement_timeout = ${statementTimeout};
        SET LOCAL idle_in_transaction_session_timeout = ${writeTimeout}`,
    })
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
      this.#waiting.unshift(...batch)
      return
    }
    try {
      await this.#send(session, batch, [...changes.changes()])
    } catch (error) {
      // A read that a body has not waited for may have failed before.
      throw session.failure ?? error
    }
    if (session.failure !== undefined) throw session.failure
    for (const [at, write] of batch.entries()) write.settle(outcomes[at]!)
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
      sent.push(session.run(this.#connections.statements.change, values, timeoutMs))
    }
    // Sent without waiting: after a failed statement, COMMIT rolls back.
    sent.push(session.commit(timeoutMs))
    await Promise.all(sent)
  }
}

const fail = (writes: readonly Write[], error: unknown): void => {
  for (const write of writes) write.fail(toStorageError(undefined, error))
}

const runOver = async (source: ReadTransaction, layers: readonly WriteBuffer[], write: Write) => {
  const { tx, end, buffer } = buffered(source, layers)
  const [outcome] = await Promise.allSettled([(async () => write.body(tx))()])
  end()
  write.keys = buffer.size
  return { outcome, buffer }
}

/** Exponential, with jitter. */
const pause = (attempt: number, maxMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(2 ** attempt, maxMs)))
