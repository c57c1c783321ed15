import type { AbstractSnapshot } from 'abstract-level'
import {
  type Bytes,
  type Entry,
  GroupCommit,
  guarded,
  type KeyRange,
  keyText,
  Lifecycle,
  type PendingChange,
  REASON_IN_LOG,
  type ReadTransaction,
  type StorageDriver,
  StorageError,
  type WriteTransaction,
} from '../../lib/storage/index.ts'
import { PointReads, type Readable, type SnapshotOption } from './point-reads.ts'
import { throttled } from './space.ts'

/**
 * The part of an abstract-level database that this driver uses. It has `view` encodings, `getSync` and
 * snapshots.
 */
export interface Database extends Readable {
  close(): Promise<void>
  snapshot(): AbstractSnapshot
  iterator(
    options: SnapshotOption & {
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
  /** Absent in a database without files. */
  compactRange?(start: Bytes, end: Bytes): Promise<void>
  /** As that of the driver; absent in a database without files. */
  findDamage?: StorageDriver['findDamage']
}

export interface Batch {
  put(key: Bytes, value: Bytes): unknown
  del(key: Bytes): unknown
  /** classic-level supports `sync`; a database in memory ignores it. */
  write(options: { sync: boolean }): Promise<void>
}

/** Entries that an iterator fetches at once. The number doubles with each page. */
const [MIN_PAGE, MAX_PAGE] = [128, 1024]
const MAX_PAGE_BYTES = 256 * 1024

/**
 * A storage driver over any abstract-level database: one process, serial writes in shared, synced batches.
 * @param openDatabase called for each opening
 * @param toStorageError translates an error of the database
 * @param hasSpace whether the disk has space, asked after writes have failed for the lack of it
 */
export const overAbstractLevel = (
  name: string,
  openDatabase: () => Promise<Database>,
  toStorageError: (cause: unknown) => StorageError,
  hasSpace: () => Promise<boolean> = async () => false,
): StorageDriver => {
  let undo: PendingChange[] = []
  const lifecycle = new Lifecycle(
    async () => {
      try {
        const database = await openDatabase()
        await restore(database, undo)
        undo = []
        return new OpenStore(database)
      } catch (cause) {
        throw forClients(toStorageError(cause))
      }
    },
    (store) => store.close(),
  )
  /** Opens a database again that has refused writes for the lack of space, when there is space. */
  const reopenWithSpace = throttled(async () => {
    const failed = lifecycle.current
    if (failed?.undo === undefined || !(await hasSpace()) || lifecycle.current !== failed) return
    undo = failed.undo
    lifecycle.renew()
  })
  /** Errors that the callback itself throws pass unchanged. */
  const translate = (error: unknown): never => {
    throw isDatabaseError(error) ? forClients(toStorageError(error)) : error
  }
  /** The operator gets the message that names the folder. */
  const open = () =>
    lifecycle.open().catch((error: StorageError) => {
      throw error.cause
    })
  return {
    name,
    shared: false,
    open,
    read: (body) => lifecycle.use((store) => store.read(body)).catch(translate),
    write: (body) =>
      lifecycle
        .use((store) => store.write(body))
        .catch((error) => {
          if (error instanceof StorageError && error.reason === 'full') reopenWithSpace()
          return translate(error)
        }),
    findDamage: (onDamage) => lifecycle.use(async (store) => store.findDamage(onDamage)).catch(translate),
    close: () => lifecycle.close(),
  }
}

/**
 * Clients get the message of an error of an open store, also of one that is opened again, so it must not name
 * the folder; the log does.
 * @returns an error with the given one as its cause
 */
const forClients = (error: StorageError): StorageError =>
  error.reason === 'full'
    ? new StorageError('full', 'the disk is full', { cause: error })
    : new StorageError(error.reason, `the server cannot use its store${REASON_IN_LOG}`, { cause: error })

/** Makes sure that no part of a batch that has failed is there, since no read has seen it. */
const restore = async (database: Database, undo: readonly PendingChange[]): Promise<void> => {
  try {
    if (undo.length > 0) await writeSynced(database, undo)
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Errors of `getSync` have no code. */
const isDatabaseError = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && String(error.code).startsWith('LEVEL_')) ||
    /^(IO error|Corruption): /.test(error.message))

/** A database while it is open. */
class OpenStore {
  readonly #database: Database
  readonly #reads: PointReads
  readonly #compaction: Compaction
  readonly #commits: GroupCommit
  /** Changes that restore what a batch would have changed that failed; undefined before. */
  undo: PendingChange[] | undefined

  constructor(database: Database) {
    this.#database = database
    this.#reads = new PointReads(database)
    this.#compaction = new Compaction(async (start, end) => database.compactRange?.(start, end))
    this.#commits = new GroupCommit(readerOf(database, this.#reads), async (batch) => {
      const changes = [...batch]
      try {
        await writeSynced(database, changes)
      } catch (error) {
        this.undo = changes.map(([key]) => [key, database.getSync(key, {})])
        throw error
      }
      this.#compaction.noteChanges(changes)
    })
  }

  write<T>(body: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    return this.#commits.run(body)
  }

  async findDamage(onDamage: (message: string) => void): Promise<void> {
    await this.#database.findDamage?.(onDamage)
  }

  async close(): Promise<void> {
    await this.#compaction.stop()
    await this.#database.close()
  }

  async read<T>(body: (tx: ReadTransaction) => Promise<T>): Promise<T> {
    const snapshot = this.#database.snapshot()
    const { tx, end } = guarded(readerOf(this.#database, this.#reads, snapshot))
    try {
      return await body(tx)
    } finally {
      end()
      await snapshot.close()
    }
  }
}

const readerOf = (database: Database, reads: PointReads, snapshot?: AbstractSnapshot): ReadTransaction => {
  const options = snapshot === undefined ? {} : { snapshot }
  return {
    get: (key) => reads.get(key, options),
    getMany: (keys) => reads.getMany(keys, options),
    range: (range) => rangeOf(database, range, options),
  }
}

/** Fetches pages, the first of them small. */
async function* rangeOf(
  database: Database,
  { start, end, reverse = false, limit = Number.POSITIVE_INFINITY }: KeyRange,
  options: SnapshotOption,
): AsyncGenerator<Entry> {
  const iterator = database.iterator({
    gte: start,
    lt: end,
    reverse,
    limit: Number.isFinite(limit) ? limit : -1,
    highWaterMarkBytes: MAX_PAGE_BYTES,
    ...options,
  })
  try {
    for (let size = MIN_PAGE; ; size = Math.min(2 * size, MAX_PAGE)) {
      const page = await iterator.nextv(size)
      if (page.length === 0) return
      for (const entry of page) yield entry
    }
  } finally {
    await iterator.close()
  }
}

/** Uses a chained batch: abstract-level takes five times as long for an array of operations. */
const writeSynced = async (database: Database, changes: Iterable<PendingChange>): Promise<void> => {
  const batch = database.batch()
  for (const [key, value] of changes) {
    if (value === undefined) batch.del(key)
    else batch.put(key, value)
  }
  await batch.write({ sync: true })
}

/**
 * Deletions are counted by this prefix of their keys. It holds the names of most collections and indexes, and
 * the id that follows, such as that of an owner. With a longer prefix, the deletions of one id would be split
 * where the names are short, and no part would reach MIN_DELETIONS.
 */
const PREFIX_BYTES = 27
/** Deletions below a prefix from which compaction pays off. */
const MIN_DELETIONS = 20_000
/** Prefixes that are counted at once. */
const MAX_PREFIXES = 1000

/**
 * Compacts key ranges in which much was deleted. LevelDB keeps a tombstone for each deleted entry until it
 * happens to compact the file, and a range scan reads all of them: milliseconds for thousands of entries.
 */
export class Compaction {
  readonly #compactRange: (start: Bytes, end: Bytes) => Promise<void>
  readonly #deletions = new Map<string, number>()
  #running = Promise.resolve()
  #isStopping = false

  /** @param compactRange runs for one range at a time */
  constructor(compactRange: (start: Bytes, end: Bytes) => Promise<void>) {
    this.#compactRange = compactRange
  }

  /** Call it with each batch that was written. */
  noteChanges(changes: Iterable<PendingChange>): void {
    const touched = new Set<string>()
    for (const [key, value] of changes) {
      if (value !== undefined) continue
      const prefix = keyText(key.subarray(0, PREFIX_BYTES))
      touched.add(prefix)
      const count = (this.#deletions.get(prefix) ?? 0) + 1
      // Moves the prefix to the end: those that were touched last are kept.
      this.#deletions.delete(prefix)
      this.#deletions.set(prefix, count)
    }
    for (const [prefix, deletions] of this.#deletions) {
      if (touched.has(prefix)) continue
      if (deletions >= MIN_DELETIONS) this.#enqueue(prefix)
      if (deletions >= MIN_DELETIONS || this.#deletions.size > MAX_PREFIXES) this.#deletions.delete(prefix)
    }
  }

  /** Starts no more compactions. Resolves when the current one is done. */
  stop(): Promise<void> {
    this.#isStopping = true
    return this.#running
  }

  #enqueue(prefix: string): void {
    const start = Buffer.from(prefix, 'latin1')
    const end = Buffer.concat([start, Buffer.alloc(PREFIX_BYTES, 0xff)])
    // An error of the database also fails the writes, where it is reported.
    this.#running = this.#running
      .then(() => (this.#isStopping ? undefined : this.#compactRange(start, end)))
      .catch(() => undefined)
  }
}
