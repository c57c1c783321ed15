import { now } from '../clock.ts'
import { type Account, pendingFolders } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { StorageError } from '../storage/index.ts'

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

/** Stores git data. Absent when the host keeps repositories itself. */
export interface RepositoryFiles {
  /** Checks the templates before anything is created. @throws AllotError invalid for an unknown template */
  check(init: NewRepository): void | Promise<void>
  /** @returns bytes on disk */
  create(id: number, init: NewRepository, author: Account): Promise<number>
  remove(id: number): Promise<void>
  /** Deletes half created folders that a crash left and that are older than `age` seconds. */
  sweep(age: number): Promise<void>
}

/**
 * Creates and deletes the folders of repositories. A folder and its record cannot be written in one transaction, so a
 * folder is recorded as pending while it can exist without a record; the next start deletes pending folders that a crash
 * left.
 */
export interface RepositoryStorage {
  /** Records the folder as pending, then runs `body`, whose write must call {@link confirmFolder}. */
  create<T>(id: number, body: () => Promise<T>): Promise<T>
  /** Deletes the folder after the commit of the write that removes the repository's record. */
  release(tx: WriteContext, id: number): Promise<void>
  /** Resolves when every released folder is deleted. @throws the error of the last deletion that failed */
  idle(): Promise<void>
  /** Deletes the folders that a crash left. Called at the start, before any repository is created. */
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

  /** A pending folder has no record. */
  const discardPending = async (id: number) => {
    if ((await store.read((tx) => pendingFolders.get(tx, [id]))) !== undefined) await discard(id)
  }

  let released: Promise<void> = Promise.resolve()
  const discardNext = (id: number) => {
    const discarded = released.catch(() => undefined).then(() => discard(id))
    released = discarded
    // A failure reaches those who wait in idle(); the folder stays pending for the next start.
    const reset = () => {
      if (released === discarded) released = Promise.resolve()
    }
    discarded.then(reset, reset)
  }

  return {
    async create(id, body) {
      if (files === undefined) return body()
      await store.write((tx) => markPending(tx, id))
      try {
        return await body()
      } catch (error) {
        // After a storage error the write may be durable all the same; the next start decides.
        if (!(error instanceof StorageError)) await discardPending(id).catch(() => undefined)
        throw error
      }
    },
    async release(tx, id) {
      if (files === undefined) return
      await markPending(tx, id)
      // With an unknown outcome the record may still exist, so the folder stays; the next start decides.
      tx.afterCommit((isKnown) => isKnown && discardNext(id))
    },
    idle: () => released,
    async sweep() {
      // In a shared store, young folders can belong to another process that is still at work.
      const age = store.driver.shared ? MIN_AGE_SHARED : 0
      await files?.sweep(age)
      for (const id of await pendingIds(store, age)) await discard(id)
    },
  }
}

/** Ends the pending state: the repository's record is saved in the same transaction. */
export const confirmFolder = async (tx: WriteContext, id: number): Promise<void> =>
  void (await pendingFolders.remove(tx, [id]))

/** Records that the folder has no repository record, not yet or not any more. */
const markPending = async (tx: WriteContext, id: number): Promise<void> =>
  void (await pendingFolders.save(tx, { id, since: now() }))

const pendingIds = (store: Store, age: number): Promise<number[]> =>
  store.read(async (tx) => {
    const last = now() - age
    const ids: number[] = []
    for await (const { id, since } of pendingFolders.all(tx)) if (since <= last) ids.push(id)
    return ids
  })
/** Seconds after which a pending folder in a shared store cannot belong to a request under way any more. */
const MIN_AGE_SHARED = 3600
