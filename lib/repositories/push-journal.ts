import { repositoryById } from '../accounts/access.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { QuotaEngine } from '../quota/index.ts'
import { type PushJournalEntry, pushJournal, type Repository, repositories } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { Mutex } from '../storage/index.ts'

/** What the journal needs of the git data on disk. */
export interface RepositoryDisk {
  /** @returns bytes on disk */
  size(id: number): Promise<number>
  /** The wanted branch if it exists, else the first one; undefined for an empty repository. */
  firstBranch(id: number, wanted: string): Promise<string | undefined>
  setBranch(id: number, branch: string): Promise<void>
  /** Waits for the git process of a crashed server, and removes what it left half done. */
  recover(id: number, pid: number | null): Promise<void>
}

/**
 * Journal of pushes. What git writes and the record that counts it cannot be written in one transaction. So an entry is
 * saved before git may change the repository, and removed in the write that saves the new size. The next start settles the
 * entries that a crash left, so that the counted size agrees with the disk again.
 */
export interface PushJournal {
  /** Draws the id of an entry, before the write that saves it. */
  nextId(): Promise<number>
  save(tx: WriteContext, entry: Omit<PushJournalEntry, 'since'>): Promise<void>
  /**
   * Saves an entry for a git process.
   * @returns the id of the entry
   * @throws AllotError not_found when the repository was deleted
   */
  begin(repository: number, pid: number): Promise<number>
  /**
   * Saves what is on the disk into the repository's record, and removes the entry, in one write.
   * @param updatedAt time of the change; absent when nothing changed
   * @returns undefined when the repository was deleted
   */
  settle(entry: number, repository: number, updatedAt?: number): Promise<Repository | undefined>
  /** Settles the entries that a crash left. Called at the start, before git runs. */
  resume(): Promise<void>
}

interface PushJournalOptions {
  store: Store
  quota: QuotaEngine
  disk: RepositoryDisk | undefined
  onError: (error: unknown, fields: object) => void
}

export const createPushJournal = (options: PushJournalOptions): PushJournal => {
  const { store, disk, onError } = options
  // Of two concurrent measurements of one repository, the older one could be saved last.
  const serialize = createSerializer()
  const settle: PushJournal['settle'] = (entry, repository, updatedAt) =>
    serialize(repository, async () => {
      for (;;) {
        const settled = await trySettle(options, entry, repository, updatedAt)
        if (settled !== 'retry') return settled
      }
    })

  const save: PushJournal['save'] = async (tx, entry) =>
    void (await pushJournal.save(tx, { ...entry, since: now() }))

  return {
    nextId: () => store.sequences.next('push'),
    save,
    async begin(repository, pid) {
      const id = await store.sequences.next('push')
      await store.write(async (tx) => {
        if ((await repositoryById(tx, repository)) === undefined)
          throw new AllotError('not_found', 'the repository was deleted')
        await save(tx, { id, repository, pid })
      })
      return id
    },
    settle,
    async resume() {
      for (const { id, repository, pid } of await unsettledIn(store))
        try {
          await disk?.recover(repository, pid)
          await settle(id, repository)
        } catch (error) {
          onError(error, { repository })
        }
    },
  }
}

/** Runs one function after another per repository. */
const createSerializer = () => {
  const queues = new Map<number, { mutex: Mutex; waiting: number }>()
  return async <T>(repository: number, body: () => Promise<T>): Promise<T> => {
    const queue = queues.get(repository) ?? { mutex: new Mutex(), waiting: 0 }
    queues.set(repository, queue)
    queue.waiting++
    try {
      return await queue.mutex.run(body)
    } finally {
      if (--queue.waiting === 0) queues.delete(repository)
    }
  }
}

/** @returns 'retry' when another write has changed the record meanwhile */
const trySettle = async (
  { store, quota, disk }: PushJournalOptions,
  entry: number,
  id: number,
  updatedAt?: number,
): Promise<Repository | 'retry' | undefined> => {
  const read = () => store.read((tx) => repositoryById(tx, id))
  const before = await read()
  const measured =
    before &&
    disk &&
    (await measure(disk, before).catch(async (error) => {
      // The files of a repository that is deleted meanwhile cannot be measured.
      if ((await read()) !== undefined) throw error
      return undefined
    }))
  return store.write(async (tx) => {
    const current = await repositoryById(tx, id)
    if (!isSameOnDisk(before, current)) return 'retry'
    await pushJournal.remove(tx, [entry])
    if (current === undefined || measured === undefined) return current
    const after = { ...current, ...measured, updatedAt: updatedAt ?? current.updatedAt }
    await quota.repositories.resize(tx, id, measured.size)
    await repositories.save(tx, after)
    return after
  })
}

type Measured = Pick<Repository, 'size' | 'empty' | 'defaultBranch'>

/** A first push of another branch than the default makes it the default, as on Forgejo. */
const measure = async (
  disk: RepositoryDisk,
  { id, empty, defaultBranch: wanted }: Repository,
): Promise<Measured> => {
  const branch = empty ? await disk.firstBranch(id, wanted) : wanted
  const defaultBranch = branch ?? wanted
  await disk.setBranch(id, defaultBranch)
  return { size: await disk.size(id), empty: branch === undefined, defaultBranch }
}

const isSameOnDisk = (left: Measured | undefined, right: Measured | undefined): boolean =>
  left?.size === right?.size && left?.empty === right?.empty && left?.defaultBranch === right?.defaultBranch

/** In a shared store, young entries can belong to another process that is still at work. */
const unsettledIn = (store: Store): Promise<PushJournalEntry[]> =>
  store.read(async (tx) => {
    const last = store.driver.shared ? now() - MIN_AGE_SHARED : now()
    const entries: PushJournalEntry[] = []
    for await (const entry of pushJournal.all(tx)) if (entry.since <= last) entries.push(entry)
    return entries
  })
/** Seconds. A push takes at most this long: it is the maximum of the option `git.timeout`. */
const MIN_AGE_SHARED = 24 * 3600

/** Event of a push that is durable and counted. */
export interface Push {
  /** `owner/name` */
  readonly repository: string
  readonly repositoryId: number
  /** Name of the user who pushed. */
  readonly pusher: string
  /** Object ids of each ref: `before` is null for a created ref, `after` for a deleted one. */
  readonly updates: readonly {
    readonly ref: string
    readonly before: string | null
    readonly after: string | null
  }[]
  /** Bytes of git data that the repository has now, without LFS objects. */
  readonly size: number
}
