import type { AbstractSnapshot } from 'abstract-level'
import {
  type Bytes,
  type Entry,
  GroupCommit,
  guarded,
  isEmptyRange,
  type KeyRange,
  type Pending,
  type ReadTransaction,
  type StorageDriver,
  StorageError,
  type WriteTransaction,
} from '../../lib/storage/index.ts'

interface AtSnapshot {
  snapshot?: AbstractSnapshot
}

type Operation = { type: 'put'; key: Bytes; value: Bytes } | { type: 'del'; key: Bytes }

/** What is used of an abstract-level database, which has `view` encodings and explicit snapshots. */
export interface Database {
  open(): Promise<void>
  close(): Promise<void>
  snapshot(): AbstractSnapshot
  get(key: Bytes, options: AtSnapshot): Promise<Bytes | undefined>
  getMany(keys: Bytes[], options: AtSnapshot): Promise<(Bytes | undefined)[]>
  iterator(options: AtSnapshot & { gte: Bytes; lt: Bytes; reverse: boolean; limit: number }): {
    nextv(size: number): Promise<[Bytes, Bytes][]>
    close(): Promise<void>
  }
  /** `sync` is classic-level's; a database in memory has no use for it. */
  batch(operations: Operation[], options: { sync: boolean }): Promise<void>
}

/** How many entries are fetched from the database at once. */
const FETCH = 128

/** A storage driver over any abstract-level database: one process, serial writes in shared synced batches. */
export const overAbstractLevel = (
  name: string,
  create: () => Database,
  explain: (cause: unknown) => StorageError,
): StorageDriver => {
  let database: Database | undefined
  let commits: GroupCommit | undefined
  const reading = new Set<Promise<unknown>>()

  const opened = (): { database: Database; commits: GroupCommit } => {
    if (database === undefined || commits === undefined)
      throw new StorageError('closed', 'the store is not open')
    return { database, commits }
  }

  const track = <T>(work: Promise<T>): Promise<T> => {
    reading.add(work)
    const forget = () => void reading.delete(work)
    work.then(forget, forget)
    return work
  }

  return {
    name,
    shared: false,
    async open() {
      if (database !== undefined) return
      const created = create()
      try {
        await created.open()
      } catch (cause) {
        throw explain(cause)
      }
      database = created
      commits = new GroupCommit(readerOf(created), (changes) =>
        created.batch(operations(changes), { sync: true }),
      )
    },
    async read(work) {
      return track(readOnce(opened().database, work))
    },
    async write<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
      return opened().commits.run(work)
    },
    async close() {
      if (database === undefined || commits === undefined) return
      const [closing, ending] = [database, commits]
      database = undefined
      commits = undefined
      await Promise.allSettled(reading)
      await ending.idle()
      await closing.close()
    },
  }
}

const readOnce = async <T>(database: Database, work: (tx: ReadTransaction) => Promise<T>): Promise<T> => {
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
    get: (key) => database.get(key, options),
    getMany: (keys) => database.getMany(keys as Bytes[], options),
    range: (range) => (isEmptyRange(range) ? nothing() : entriesOf(database, range, options)),
  }
}

async function* nothing(): AsyncIterable<Entry> {}

async function* entriesOf(
  database: Database,
  { start, end, reverse = false, limit = -1 }: KeyRange,
  options: AtSnapshot,
): AsyncIterable<Entry> {
  const iterator = database.iterator({ gte: start, lt: end, reverse, limit, ...options })
  try {
    for (;;) {
      const entries = await iterator.nextv(FETCH)
      if (entries.length === 0) return
      yield* entries
    }
  } finally {
    await iterator.close()
  }
}

const operations = (changes: Iterable<Pending>): Operation[] =>
  Array.from(changes, ([key, value]) =>
    value === undefined ? { type: 'del', key } : { type: 'put', key, value },
  )
