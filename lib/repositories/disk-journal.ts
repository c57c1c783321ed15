import { now } from '../clock.ts'
import { MAX_WORK_MS, type OnDeletionError } from '../disk.ts'
import { AllotError } from '../errors.ts'
import { type BegunPush, type DiskEntry, diskEntries, files, repositories } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'

type Named<What> = Omit<Extract<DiskEntry, { what: What }>, 'since' | 'leaving'>

/** Names the folder of a repository, or a stored file. */
export type OnDisk = Named<'folder'> | Named<'file'>

/** Removes something from the disk, then calls `forget`, which may be later. */
type Remove<What> = (what: Named<What>, forget: () => Promise<void>) => Promise<void>

/** How many files are removed at the same time, each in a lane of its own. Folders have one more lane. */
const LANES = 32

/**
 * The journal of work on the disk. A folder or a file, and the record it belongs to, cannot be written in one
 * transaction, so an entry is saved before the work begins, and ended in the write that saves its result. A
 * crash leaves the entry, which is settled once it is abandoned:
 *
 *   folder, file   there is no record of it: not yet, or not any more. It is removed from the disk
 *   push           git may have changed the repository: it is measured and counted again
 *
 * Invariants: a folder or a file has either a record or an entry; an entry beside a record, which is a fault,
 * deletes nothing. None is deleted because of an estimate: it is deleted only after a write that has marked
 * its entry as leaving, and its record is saved only in a write that finds the entry not marked. So when
 * another server gives up work that goes on, the work fails, and no record is left without its data. Marking
 * resets the entry's age: others take over only if the marking server dies. A push has no mark, since nothing
 * of it is deleted.
 */
export class DiskJournal {
  readonly #store: Store
  readonly #onDeletionError: OnDeletionError
  /** Set once. What has none, such as folders on a server without repositories, waits for a later start. */
  readonly handlers: {
    folder?: Remove<'folder'>
    file?: Remove<'file'>
    /** Never rejects. */
    push?: (entry: BegunPush) => Promise<void>
  } = {}
  /** The last removal of each lane, in which one thing is removed after another. */
  readonly #lanes = Array.from({ length: LANES + 1 }, () => Promise.resolve())
  #nextLane = 0
  /** The removals that writes have caused. */
  readonly #removals = new WeakMap<WriteContext, Promise<void>[]>()

  constructor(store: Store, onDeletionError: OnDeletionError) {
    this.#store = store
    this.#onDeletionError = onDeletionError
  }

  /**
   * Saves the entry of something that is about to be created.
   * @throws Error when it has a record or an entry already
   */
  async begin(tx: WriteContext, what: OnDisk): Promise<void> {
    const entry = await diskEntries.save(tx, { ...what, since: now() })
    if (entry !== undefined || (await recordOf(tx, what)) !== undefined)
      throw new Error(`${JSON.stringify(what)} already exists`)
  }

  /**
   * Ends the entry, in the write that saves the record.
   * @throws AllotError unavailable when another server has given the work up
   */
  async end(tx: WriteContext, what: OnDisk): Promise<void> {
    const entry = await diskEntries.remove(tx, idOf(what))
    if (entry === undefined || ('leaving' in entry && entry.leaving))
      throw new AllotError(
        'unavailable',
        'storing the data took so long that another server has given it up: try again',
      )
  }

  /** Removes something from the disk, after the commit of the write that removes its record. */
  async leave(tx: WriteContext, what: OnDisk): Promise<void> {
    await diskEntries.save(tx, { ...what, since: now(), leaving: true })
    const removals = this.#removals.get(tx) ?? []
    this.#removals.set(tx, removals)
    // With an unknown outcome the record may still exist, so it stays; a later start decides.
    tx.afterCommit((isCommitted) => isCommitted && removals.push(this.#remove(what)))
  }

  /**
   * Runs a write, and waits until what leaves in it is removed, as {@link idle} does, but for no file that
   * others remove: they may take long. A folder waits for the folders before it.
   */
  async write<T>(body: (tx: WriteContext) => Promise<T>): Promise<T> {
    let removals: readonly Promise<void>[] = []
    const result = await this.#store.write(async (tx) => {
      const value = await body(tx)
      removals = this.#removals.get(tx) ?? []
      return value
    })
    await Promise.all(removals)
    return result
  }

  /** Removes what could not be created. */
  giveUp(what: OnDisk): Promise<void> {
    return this.write((tx) => this.#giveUp(tx, what, () => true))
  }

  /** Without an entry its record was saved; with both, the entry goes. */
  async #giveUp(tx: WriteContext, what: OnDisk, isDue: (entry: DiskEntry) => boolean): Promise<void> {
    const entry = await diskEntries.get(tx, idOf(what))
    if (entry === undefined || !isDue(entry)) return
    if ((await recordOf(tx, what)) === undefined) await this.leave(tx, what)
    else await diskEntries.removeLoaded(tx, entry)
  }

  /**
   * Resolves when everything that leaves at the call is removed, is kept by a `DeletionHold` (lib/disk.ts)
   * until that ends, or could not be removed.
   */
  async idle(): Promise<void> {
    await Promise.all(this.#lanes)
  }

  /**
   * Settles the entries that are abandoned. Called at the start, before any work begins; on a shared store
   * also every hour.
   */
  async settleAbandoned(): Promise<void> {
    const isDue = (entry: DiskEntry) => isAbandoned(this.#store, entry)
    const left = await this.#store.read(async (tx) => {
      const found: DiskEntry[] = []
      for await (const entry of diskEntries.all(tx)) if (isDue(entry)) found.push(entry)
      return found
    })
    for (const entry of left)
      if (entry.what === 'push') await this.handlers.push?.(entry)
      else if (this.handlers[entry.what] !== undefined) {
        const { since: _, leaving: __, ...what } = entry
        // The work may have ended since the entries were read.
        const settled = this.#store.write((tx) => this.#giveUp(tx, what, isDue))
        await settled.catch((error) => this.#report(error, what))
      }
    await this.idle()
  }

  #remove(what: OnDisk): Promise<void> {
    const lane = what.what === 'folder' ? LANES : this.#nextLane++ % LANES
    const removal = this.#lanes[lane]!.then(async () => {
      const forget = () => this.#store.write(async (tx) => void (await diskEntries.remove(tx, idOf(what))))
      const removed =
        what.what === 'file' ? this.handlers.file?.(what, forget) : this.handlers.folder?.(what, forget)
      await removed?.catch((error) => this.#report(error, what))
    })
    this.#lanes[lane] = removal
    return removal
  }

  #report(error: unknown, { what: _, ...fields }: OnDisk): void {
    this.#onDeletionError(error, fields)
  }
}

const idOf = (what: OnDisk) => diskEntries.options.id({ ...what, since: 0 })

/** The record of a repository or of a stored file. */
const recordOf = (tx: ReadTransaction, what: OnDisk) =>
  (what.what === 'folder' ? repositories : files).get(tx, idOf(what).slice(1))

/**
 * Seconds after which no server can still work on an entry, with an hour for waiting, and for clocks that
 * differ.
 */
const ABANDONED_AFTER = MAX_WORK_MS / 1000 + 3600

/** Seconds that what lies on the disk without a record must have been unchanged before it is deleted. */
export const leftoverAge = ({ driver }: Pick<Store, 'driver'>): number =>
  driver.shared ? ABANDONED_AFTER : 0

/**
 * Whether a crash left the entry. In a store that no other process uses, one that a start finds was left: no
 * work has begun yet.
 */
const isAbandoned = ({ driver }: Store, entry: DiskEntry): boolean =>
  !driver.shared || !isAnybodyAtWork(entry)

/** Whether a server may work on the entry: it is not so old that a crash, or a failure, must have left it. */
export const isAnybodyAtWork = ({ since }: DiskEntry): boolean => since > now() - ABANDONED_AFTER
