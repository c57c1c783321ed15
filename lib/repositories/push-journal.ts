import { setTimeout as sleep } from 'node:timers/promises'
import { existingRepository, repositoryById } from '../accounts/find.ts'
import { now } from '../clock.ts'
import type { OnDeletionError } from '../disk.ts'
import { AllotError } from '../errors.ts'
import type { CheckAgain } from '../quota/before-store.ts'
import {
  accounts,
  type BegunPush,
  diskEntries,
  type Repository,
  repositories,
} from '../records/schema/index.ts'
import { type Store, takeNumber, type WriteContext } from '../records/store.ts'
import { Mutex, type ReadTransaction } from '../storage/index.ts'
import { reportedRefs } from '../webhooks/events.ts'
import { type DiskJournal, leftoverAge } from './disk-journal.ts'
import {
  entryId,
  type PushedRefs,
  type SettledChanges,
  type SettleServices,
  settleEntry,
} from './settlement.ts'

interface PushJournalOptions extends SettleServices {
  readonly disk: DiskJournal
  readonly onRecountError: (error: unknown, fields: object) => void
  readonly onDeletionError: OnDeletionError
}

/**
 * The entries of pushes in {@link DiskJournal}: each is saved before git may change a repository, and removed
 * in the write that saves its new size.
 */
export class PushJournal {
  readonly #options: PushJournalOptions
  /** One queue for each repository: of two concurrent measurements, the older one could be saved last. */
  readonly #queues = new Map<number, { mutex: Mutex; waiting: number }>()
  /**
   * Repositories in which a git of this process is deleting objects, so that pushes wait. `pushesWaitUntil`
   * in their records says so to other servers, but by the clock: that time may be over too early, as after
   * the machine was suspended.
   */
  readonly workedOnAlone = new Set<number>()
  /** What could not be settled: the changes of each entry, by repository. */
  readonly #failed = new Map<number, Map<number, SettledChanges>>()

  constructor(options: PushJournalOptions) {
    this.#options = options
    options.disk.handlers.push = (entry) => this.#settleLeft(entry)
  }

  /**
   * Saves an entry in the write that begins a change; the caller calls `settle` after it.
   * @returns the id of the entry
   */
  async save(tx: WriteContext, entry: Omit<BegunPush, 'what' | 'id' | 'since'>): Promise<number> {
    const id = await takeNumber(tx, 'push')
    await diskEntries.add(tx, { ...entry, what: 'push', id, since: now() })
    return id
  }

  /**
   * Waits until no git works alone on a repository. Called before a push has a process, which would be
   * stopped as idle, and which other clients may need; `begin` looks again.
   * @param signal ends the wait when the client disconnects
   * @throws AllotError not_found when the repository was deleted; unavailable after 20 seconds
   */
  async ready(repository: number, signal: AbortSignal): Promise<void> {
    await this.settleFailed(repository)
    const isFree = async (tx: ReadTransaction) =>
      !this.isWorkedOnAlone(await existingRepository(tx, repository)) || undefined
    await eventually(() => this.#options.store.read(isFree), { ...WAIT, signal })
  }

  /**
   * Saves an entry for a git process, while none works alone on the repository. Settles before what could not
   * be settled: a crash could not tell afterwards whether it had taken place.
   * @param push what it is to change, for webhooks: a crash must not lose it
   * @returns the id of the entry
   * @throws AllotError not_found when the repository was deleted; unavailable after 20 seconds
   */
  async begin(repository: number, pid: number, push?: PushedRefs): Promise<number> {
    await this.settleFailed(repository)
    const save = () =>
      this.#options.store.write(async (tx) => {
        if (this.isWorkedOnAlone(await existingRepository(tx, repository))) return undefined
        const isReported = push !== undefined && (await this.#options.outbox.isPushWatched(tx))
        return this.save(tx, { repository, pid, ...(isReported ? { push: boundedPush(push) } : {}) })
      })
    return await eventually(save, WAIT)
  }

  /** Whether a git is deleting objects: a push that may need one of them must wait. */
  isWorkedOnAlone({ id, pushesWaitUntil = 0 }: Repository): boolean {
    return this.workedOnAlone.has(id) || pushesWaitUntil > now()
  }

  /**
   * Counts bytes that git has not kept yet, in one write with a check of quota; `settle` measures them. When
   * another push to the repository settles between the two, they are not counted meanwhile.
   * @throws AllotError not_found when the repository was deleted; unavailable when the push has ended
   */
  countAhead(entry: number, id: number, bytes: number, check: CheckAgain): Promise<void> {
    const { store, quota } = this.#options
    return store.write(async (tx) => {
      const repository = await existingRepository(tx, id)
      // Nothing would settle the bytes of a push that has ended meanwhile.
      if ((await diskEntries.get(tx, entryId(entry))) === undefined)
        throw new AllotError('unavailable', ENDED)
      const size = repository.size + bytes
      await quota.repositories.resize(tx, id, size)
      await repositories.replace(tx, repository, { ...repository, size })
      await check(tx)
    })
  }

  /**
   * Saves what is on the disk into the repository's record, and removes the entry, in one write.
   * @param changes.push what has changed, and by whom; absent when nothing did
   * @param changes.isReported false when the push may have changed only a part: what has taken place counts
   * @param changes.isCleaned false when git left something that another writer or server may own: the entry
   * stays until that is removed
   * @param changes.by what the entry was saved for
   * @returns undefined when the repository was deleted
   */
  settle(entry: number, repository: number, changes: SettledChanges = {}): Promise<Repository | undefined> {
    return this.#inTurn(repository, async () => {
      try {
        await this.#settleFailed(repository)
        return await settleEntry(this.#options, entry, repository, changes)
      } catch (error) {
        const failed = this.#failed.get(repository) ?? new Map<number, SettledChanges>()
        // Another server may work alone by then, whose mark stays.
        const isOfOther = this.#options.store.driver.shared && changes.by === 'maintenance alone'
        const kept: SettledChanges = isOfOther ? { ...changes, by: 'maintenance' } : changes
        if (!failed.has(entry)) this.#failed.set(repository, failed.set(entry, kept))
        throw error
      }
    })
  }

  /** Settles what could not be settled before. */
  async settleFailed(repository: number): Promise<void> {
    if (this.#failed.has(repository)) await this.#inTurn(repository, () => this.#settleFailed(repository))
  }

  async #settleFailed(repository: number): Promise<void> {
    const failed = this.#failed.get(repository)
    for (const [entry, changes] of failed ?? []) {
      await settleEntry(this.#options, entry, repository, changes)
      failed!.delete(entry)
    }
    this.#failed.delete(repository)
  }

  async #inTurn<T>(repository: number, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(repository) ?? { mutex: new Mutex(), waiting: 0 }
    this.#queues.set(repository, queue)
    queue.waiting++
    try {
      return await queue.mutex.run(work)
    } finally {
      if (--queue.waiting === 0) this.#queues.delete(repository)
    }
  }

  /** Settles the entry of a push that a crash left. */
  async #settleLeft({ id, repository, pid, push }: BegunPush): Promise<void> {
    const { store, gitStorage, onRecountError, onDeletionError } = this.#options
    try {
      // In a shared store, another server may be taking a push to the same repository, or maintaining it:
      // what is younger than MAX_WORK_MS, which bounds both, is left alone. The pid can be that of a process
      // of another machine.
      const left = store.driver.shared ? null : pid
      // What cannot be removed keeps the entry; the push counts nevertheless.
      const recovered = gitStorage?.recoverRepository(repository, left, leftoverAge(store))
      const isCleaned = await recovered?.catch((error) => {
        onDeletionError(error, { repository })
        return false
      })
      // Another server may be working alone; one that was killed keeps pushes waiting for some minutes.
      const by = store.driver.shared ? 'push' : 'killed'
      await this.settle(id, repository, { push, isReported: false, isCleaned, by })
    } catch (error) {
      onRecountError(error, { repository, name: await nameOf(store, repository) })
    }
  }
}

const ENDED = 'the push has ended before the server has decided about it'

interface Wait {
  readonly maxWaitMs: number
  /** Of the error after that time. */
  readonly message: string
  readonly signal?: AbortSignal
}

const WAIT: Wait = {
  maxWaitMs: 20_000,
  message: 'unused git data of this repository is being deleted, and pushes wait: try again',
}

const POLL_MS = 50

/**
 * Looks until there is something.
 * @throws AllotError unavailable after `maxWaitMs`, and when the signal is aborted
 */
export const eventually = async <T>(
  look: () => Promise<T | undefined>,
  { maxWaitMs, message, signal }: Wait,
): Promise<T> => {
  const deadline = performance.now() + maxWaitMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (signal?.aborted || performance.now() > deadline)
      throw new AllotError('unavailable', message, { retryAfter: 30 })
    await sleep(POLL_MS)
  }
}

const boundedPush = ({ by, updates }: PushedRefs) => ({
  by,
  updates: reportedRefs(updates).map(({ ref, before, after }) => ({ ref, before, after })),
})

/** `owner/name` for the log; undefined when the store cannot be read. */
const nameOf = (store: Store, id: number): Promise<string | undefined> => {
  const name = store.read(async (tx) => {
    const repository = await repositoryById(tx, id)
    const owner = repository && (await accounts.get(tx, [repository.owner]))
    return owner && `${owner.name}/${repository.name}`
  })
  return name.catch(() => undefined)
}
