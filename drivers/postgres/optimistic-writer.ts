import { setImmediate as setImmediateAsync } from 'node:timers/promises'
import { buffered, Mutex, WriteBuffer, type WriteTransaction } from '../../lib/storage/index.ts'
import { Batch, type BatchResult } from './batch.ts'
import type { Connections } from './connections.ts'
import { type Deadline, notWritten } from './deadline.ts'
import { MAX_READ_SET, OptimisticTransaction, runValidated } from './optimistic.ts'
import { type Outcome, outcomeOf, type PlainEngine, unwrap } from './plain.ts'
import { isKeyQuery, keyResult, type Query, readTransaction } from './queries.ts'
import type { CachedResult, QueryCache } from './query-cache.ts'
import type { Session } from './statements.ts'

/** Times that the reads of one write are fetched before the plain engine takes over. */
const MAX_PREFETCHES = 4
/** Runs of one prefetch: a read that depends on another one is found by the next run. */
const MAX_PREFETCH_RUNS = 8

/** Level of contention from which a batch takes the contention lock. Each conflict raises the level by 1. */
const LOCK_LEVEL = 2
const MAX_LEVEL = 4
/** The amount by which each batch without a conflict lowers the level. */
const DECAY = 0.1

interface Joined<T> {
  readonly outcome: Outcome<T>
  readonly batch: Batch
}

/**
 * The writes of the optimistic engine. Write transactions of this process run one after another over cached
 * results and over the changes of the transactions before them, so they never conflict with each other.
 * Transactions that end while a batch is in flight form the next batch. Other processes conflict with whole
 * batches: a stale batch is not written, and its transactions run again over fresh results.
 */
export class OptimisticWriter {
  readonly #connections: Connections
  readonly #cache: QueryCache
  readonly #plain: PlainEngine
  readonly #retries: number
  readonly #mutex = new Mutex()
  readonly #lock: ContentionLock
  #isRunning = false
  #waiting: Batch | undefined
  #inFlight: Batch | undefined
  #contention = 0
  /** Number of batches that failed: a transaction that ran meanwhile may have read their changes. */
  #failures = 0

  /** @param plain runs the writes that are better not run optimistically */
  constructor(connections: Connections, cache: QueryCache, plain: PlainEngine, retries: number) {
    this.#connections = connections
    this.#cache = cache
    this.#plain = plain
    this.#retries = retries
    this.#lock = new ContentionLock(connections)
  }

  async write<T>(body: (tx: WriteTransaction) => Promise<T>, deadline: Deadline): Promise<T> {
    let [prefetches, conflicts] = [0, 0]
    while (prefetches < MAX_PREFETCHES && conflicts <= this.#retries) {
      const joined = await this.#mutex.run(() => this.#runInMemory(body, deadline))
      if (joined === 'outdated') continue
      if (joined === 'too large') break
      if (joined === 'miss') {
        prefetches++
        if (await this.#prefetch(body)) continue
        break
      }
      const result = await joined.batch.result
      if (result === 'committed') return unwrap(joined.outcome)
      if (result !== 'stale') throw result.error
      // Without a pause: the refusal came with the current results.
      conflicts++
      prefetches = 0
    }
    return this.#plain.write(body, deadline, (changes) => this.#cache.setChanges(changes))
  }

  /**
   * Runs without waiting for the database, and joins the next batch.
   * @returns 'outdated' when the transaction may have read changes of a batch that has failed
   */
  async #runInMemory<T>(
    body: (tx: WriteTransaction) => Promise<T>,
    deadline: Deadline,
  ): Promise<Joined<T> | 'miss' | 'too large' | 'outdated'> {
    // After a batch, the next one is sent in a later turn of the event loop, and all waiting writes would
    // join it before.
    while (this.#waiting?.isFull) await (this.#inFlight?.result ?? setImmediateAsync())
    if (deadline.isOver) throw notWritten()
    this.#isRunning = true
    try {
      return await this.#join(body, deadline)
    } finally {
      this.#isRunning = false
      if (this.#inFlight === undefined) setImmediate(() => this.#send())
    }
  }

  async #join<T>(
    body: (tx: WriteTransaction) => Promise<T>,
    deadline: Deadline,
  ): Promise<Joined<T> | 'miss' | 'too large' | 'outdated'> {
    const failures = this.#failures
    const attempt = new OptimisticTransaction(this.#cache, (query) => this.#lookup(query), 'abort')
    const layers = this.#waiting === undefined ? [] : [this.#waiting.changes]
    const { tx, end, buffer } = buffered(readTransaction(attempt.read), layers)
    const outcome = await outcomeOf(body, tx)
    end()
    if (failures !== this.#failures) return 'outdated'
    if (attempt.abort !== undefined) return attempt.abort.reason === 'miss' ? 'miss' : 'too large'
    if (buffer.size + attempt.readSet.size > MAX_READ_SET) return 'too large'
    const changes = outcome.status === 'fulfilled' ? buffer : new WriteBuffer()
    this.#waiting ??= new Batch(this.#connections, this.#cache)
    this.#waiting.add(attempt.readSet, changes, deadline)
    return { outcome, batch: this.#waiting }
  }

  /**
   * The batch in flight will be committed when a later batch arrives, so its changes are read like committed
   * ones.
   */
  #lookup(query: Query): CachedResult | undefined {
    const changes = this.#inFlight?.changes
    const cached = this.#cache.get(query.id)
    if (!isKeyQuery(query)) {
      // A range that is changing, or has changed since it was cached, is a miss: the prefetch waits for the
      // batch.
      const range = { start: query.start, end: query.end! }
      const isChanging = cached?.isOutdated || (changes !== undefined && changes.within(range).length > 0)
      return isChanging ? undefined : cached
    }
    const change = changes?.get(query.id)
    return change === undefined ? cached : { query, result: keyResult(...change), time: 0 }
  }

  /**
   * Sends the waiting batch. It waits for a transaction that runs, since that has read the changes of this
   * batch and is to join it.
   */
  async #send(): Promise<void> {
    if (this.#isRunning || this.#inFlight !== undefined || this.#waiting === undefined) return
    const batch = this.#waiting
    this.#inFlight = batch
    this.#waiting = undefined
    const result = await this.#commit(batch)
    this.#inFlight = undefined
    if (result !== 'committed') this.#discardWaiting()
    batch.settle(result)
    setImmediate(() => this.#send())
  }

  async #commit(batch: Batch): Promise<BatchResult> {
    if (this.#contention >= LOCK_LEVEL) await this.#lock.acquire()
    const result = await batch.commit(async () => {
      this.#raiseContention()
      if (this.#contention >= LOCK_LEVEL) await this.#lock.acquire()
    })
    if (result === 'stale') this.#raiseContention()
    else {
      this.#contention = Math.max(0, this.#contention - DECAY)
      this.#lock.release(this.#waiting !== undefined)
    }
    return result
  }

  #raiseContention(): void {
    this.#contention = Math.min(this.#contention + 1, MAX_LEVEL)
  }

  /** The transactions of the waiting batch may have read changes that were not committed. */
  #discardWaiting(): void {
    this.#failures++
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.settle('stale')
  }

  /**
   * Runs the body only to have its reads cached. A write mostly reads keys that do not exist yet, so a run
   * assumes that whatever is not cached is absent, and one validation then fetches all of it.
   * @returns false when the plain engine serves better
   */
  async #prefetch<T>(body: (tx: WriteTransaction) => Promise<T>): Promise<boolean> {
    await this.#inFlight?.result
    const since = this.#cache.tick()
    const options = { maxRuns: MAX_PREFETCH_RUNS, onMiss: 'assume absent', since } as const
    return (await runValidated(this.#cache, buffered, body, options)) !== 'too large'
  }
}

/** How long a process holds the lock while it has more to write. */
const HOLD_MS = 30
/** How long it waits for the lock. */
const MAX_WAIT_MS = 2000
/** How long it holds the lock when it turns out to have nothing to write. */
const MAX_HOLD_MS = 500

/**
 * Best-effort lock that serializes batches of several processes under contention: an advisory lock of
 * PostgreSQL, which grants it in order of arrival. Correctness does not depend on it: a process that fails to
 * get it writes without.
 */
class ContentionLock {
  readonly #connections: Connections
  #unlock: (() => void) | undefined
  #heldSince = 0

  constructor(connections: Connections) {
    this.#connections = connections
  }

  /** Does nothing when the lock is already held, or when it would take the only connection for writes. */
  async acquire(): Promise<void> {
    if (this.#unlock !== undefined || this.#connections.writers < 2) return
    await new Promise<void>((resolve) => {
      this.#connections
        .withWriter((session) => this.#hold(session, resolve))
        .catch(() => undefined)
        .finally(resolve)
    })
  }

  /** Resolves after the release: the end of the transaction frees the lock. */
  async #hold(session: Session, onAcquired: () => void): Promise<void> {
    await session.run({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' })
    await session.run({ text: `SET LOCAL lock_timeout = ${MAX_WAIT_MS}` })
    await session.run(this.#connections.statements.contentionLock)
    this.#heldSince = Date.now()
    const timer = setTimeout(() => this.release(false), MAX_HOLD_MS)
    await new Promise<void>((resolve) => {
      this.#unlock = resolve
      onAcquired()
    })
    clearTimeout(timer)
    await session.run({ text: 'COMMIT' })
  }

  /** @param hasMore whether another batch waits; it may use the lock until other processes get their turn. */
  release(hasMore: boolean): void {
    if (hasMore && Date.now() - this.#heldSince < HOLD_MS) return
    this.#unlock?.()
    this.#unlock = undefined
  }
}
