import type { AbstractSnapshot } from 'abstract-level'
import {
  type Bytes,
  type Entry,
  GroupCommit,
  guarded,
  type KeyRange,
  Lifecycle,
  type PendingChange,
  prefetch,
  ReadCache,
  type ReadTransaction,
  type StorageDriver,
  type StorageError,
} from '../../lib/storage/index.ts'

interface AtSnapshot {
  snapshot?: AbstractSnapshot
}

/** What is used of an abstract-level database, which has `view` encodings, `getSync` and explicit snapshots. */
export interface Database {
  open(): Promise<void>
  close(): Promise<void>
  snapshot(): AbstractSnapshot
  getSync(key: Bytes, options: AtSnapshot): Bytes | undefined
  getMany(keys: Bytes[], options: AtSnapshot): Promise<(Bytes | undefined)[]>
  iterator(
    options: AtSnapshot & {
      gte: Bytes
      lt: Bytes
      reverse: boolean
      limit: number
      highWaterMarkBytes: number
    },
  ): {
    nextv(size: number): Promise<[Bytes, Bytes][]>
    close(): Promise<void>
  }
  batch(): Batch
  /** Not every database has files to write anew. */
  compactRange?(start: Bytes, end: Bytes): Promise<void>
}

export interface Batch {
  put(key: Bytes, value: Bytes): unknown
  del(key: Bytes): unknown
  /** `sync` is classic-level's; a database in memory has no use for it. */
  write(options: { sync: boolean }): Promise<void>
}

/** How many entries are fetched from the database at once: more and more, for whoever reads on. */
const FIRST_PAGE = 128
const MAX_PAGE = 1024
/** Bytes of one fetch. */
const PAGE_BYTES = 256 * 1024

/**
 * Up to here keys are read at once on the event loop: a hot key is read in microseconds, of which a trip through the
 * thread pool takes ten times as many; more keys than this would hold up everybody else.
 */
const MAX_SYNC_READS = 16

/**
 * A storage driver over any abstract-level database: one process, serial writes in shared synced batches.
 * @param create a database that is not open yet; called for each opening
 * @param explain what an error of the database means
 */
export const overAbstractLevel = (
  name: string,
  create: () => Database | Promise<Database>,
  explain: (cause: unknown) => StorageError,
): StorageDriver => {
  const life = new Lifecycle(
    async () => {
      try {
        return await start(await create())
      } catch (cause) {
        throw explain(cause)
      }
    },
    async ({ database, compaction }) => {
      await compaction.stop()
      await database.close()
    },
  )
  /** What the work itself throws is its own affair; what the database says is explained. */
  const explained = (error: unknown): never => {
    throw isOfDatabase(error) ? explain(error) : error
  }
  return {
    name,
    shared: false,
    open: () => life.open(),
    read: (work, { as } = {}) => life.use((open) => readNamed(open, work, as)).catch(explained),
    write: (work) => life.use(({ commits }) => commits.run(work)).catch(explained),
    close: () => life.close(),
  }
}

interface Open {
  readonly database: Database
  readonly commits: GroupCommit
  readonly results: ReadCache
  readonly compaction: Compaction
}

const start = async (database: Database): Promise<Open> => {
  await database.open()
  const results = new ReadCache()
  const compaction = new Compaction(async (start, end) => database.compactRange?.(start, end))
  const commits = new GroupCommit(readerOf(database), async (given) => {
    const changes = [...given]
    await results.invalidate(changes, () => writeSynced(database, changes))
    compaction.note(changes)
  })
  return { database, commits, results, compaction }
}

const isOfDatabase = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('LEVEL_')

const readNamed = <T>(
  { database, results }: Open,
  work: (tx: ReadTransaction) => Promise<T>,
  name: string | undefined,
): Promise<T> => {
  if (name === undefined) return readSnapshot(database, work)
  const known = results.get(name)
  if (known !== undefined) return Promise.resolve(known as T)
  return results.load(name, (watching) => readSnapshot(database, (tx) => work(watching(tx))))
}

const readSnapshot = async <T>(database: Database, work: (tx: ReadTransaction) => Promise<T>): Promise<T> => {
  const snapshot = database.snapshot()
  const { tx, end } = guarded(readerOf(database, snapshot))
  try {
    return await work(tx)
  } finally {
    end()
    await snapshot.close()
  }
}

const readerOf = (database: Database, snapshot?: AbstractSnapshot): ReadTransaction => {
  const options = snapshot === undefined ? {} : { snapshot }
  return {
    get: async (key) => database.getSync(key, options),
    getMany: async (keys) =>
      keys.length <= MAX_SYNC_READS
        ? keys.map((key) => database.getSync(key, options))
        : database.getMany([...keys], options),
    range: (range) => entriesOf(database, range, options),
  }
}

const entriesOf = (database: Database, range: KeyRange, options: AtSnapshot): AsyncIterable<Entry> =>
  prefetch(() => {
    const { start, end, reverse = false, limit = Number.POSITIVE_INFINITY } = range
    const iterator = database.iterator({
      gte: start,
      lt: end,
      reverse,
      limit: Number.isFinite(limit) ? limit : -1,
      highWaterMarkBytes: PAGE_BYTES,
      ...options,
    })
    let size = FIRST_PAGE / 2
    return {
      next() {
        size = Math.min(2 * size, MAX_PAGE)
        return iterator.nextv(size)
      },
      close: () => iterator.close(),
    }
  })

/** A chained batch: abstract-level takes five times as long over an array of operations. */
const writeSynced = async (database: Database, changes: Iterable<PendingChange>): Promise<void> => {
  const batch = database.batch()
  for (const [key, value] of changes) {
    if (value === undefined) batch.del(key)
    else batch.put(key, value)
  }
  await batch.write({ sync: true })
}

/** Of a place whose entries are deleted one after the other: so many bytes are what their keys have in common. */
const PLACE = 24
/** Deletions that are not worth it. */
const FEW = 20_000
/** Places that are looked after at a time. */
const MAX = 1000

/**
 * LevelDB goes on looking over what was deleted until it happens to write those files anew: milliseconds for thousands
 * of entries, each time that a range comes by there. Where much was deleted it is told to write them now, once no more
 * follows.
 */
export class Compaction {
  readonly #compact: (start: Bytes, end: Bytes) => Promise<void>
  readonly #deleted = new Map<string, number>()
  #running = Promise.resolve()
  #isStopping = false

  /** @param compact writes everything between two keys anew; one such work is under way at a time. */
  constructor(compact: (start: Bytes, end: Bytes) => Promise<void>) {
    this.#compact = compact
  }

  /** Told of what a batch has written. */
  note(changes: Iterable<readonly [Bytes, Bytes | undefined]>): void {
    const touched = new Set<string>()
    for (const [key, value] of changes) {
      if (value !== undefined) continue
      const place = Buffer.from(key.buffer, key.byteOffset, Math.min(key.byteLength, PLACE)).toString(
        'latin1',
      )
      touched.add(place)
      this.#deleted.set(place, (this.#deleted.get(place) ?? 0) + 1)
    }
    for (const [place, deleted] of this.#deleted) {
      if (touched.has(place)) continue
      if (deleted >= FEW) this.#begin(place)
      if (deleted >= FEW || this.#deleted.size > MAX) this.#deleted.delete(place)
    }
  }

  /** Resolves when what is under way is done; nothing is begun any more. */
  stop(): Promise<void> {
    this.#isStopping = true
    return this.#running
  }

  #begin(place: string): void {
    const start = Buffer.from(place, 'latin1')
    const end = Buffer.concat([start, Buffer.alloc(PLACE, 0xff)])
    // What goes wrong with the database shows in every write.
    this.#running = this.#running
      .then(() => (this.#isStopping ? undefined : this.#compact(start, end)))
      .catch(() => undefined)
  }
}
