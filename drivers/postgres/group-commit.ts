import { buffered, Mutex, WriteBuffer, type WriteTransaction } from '../../lib/storage/index.ts'
import { Batch, type BatchEnd, type Committing, commit } from './batch.ts'
import { ContentionLock } from './contention-lock.ts'
import { MAX_CACHED_RANGE, OptimisticTransaction, type ReadSet } from './optimistic.ts'
import { type Outcome, outcomeOf, writeAtOnce } from './plain.ts'
import { type Query, type QueryResult, transactionOver } from './queries.ts'
import type { CachedResult, ReadCache } from './read-cache.ts'

/** How often what a write has to know is looked up before it is given a transaction of its own. */
const COLD = 4
/** How often what was looked up may lead to more of it. */
const LEVELS = 8

/** Meetings with other processes after which it is better to queue. */
const MEETINGS = 2
/** How much of a meeting each write that meets nobody makes up for. */
const FORGETTING = 0.1
const MOST_MET = 4

interface Joined<T> {
  readonly outcome: Outcome<T>
  readonly batch: Batch
}

/**
 * Write transactions of this process run one after another, by what is recollected and what the ones before have
 * changed; those that end while a batch is on its way share the next. So they are never in each other's way, and other
 * processes only meet whole batches: where one was overtaken its writes run again, by what is true then.
 */
export class GroupCommit {
  readonly #house: Committing
  readonly #retries: number
  readonly #turns = new Mutex()
  #isTurn = false
  #waiting: Batch | undefined
  #sending: Batch | undefined
  /** How often it met others of late. */
  #met = 0
  readonly #gate: ContentionLock
  /** Grows when what a turn may have read has not come to be. */
  #overthrows = 0

  constructor(fixture: Committing, retries: number) {
    this.#house = fixture
    this.#retries = retries
    this.#gate = new ContentionLock(fixture.connections)
  }

  async run<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    let [cold, overtaken] = [0, 0]
    while (cold < COLD && overtaken <= this.#retries) {
      const joined = await this.#turns.run(() => this.#turn(work))
      if (joined === 'cold') {
        cold++
        if ((await this.#warm(work)) === 'too much') break
        continue
      }
      if (joined === 'too much') break
      const end = await joined.batch.ended
      if (end === 'written') return joined.outcome.give()
      if (end !== 'overtaken') throw end.error
      // At once: what is true now came with the refusal, and is old after a pause.
      overtaken++
      cold = 0
    }
    return this.#alone(work)
  }

  async #turn<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<Joined<T> | 'cold' | 'too much'> {
    if (this.#waiting?.isFull) await this.#sending?.ended
    this.#isTurn = true
    try {
      for (;;) {
        const overthrows = this.#overthrows
        const glance = new Glance(this.#house.readCache, () => this.#sending?.layer)
        const layers = this.#waiting === undefined ? [] : [this.#waiting.layer]
        const { tx, end, buffer } = buffered(transactionOver(glance.ask), layers)
        const outcome = await outcomeOf(work, tx)
        end()
        if (overthrows !== this.#overthrows) continue
        if (glance.isCold) return 'cold'
        if (buffer.size + glance.seen.size > MAX_CACHED_RANGE) return 'too much'
        return { outcome, batch: this.#join(glance.seen, outcome.isRight ? buffer : new WriteBuffer()) }
      }
    } finally {
      this.#isTurn = false
      if (this.#sending === undefined) setImmediate(() => this.#send())
    }
  }

  #join(seen: ReadSet, changes: WriteBuffer): Batch {
    this.#waiting ??= new Batch()
    this.#waiting.join(seen, changes)
    return this.#waiting
  }

  /** Between turns: a turn must not lose the batch whose changes it has read. */
  async #send(): Promise<void> {
    if (this.#isTurn || this.#sending !== undefined || this.#waiting === undefined) return
    const batch = this.#waiting
    this.#sending = batch
    this.#waiting = undefined
    const end = await this.#commit(batch)
    this.#sending = undefined
    if (end !== 'written') this.#overthrow()
    batch.end(end)
    setImmediate(() => this.#send())
  }

  /** Whoever was in others' way goes by the gate. */
  async #commit(batch: Batch): Promise<BatchEnd> {
    if (this.#met >= MEETINGS) await this.#gate.acquire()
    const end = await commit(this.#house, batch, async () => {
      if (++this.#met >= MEETINGS) await this.#gate.acquire()
    })
    if (end === 'overtaken') this.#met = Math.min(this.#met + 1, MOST_MET)
    else {
      this.#met = Math.max(0, this.#met - FORGETTING)
      this.#gate.release(this.#waiting !== undefined)
    }
    return end
  }

  /** Those that wait may have read what has not been written. */
  #overthrow(): void {
    this.#overthrows++
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.end('overtaken' satisfies BatchEnd)
  }

  /** Runs the work for nothing but to have what it reads at hand. */
  async #warm<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<'too much' | undefined> {
    // What is on its way may be what the work is about.
    await this.#sending?.ended
    const { readCache, batcher } = this.#house
    const begun = readCache.next()
    let given: ReadSet | undefined
    for (let run = 0; run < LEVELS; run++) {
      // A write mostly asks for what is not there yet: so all of that is looked up at once.
      const attempt = new OptimisticTransaction(readCache, batcher, { begun, given, assumes: true })
      const { tx, end } = buffered(transactionOver(attempt.ask), [])
      await outcomeOf(work, tx)
      end()
      if (attempt.failure !== undefined) throw attempt.failure
      if (attempt.isTooMuch) return 'too much'
      if (!attempt.isAbandoned && (await attempt.confirm())) break
      if (attempt.isTooMuch) return 'too much'
      given = attempt.fresh
    }
    return undefined
  }

  async #alone<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    const { connections, readCache } = this.#house
    return writeAtOnce(connections, this.#retries, work, (changes) => readCache.noteChanges(changes))
  }
}

/** Answers by what is recollected alone, without waiting. */
class Glance {
  readonly seen: ReadSet = new Map()
  isCold = false
  readonly #recollection: ReadCache
  readonly #sending: () => WriteBuffer | undefined

  constructor(readCache: ReadCache, sending: () => WriteBuffer | undefined) {
    this.#recollection = readCache
    this.#sending = sending
  }

  readonly ask = async (queries: readonly Query[]): Promise<QueryResult[]> => {
    const known = queries.map((query) => this.#recall(query))
    if (known.includes(undefined)) this.isCold = true
    if (this.isCold)
      throw new Error('not everything is known that this work has to know; it will be run again')
    return known.map((one) => one!.answer)
  }

  /** What is on its way to the database will be true when a later batch arrives there. */
  #recall(query: Query): CachedResult | undefined {
    const before = this.seen.get(query.id)
    if (before !== undefined) return before
    const known = this.#sent(query) ?? this.#recollection.get(query.id)
    if (known === undefined || known === ON_ITS_WAY) return undefined
    this.seen.set(query.id, known)
    return known
  }

  #sent(query: Query): CachedResult | undefined {
    const layer = this.#sending()
    if (layer === undefined) return undefined
    if (query.end !== undefined)
      return layer.within({ start: query.start, end: query.end }).length > 0 ? ON_ITS_WAY : undefined
    const change = layer.get(query.id)
    if (change === undefined) return undefined
    const [key, value] = change
    return { query, answer: value === undefined ? [] : [[key, value]], moment: 0 }
  }
}

/** A range that is changing is not put together by halves: its reader waits. */
const ON_ITS_WAY: CachedResult = {
  query: { id: '', start: new Uint8Array(0), reverse: false, limit: 0 },
  answer: [],
  moment: 0,
}
