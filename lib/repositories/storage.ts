import { now } from '../clock.ts'
import { type Account, pendingFolders } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { StorageError } from '../storage/errors.ts'

export interface NewRepository {
  name: string
  description?: string | undefined
  private?: boolean | undefined
  autoInit?: boolean | undefined
  gitignores?: string | undefined
  license?: string | undefined
  readme?: string | undefined
  defaultBranch?: string | undefined
  /** Host name for the author's no-reply address in the first commit; absent: that of `baseUrl`, or `localhost`. */
  host?: string | undefined
}

/** Where the git data lies; a host that keeps repositories itself has none. */
export interface RepositoryFiles {
  /** @throws AllotError invalid for an unknown template, before anything is made. */
  check(init: NewRepository): void | Promise<void>
  /** @returns bytes on disk */
  create(id: number, init: NewRepository, author: Account): Promise<number>
  remove(id: number): Promise<void>
  /** Deletes what a kill has left half made, and nobody has touched for `age` seconds; before anything is being made. */
  sweep(age: number): Promise<void>
}

/**
 * A repository's folder and its record cannot be written in one transaction. So a folder is noted as a stray for as long
 * as it may be there without a record, and what a kill leaves behind is known at the next start.
 */
export interface RepositoryStorage {
  /** Notes the folder, then runs the work that makes it; the write that saves its record must call {@link confirmFolder}. */
  create<T>(id: number, work: () => Promise<T>): Promise<T>
  /** Deletes the folder once the write is durable that takes its record away. */
  release(tx: WriteContext, id: number): Promise<void>
  /** Resolves when every folder that was released is deleted. @throws what the last of them could not be for. */
  idle(): Promise<void>
  /** Deletes what a kill has left; only before anything is being made. */
  sweep(): Promise<void>
}

export const createRepositoryStorage = (
  store: Store,
  files: RepositoryFiles | undefined,
): RepositoryStorage => {
  const discard = async (id: number) => {
    await files?.remove(id)
    await store.write((tx) => confirmFolder(tx, id))
  }

  /** As long as it is a stray it has no record. */
  const discardStray = async (id: number) => {
    if ((await store.read((tx) => pendingFolders.get(tx, [id]))) !== undefined) await discard(id)
  }

  let released: Promise<void> = Promise.resolve()
  const discardNext = (id: number) => {
    const discarded = released.catch(() => undefined).then(() => discard(id))
    released = discarded
    // Whoever waits hears of a failure, and the next start knows of the folder.
    const end = () => {
      if (released === discarded) released = Promise.resolve()
    }
    discarded.then(end, end)
  }

  return {
    async create(id, work) {
      if (files === undefined) return work()
      await store.write((tx) => leave(tx, id))
      try {
        return await work()
      } catch (error) {
        // A write that the disk has refused may be there after all: the next start knows.
        if (!(error instanceof StorageError)) await discardStray(id).catch(() => undefined)
        throw error
      }
    },
    async release(tx, id) {
      if (files === undefined) return
      await leave(tx, id)
      // A record that may still be there keeps its folder; the next start knows.
      tx.afterCommit((isKnown) => isKnown && discardNext(id))
    },
    idle: () => released,
    async sweep() {
      // Where other processes work on the same store, what is young is theirs.
      const age = store.driver.shared ? GROWN : 0
      await files?.sweep(age)
      for (const id of await strayIds(store, age)) await discard(id)
    },
  }
}

/** The record of the folder is there. */
export const confirmFolder = async (tx: WriteContext, id: number): Promise<void> =>
  void (await pendingFolders.remove(tx, [id]))

/** The folder has no record any more, or not yet. */
const leave = async (tx: WriteContext, id: number): Promise<void> =>
  void (await pendingFolders.save(tx, { id, since: now() }))

const strayIds = (store: Store, age: number): Promise<number[]> =>
  store.read(async (tx) => {
    const last = now() - age
    const ids: number[] = []
    for await (const { id, since } of pendingFolders.all(tx)) if (since <= last) ids.push(id)
    return ids
  })
/** Seconds after which nobody is at work on it any more. */
const GROWN = 3600
