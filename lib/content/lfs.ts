import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { repositoryById } from '../accounts/access.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { QuotaEngine } from '../quota/index.ts'
import { files, type StoredFile } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { HostedFiles } from '../repositories/files.ts'
import { RESERVED_PREFIX } from '../repositories/named-ledger.ts'
import type { ReadTransaction } from '../storage/driver.ts'

/** What an LFS object is called: the SHA-256 of its content, and its size in bytes. */
export interface LfsObject {
  readonly oid: string
  readonly size: number
}

/** The LFS objects of repositories. Each is kept and counted once in a repository, however often it is sent. */
export interface Lfs {
  /** As many answers as oids, in their order. */
  find(repository: number, oids: readonly string[]): Promise<(StoredFile | undefined)[]>
  /**
   * Takes an object in; fine when it is there already.
   * @throws AllotError too_large, invalid when the content is another, not_found when the repository is gone
   */
  add(repository: number, object: LfsObject, content: Readable, largest: number | undefined): Promise<void>
}

export const createLfs = (store: Store, quota: QuotaEngine, hosted: HostedFiles): Lfs => ({
  find: (repository, oids) =>
    store.read((tx) => Promise.all(oids.map((oid) => objectIn(tx, repository, oid)))),
  async add(id, { oid, size }, content, largest) {
    // Several may send the same at once: each writes a file of its own, and the first is kept.
    const place = { area: 'lfs' as const, keeper: id, name: `${oid}-${randomBytes(4).toString('hex')}` }
    const expected = { largest, size, sha256: oid }
    await hosted
      .add(place, content, expected, async (tx) => {
        const repository = await repositoryById(tx, id)
        if (repository === undefined) throw new AllotError('not_found', 'the repository is gone')
        if ((await objectIn(tx, id, oid)) !== undefined) throw new Known()
        const where = { owner: repository.owner, container: id }
        await quota.ledger.put(tx, {
          ...nothingElse,
          ...where,
          key: lfsKey(id, oid),
          name: oid,
          size,
          createdAt: now(),
        })
      })
      .catch((error) => {
        if (!(error instanceof Known)) throw error
      })
  },
})

/** The object is there already, so that another file of it is not kept. */
class Known extends Error {}

const objectIn = (tx: ReadTransaction, repository: number, oid: string): Promise<StoredFile | undefined> =>
  files.findBy(tx, 'content', [repository, oid])

/** What counts it. */
export const lfsKey = (repository: number, oid: string): string => `${RESERVED_PREFIX}${repository}/${oid}`

const nothingElse = { kind: 'lfs', on: null, index: null, run: null, type: null, version: null } as const
