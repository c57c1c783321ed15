import { existingRepository, repositoryById } from '../accounts/find.ts'
import { DAY_MS, now } from '../clock.ts'
import { MAX_ALONE_MS, type MaintenanceListener } from '../git/maintenance.ts'
import type { Transport } from '../git/transport.ts'
import { diskEntries, type Repository, repositories } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { isAnybodyAtWork } from './disk-journal.ts'
import { eventually, type PushJournal } from './push-journal.ts'

interface MaintenanceOptions {
  readonly store: Store
  readonly transport: Transport
  readonly pushJournal: PushJournal
  readonly onError: (error: unknown, fields: object) => void
}

/** How a git that deletes objects waits for pushes that run. */
const WAIT = { maxWaitMs: 10_000, message: 'pushes to this repository are under way: try again' }
/** Seconds to end a git that takes too long, and for clocks that differ. */
const SPARE_SECONDS = 60

/**
 * Maintains repositories (`Maintenance` in lib/git), and counts what that changes: in the background after a
 * push or a fork, and after the first search of a history, since repositories also come from imports,
 * migrations and former versions; when somebody asks; and a day after the first push since the last clean-up.
 */
export class RepositoryMaintenance {
  readonly #options: MaintenanceOptions

  constructor(options: MaintenanceOptions) {
    this.#options = options
  }

  /** Begins the maintenance that a repository needs. */
  begin({ id, size }: Repository): void {
    const { transport, onError } = this.#options
    transport
      .maintain(id, size, this.#beside(id))
      .catch((error) => this.#ifDeleted(id, error))
      .catch((error) => onError(error, { repository: id }))
  }

  /**
   * Deletes the objects of git that nothing refers to and that are an hour old, and counts the repository.
   * @param client whose budget is used
   * @returns the repository with its present size; undefined when it was deleted
   * @throws AllotError unavailable when pushes go on, too many others wait, or git fails
   */
  async cleanUp(id: number, client: string): Promise<Repository | undefined> {
    const claimed = await this.#claim(id)
    return claimed && this.#cleanUp(claimed, client)
  }

  /**
   * Cleans up the repositories whose first change since their last clean-up was a day ago, whether pushes go
   * on or not; stops when the server is busy.
   */
  async cleanUpDue(): Promise<void> {
    const { store, transport, onError } = this.#options
    for (;;) {
      const latest = Date.now() - DAY_MS
      const [oldest] = await store.read((tx) => repositories.list(tx, 'uncleaned', { prefix: [], limit: 1 }))
      if (oldest === undefined || !isDue(oldest, latest) || !transport.isIdle()) return
      const claimed = await this.#claim(oldest.id, latest)
      if (claimed !== undefined)
        await this.#cleanUp(claimed, 'gc').catch((error) => onError(error, { repository: oldest.id }))
    }
  }

  /**
   * Marks a repository as changed now, so that no other server cleans it up, too, and one that cannot be
   * cleaned up, or whose objects are too young, is tried again a day later. This holds also for a repository
   * whose owner is deleted, which is not claimed: `cleanUpDue` goes on to the next one.
   * @param latest when it must have been changed at the latest, in milliseconds since 1970
   */
  #claim(id: number, latest?: number): Promise<Repository | undefined> {
    return this.#options.store.write(async (tx) => {
      const repository = await repositories.get(tx, [id])
      if (repository === undefined || (latest !== undefined && !isDue(repository, latest))) return undefined
      await repositories.save(tx, { ...repository, uncleanedSince: Date.now() })
      return repositoryById(tx, id)
    })
  }

  async #cleanUp({ id, uncleanedSince }: Repository, client: string): Promise<Repository | undefined> {
    const { store, transport } = this.#options
    const listeners = { beside: this.#beside(id), alone: this.#alone(id) }
    const isClean = await transport
      .cleanUp(id, client, listeners)
      .catch((error) => this.#ifDeleted(id, error).then(() => false))
    return store.write(async (tx) => {
      const repository = await repositoryById(tx, id)
      if (repository === undefined || !isClean || repository.uncleanedSince !== uncleanedSince)
        return repository
      const cleaned = { ...repository, uncleanedSince: undefined }
      await repositories.save(tx, cleaned)
      return cleaned
    })
  }

  /** @throws the error, unless the repository was deleted meanwhile */
  async #ifDeleted(id: number, error: unknown): Promise<void> {
    if ((await this.#options.store.read((tx) => repositoryById(tx, id))) !== undefined) throw error
  }

  #beside(id: number): MaintenanceListener {
    const { pushJournal } = this.#options
    let entry: number
    return {
      async started(pid) {
        entry = await pushJournal.begin(id, pid)
      },
      async finished(isCleaned) {
        await pushJournal.settle(entry, id, { isCleaned, by: 'maintenance' })
      },
    }
  }

  /** For a git that deletes objects. */
  #alone(id: number): MaintenanceListener {
    const { pushJournal } = this.#options
    let entry: number
    return {
      started: async (pid) => {
        entry = await eventually(() => this.#beginAlone(id, pid), WAIT)
        pushJournal.workedOnAlone.add(id)
      },
      async finished(isCleaned) {
        pushJournal.workedOnAlone.delete(id)
        await pushJournal.settle(entry, id, { isCleaned, by: 'maintenance alone' })
      },
    }
  }

  /**
   * Saves an entry that pushes wait for, on every server: until it is settled, or its time is over. Does not
   * when another git may change the repository: no push waits for one that has begun.
   */
  async #beginAlone(id: number, pid: number): Promise<number | undefined> {
    const { store, pushJournal } = this.#options
    await pushJournal.settleFailed(id)
    return store.write(async (tx) => {
      const repository = await existingRepository(tx, id)
      if (pushJournal.isWorkedOnAlone(repository) || (await isChanging(tx, id))) return undefined
      const pushesWaitUntil = now() + MAX_ALONE_MS / 1000 + SPARE_SECONDS
      await repositories.save(tx, { ...repository, pushesWaitUntil })
      return pushJournal.save(tx, { repository: id, pid })
    })
  }
}

/** Whether git may change a repository, on any server. */
const isChanging = async (tx: ReadTransaction, id: number): Promise<boolean> => {
  for await (const entry of diskEntries.all(tx, ['push']))
    if (entry.what === 'push' && entry.repository === id && entry.pid !== null && isAnybodyAtWork(entry))
      return true
  return false
}

const isDue = ({ uncleanedSince }: Repository, latest: number): boolean =>
  uncleanedSince !== undefined && uncleanedSince <= latest
