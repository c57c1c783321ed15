import { randomBytes } from 'node:crypto'
import { addAbortSignal, type Readable } from 'node:stream'
import type { SignedIn } from '../accounts/access.ts'
import { existingRepository, repositoryById } from '../accounts/find.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { LfsPointer } from '../git/lfs-pointers.ts'
import type { LfsChanged } from '../quota/ledger.ts'
import type { JobHandler } from '../records/jobs.ts'
import {
  files,
  lfsCopies,
  RESERVED_PREFIX,
  type Repository,
  repositories,
  type StoredFile,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import { requirePush } from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'

/**
 * LFS objects of repositories. A repository stores and counts each object once, however often it is uploaded.
 */
export class Lfs {
  readonly #services: RepositoryServices

  constructor(services: RepositoryServices) {
    this.#services = services
  }

  /** One result for each oid, in the same order. */
  find(repository: number, oids: readonly string[]): Promise<(StoredFile | undefined)[]> {
    return this.#services.store.read((tx) => Promise.all(oids.map((oid) => objectIn(tx, repository, oid))))
  }

  /**
   * Removes an object. Commits that refer to it can no longer be checked out with its content.
   * @returns whether it existed
   * @throws AllotError forbidden when the user may not push to the repository, or administer an archived one
   */
  remove(user: SignedIn & { readonly username: string }, id: number, oid: string): Promise<boolean> {
    return this.#services.disk.write(async (tx) => {
      const repository = await repositoryById(tx, id)
      const object = repository && (await objectIn(tx, id, oid))
      if (repository === undefined || object === undefined) return false
      await requirePush(tx, user, repository, true)
      await this.#services.quota.ledger.remove(tx, 'lfs', lfsKey(id, oid))
      await this.#services.files.deleteAfterCommit(tx, object)
      return true
    })
  }

  /**
   * Stores an object; storing one that already exists changes nothing.
   * @throws AllotError too_large; over_quota when the host refuses it; invalid when the content does not
   * match; not_found when the repository was deleted; forbidden when the user may not push to it, also when
   * the right was withdrawn during the upload; unavailable when the host decides, and the object was stored
   * before and is deleted during the upload
   */
  async add(
    user: SignedIn & { readonly username: string },
    id: number,
    { oid, size }: LfsPointer,
    content: Readable,
    maxSize: number | undefined,
  ): Promise<void> {
    const { files, store, beforeStore } = this.#services
    const place = newPlace(id, oid)
    const [repository, stored] = await store.read((tx) =>
      Promise.all([existingRepository(tx, id), objectIn(tx, id, oid)]),
    )
    const counted = stored === undefined ? countedIn(repository, user.id) : null
    const save = async (tx: WriteContext): Promise<void> => {
      const repository = await existingRepository(tx, id)
      // Checked again, since the right could have been withdrawn while the content arrived.
      await requirePush(tx, user, repository)
      // The host was not asked about an object that was already stored.
      if (counted === null && beforeStore.isOn && (await objectIn(tx, id, oid)) === undefined)
        throw new AllotError('unavailable', 'nothing was stored: the object was deleted meanwhile: try again')
      await this.#count(tx, repository, { oid, size })
    }
    await files.add(place, content, { maxSize, size, sha256: oid }, counted, save).catch(ifStored)
  }

  /**
   * Asks the host before a client uploads objects, as a whole: of what does not fit, it uploads nothing.
   * @throws AllotError over_quota
   */
  async askBefore(user: SignedIn, repository: Repository, objects: readonly LfsPointer[]): Promise<void> {
    const lfs = objects.reduce((sum, { size }) => sum + size, 0)
    const { as: _, ...storing } = countedIn(repository, user.id)
    await this.#services.beforeStore.ask({ ...storing, change: { lfs } })
  }

  /**
   * Stores an object of a repository that was copied, from here or from another server; storing one that
   * already exists changes nothing.
   * @throws AllotError invalid when the content does not match; not_found when the repository was deleted
   */
  async addCopy(id: number, object: LfsPointer, content: Readable): Promise<void> {
    const { oid, size } = object
    const save = async (tx: WriteContext) => this.#count(tx, await existingRepository(tx, id), object)
    await this.#services.files
      .add(newPlace(id, oid), content, { size, sha256: oid }, null, save)
      .catch(ifStored)
  }

  async #count(tx: WriteContext, { id, owner }: Repository, { oid, size }: LfsPointer): Promise<void> {
    if ((await objectIn(tx, id, oid)) !== undefined) throw new AlreadyStored()
    await this.#services.quota.ledger.put(tx, {
      kind: 'lfs',
      key: lfsKey(id, oid),
      name: oid,
      size,
      createdAt: now(),
      owner,
      repository: id,
    })
  }
}

const COPY_JOB = 'copyLfsObjects'

/**
 * Gives repositories that are made from others their LFS objects. The write that makes the repository leaves
 * a job, so that another process completes the copy when this one is killed.
 */
export class LfsCopies {
  readonly #services: RepositoryServices
  readonly #lfs: Lfs
  readonly #onLost: (error: Error, fields: object) => void
  /** Copies that this process is making, by the id of the new repository. */
  readonly #running = new Map<number, Promise<void>>()

  /** @param onLost called for each object that cannot be copied, since its file is lost or damaged */
  constructor(services: RepositoryServices, lfs: Lfs, onLost: (error: Error, fields: object) => void) {
    this.#services = services
    this.#lfs = lfs
    this.#onLost = onLost
  }

  get #signal(): AbortSignal {
    return this.#services.jobs.stopping.signal
  }

  get job(): JobHandler {
    return {
      prepare: (id) => this.#copy(id),
      async step(tx, id) {
        await lfsCopies.remove(tx, [id])
        return 0
      },
    }
  }

  /** Leaves the job, if there is something to copy. */
  async begin(tx: WriteContext, source: number, id: number): Promise<void> {
    const [object] = await files.list(tx, 'owner', { prefix: ['lfs', source], limit: 1 })
    if (object === undefined) return
    await lfsCopies.save(tx, { id, source })
    await this.#services.jobs.enqueue(tx, COPY_JOB, id)
  }

  /** Resolves when the repository has all objects that it gets. */
  async finish(id: number): Promise<void> {
    await this.#copy(id)
    await this.#services.jobs.finish(this.#services.store, COPY_JOB, id)
  }

  /** The job runner and the request wait for the same copy. */
  #copy(id: number): Promise<void> {
    const running = this.#running.get(id) ?? this.#copyAll(id).finally(() => this.#running.delete(id))
    this.#running.set(id, running)
    return running
  }

  async #copyAll(id: number): Promise<void> {
    const { store } = this.#services
    const objects = await store.read(async (tx) => {
      const copy = await lfsCopies.get(tx, [id])
      return copy === undefined ? [] : files.list(tx, 'owner', { prefix: ['lfs', copy.source] })
    })
    for (const object of objects) {
      this.#signal.throwIfAborted()
      const [repository, copied] = await store.read((tx) =>
        Promise.all([repositoryById(tx, id), objectIn(tx, id, object.sha256)]),
      )
      if (repository === undefined) return
      if (copied === undefined)
        await this.#copyObject(id, object).catch((error) => this.#passOver(id, object, error))
    }
  }

  /**
   * An object that was deleted meanwhile, or whose file is lost or damaged, is passed over: the others are
   * copied all the same.
   * @throws every other error, and the reason of the signal
   */
  async #passOver(id: number, { ownerId, sha256 }: StoredFile, error: Error): Promise<void> {
    this.#signal.throwIfAborted()
    if (!(error instanceof AllotError) || !['not_found', 'invalid'].includes(error.code)) throw error
    const { store } = this.#services
    const [repository, object] = await store.read((tx) =>
      Promise.all([repositoryById(tx, id), objectIn(tx, ownerId, sha256)]),
    )
    if (repository !== undefined && object !== undefined)
      this.#onLost(error, { repository: ownerId, fork: id, object: sha256 })
  }

  async #copyObject(id: number, object: StoredFile): Promise<void> {
    const content = addAbortSignal(this.#signal, await this.#services.files.read(object))
    const { sha256: oid, size } = object
    // A copy that fails leaves the rest unread, and the file open.
    await this.#lfs.addCopy(id, { oid, size }, content).finally(() => content.destroy())
  }
}

/** Discards the upload of an object that the repository already has. */
class AlreadyStored extends Error {}

/** Concurrent uploads of one object write a file each; the first one that is saved is kept. */
const newPlace = (ownerId: number, oid: string) => ({
  area: 'lfs' as const,
  ownerId,
  name: `${oid}-${randomBytes(4).toString('hex')}`,
})

/** What an uploaded object counts as. */
const countedIn = ({ id, owner }: Repository, by: number) =>
  ({ as: 'lfs', owner, by, repository: id, kind: 'lfs' }) as const

const ifStored = (error: unknown): void => {
  if (!(error instanceof AlreadyStored)) throw error
}

const objectIn = (tx: ReadTransaction, repository: number, oid: string): Promise<StoredFile | undefined> =>
  files.findBy(tx, 'content', [repository, oid])

/** Key of the ledger entry of an LFS object. */
export const lfsKey = (repository: number, oid: string): string => `${RESERVED_PREFIX}${repository}/${oid}`

/** Saves the bytes of LFS objects on the repository's record, because lists are ordered by it. */
export const saveLfsSize: LfsChanged = async (tx, id, lfs) => {
  const repository = await repositories.get(tx, [id])
  if (repository !== undefined) await repositories.save(tx, { ...repository, lfs })
}
