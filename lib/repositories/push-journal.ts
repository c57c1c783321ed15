import { repositoryById } from '../accounts/access.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { QuotaEngine } from '../quota/index.ts'
import { type PushJournalEntry, pushJournal, type Repository, repositories } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { Mutex } from '../storage/mutex.ts'

/** The git data of repositories, as their records have to agree with it. */
export interface RepositoryDisk {
  /** Bytes */
  size(id: number): Promise<number>
  firstBranch(id: number, wanted: string): Promise<string | undefined>
  setBranch(id: number, branch: string): Promise<void>
  recover(id: number, pid: number | null): Promise<void>
}

/**
 * git changes a repository, and the record that counts it, cannot be written in one transaction. So the repository is
 * noted before git may change it, and the note goes in the write that counts what it came to: what a kill leaves
 * uncounted is known at the next start.
 */
export interface PushJournal {
  /** A number for a note; to be asked for before the write that makes it. */
  number(): Promise<number>
  note(tx: WriteContext, landing: Omit<PushJournalEntry, 'since'>): Promise<void>
  /** @returns the number of the note @throws AllotError not_found when the repository is gone */
  begin(repository: number, pid: number): Promise<number>
  /**
   * Makes the record say what lies on the disk, in one write; undefined when the repository is gone.
   * @param updatedAt when somebody changed the repository, if anybody did
   */
  settle(landing: number, repository: number, updatedAt?: number): Promise<Repository | undefined>
  /** Settles what a kill has left; only before git runs. */
  resume(): Promise<void>
}

export interface PushJournalOptions {
  store: Store
  quota: QuotaEngine
  disk: RepositoryDisk | undefined
  onError: (error: unknown, fields: object) => void
}

export const createPushJournal = ({ store, quota, disk, onError }: PushJournalOptions): PushJournal => {
  const queues = new Map<number, { queue: Mutex; waiting: number }>()

  /** One after another for each repository: of two that measure at once the one that saves last may have measured first. */
  const inTurn = async <T>(repository: number, work: () => Promise<T>): Promise<T> => {
    const turn = queues.get(repository) ?? { queue: new Mutex(), waiting: 0 }
    queues.set(repository, turn)
    turn.waiting++
    try {
      return await turn.queue.run(work)
    } finally {
      if (--turn.waiting === 0) queues.delete(repository)
    }
  }

  /** @returns 'again' when somebody else has changed the record meanwhile */
  const agree = async (
    landing: number,
    id: number,
    updatedAt?: number,
  ): Promise<Repository | 'again' | undefined> => {
    const read = () => store.read((tx) => repositoryById(tx, id))
    const before = await read()
    const found =
      before &&
      disk &&
      (await foundOn(disk, before).catch(async (error) => {
        // Its files go with it.
        if ((await read()) !== undefined) throw error
        return undefined
      }))
    return store.write(async (tx) => {
      const current = await repositoryById(tx, id)
      if (!sameOnDisk(before, current)) return 'again'
      await pushJournal.remove(tx, [landing])
      if (current === undefined || found === undefined) return current
      const after = { ...current, ...found, updatedAt: updatedAt ?? current.updatedAt }
      await quota.repositories.resize(tx, id, found.size)
      await repositories.save(tx, after)
      return after
    })
  }

  const settle: PushJournal['settle'] = (landing, repository, updatedAt) =>
    inTurn(repository, async () => {
      let agreed = await agree(landing, repository, updatedAt)
      while (agreed === 'again') agreed = await agree(landing, repository, updatedAt)
      return agreed
    })

  const note: PushJournal['note'] = async (tx, landing) =>
    void (await pushJournal.save(tx, { ...landing, since: now() }))

  return {
    number: () => store.sequences.next('landing'),
    note,
    async begin(repository, pid) {
      const id = await store.sequences.next('landing')
      await store.write(async (tx) => {
        if ((await repositoryById(tx, repository)) === undefined)
          throw new AllotError('not_found', 'the repository is gone')
        await note(tx, { id, repository, pid })
      })
      return id
    },
    settle,
    async resume() {
      for (const { id, repository, pid } of await leftIn(store))
        try {
          await disk?.recover(repository, pid)
          await settle(id, repository)
        } catch (error) {
          onError(error, { repository })
        }
    },
  }
}

type OnDisk = Pick<Repository, 'size' | 'empty' | 'defaultBranch'>

/** "A first push of another branch": that one is the default then, as on a Forgejo. */
const foundOn = async (
  disk: RepositoryDisk,
  { id, empty, defaultBranch: wanted }: Repository,
): Promise<OnDisk> => {
  const branch = empty ? await disk.firstBranch(id, wanted) : wanted
  const defaultBranch = branch ?? wanted
  await disk.setBranch(id, defaultBranch)
  return { size: await disk.size(id), empty: branch === undefined, defaultBranch }
}

const sameOnDisk = (one: OnDisk | undefined, other: OnDisk | undefined): boolean =>
  one?.size === other?.size && one?.empty === other?.empty && one?.defaultBranch === other?.defaultBranch

/** Where other processes work on the same store, young ones are theirs. */
const leftIn = (store: Store): Promise<PushJournalEntry[]> =>
  store.read(async (tx) => {
    const last = store.driver.shared ? now() - GROWN : now()
    const left: PushJournalEntry[] = []
    for await (const landing of pushJournal.all(tx)) if (landing.since <= last) left.push(landing)
    return left
  })
const GROWN = 24 * 3600

/** A push that is durable and counted. */
export interface Push {
  /** `owner/name` */
  readonly repository: string
  readonly repositoryId: number
  /** The name of who pushed. */
  readonly pusher: string
  /** What each ref was and is: null is before it was made, and after it was deleted. */
  readonly updates: readonly {
    readonly ref: string
    readonly before: string | null
    readonly after: string | null
  }[]
  /** Bytes that the repository takes now, without LFS. */
  readonly size: number
}
