import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { repositoryById, type SignedIn } from '../accounts/access.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import { files, type Repository, type StoredFile } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import { RESERVED_PREFIX } from '../repositories/ledger-by-name.ts'
import { requirePush } from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type ContentParts, removeWithFiles } from './attachments.ts'

/** Names an LFS object: `oid` is the SHA-256 of its content, `size` is in bytes. */
export interface LfsObject {
  readonly oid: string
  readonly size: number
}

/** LFS objects of repositories. A repository stores and counts each object once, however often it is uploaded. */
export class Lfs {
  readonly #parts: ContentParts

  constructor(parts: ContentParts) {
    this.#parts = parts
  }

  /** One result for each oid, in the same order. */
  find(repository: number, oids: readonly string[]): Promise<(StoredFile | undefined)[]> {
    return this.#parts.store.read((tx) => Promise.all(oids.map((oid) => objectIn(tx, repository, oid))))
  }

  /**
   * Removes an object. Commits that refer to it can no longer be checked out with its content.
   * @returns whether it existed
   * @throws AllotError forbidden when the user may not push to the repository
   */
  remove(user: SignedIn & { readonly username: string }, id: number, oid: string): Promise<boolean> {
    return removeWithFiles(this.#parts, async (tx) => {
      const repository = await repositoryById(tx, id)
      const object = repository && (await objectIn(tx, id, oid))
      if (repository === undefined || object === undefined) return false
      await requirePush(tx, user, repository)
      await this.#parts.quota.ledger.remove(tx, 'lfs', lfsKey(id, oid))
      await this.#parts.files.deleteAfterCommit(tx, object)
      return true
    })
  }

  /**
   * Stores an object; storing one that exists already changes nothing.
   * @throws AllotError too_large; invalid when the content does not match; not_found when the repository was
   * deleted; forbidden when the user may not push to it, also when the right was withdrawn during the upload
   */
  async add(
    user: SignedIn & { readonly username: string },
    id: number,
    { oid, size }: LfsObject,
    content: Readable,
    maxSize: number | undefined,
  ): Promise<void> {
    const { files } = this.#parts
    const place = placeOf(id, oid)
    const save = async (tx: WriteContext): Promise<void> => {
      const repository = await repositoryById(tx, id)
      if (repository === undefined) throw new AllotError('not_found', 'the repository was deleted')
      // Checked again, since the right could have been withdrawn while the content arrived.
      await requirePush(tx, user, repository)
      await this.#count(tx, id, { oid, size })
    }
    await files.add(place, content, { maxSize, size, sha256: oid }, save).catch(ifStored)
  }

  /**
   * Stores an object of a repository that was copied, from here or from another server; storing one that exists already changes nothing.
   * @throws AllotError invalid when the content does not match; not_found when the repository was deleted
   */
  async addCopy(id: number, object: LfsObject, content: Readable): Promise<void> {
    const { oid, size } = object
    const save = (tx: WriteContext) => this.#count(tx, id, object)
    await this.#parts.files.add(placeOf(id, oid), content, { size, sha256: oid }, save).catch(ifStored)
  }

  /** Gives a repository that was made from another one all of its objects. Each counts in the write that makes it visible. */
  async copyAll(from: number, to: Repository): Promise<void> {
    const { store, files: stored } = this.#parts
    const objects = await store.read((tx) => files.list(tx, 'owner', { prefix: ['lfs', from] }))
    for (const object of objects) {
      const { sha256: oid, size } = object
      await this.addCopy(to.id, { oid, size }, await stored.read(object))
    }
  }

  async #count(tx: WriteContext, id: number, { oid, size }: LfsObject): Promise<void> {
    const repository = await repositoryById(tx, id)
    if (repository === undefined) throw new AllotError('not_found', 'the repository was deleted')
    if ((await objectIn(tx, id, oid)) !== undefined) throw new AlreadyStored()
    await this.#parts.quota.ledger.put(tx, {
      ...{ kind: 'lfs', key: lfsKey(id, oid), name: oid, size, createdAt: now() },
      ...{ owner: repository.owner, repository: id },
      ...{ on: null, index: null, run: null, type: null, version: null },
    })
  }
}

/** Discards the upload of an object that the repository has already. */
class AlreadyStored extends Error {}

/** Concurrent uploads of one object write a file each; the first one that is saved is kept. */
const placeOf = (ownerId: number, oid: string) => ({
  area: 'lfs' as const,
  ownerId,
  name: `${oid}-${randomBytes(4).toString('hex')}`,
})

const ifStored = (error: unknown): void => {
  if (!(error instanceof AlreadyStored)) throw error
}

const objectIn = (tx: ReadTransaction, repository: number, oid: string): Promise<StoredFile | undefined> =>
  files.findBy(tx, 'content', [repository, oid])

/** Key of the ledger entry of an LFS object. */
export const lfsKey = (repository: number, oid: string): string => `${RESERVED_PREFIX}${repository}/${oid}`
