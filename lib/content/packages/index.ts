import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type SignedIn, type Viewer, visibleAccount } from '../../accounts/access.ts'
import { now } from '../../clock.ts'
import { AllotError } from '../../errors.ts'
import type { ContentInfo } from '../../files/index.ts'
import type { Slice, WithPage } from '../../records/collection.ts'
import {
  type PackageFile,
  type PackageType,
  type PackageVersion,
  packageFiles,
  packageVersions,
} from '../../records/schema/index.ts'
import type { WriteContext } from '../../records/store.ts'
import { RESERVED_PREFIX } from '../../repositories/ledger-by-name.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { type ContentParts, removeWithFiles } from '../attachments.ts'
import { checkedType, type PackageName } from './types.ts'
import {
  type FoundVersion,
  fileIn,
  listVersions,
  type PackageQuery,
  versionIn,
  visibleVersion,
  writableBy,
  writableVersion,
} from './versions.ts'

/** Members of a new file besides those in its name. */
interface NewPackageFile {
  /** Largest accepted size in bytes; absent: any. */
  readonly maxSize?: number | undefined
  /** Bytes that the content must have. */
  readonly size?: number | undefined
  /** Id of the account that created the version; the viewer when absent. */
  readonly creator?: number
  /** When the version was created, in seconds since 1970; now when absent. */
  readonly createdAt?: number
}

type VersionPage = Pick<FoundVersion, 'owner'> & WithPage<PackageVersion>

/**
 * Packages: files by name and version, of a user or an organization. Everyone who can see the owner can read them;
 * the owner, members of the organization, and administrators can write. Methods return undefined when one does not exist
 * or the viewer cannot see it.
 */
export class Packages {
  readonly #parts: ContentParts

  constructor(parts: ContentParts) {
    this.#parts = parts
  }

  /**
   * Adds a file, and its version with the first one.
   * @throws AllotError conflict when the version has a file of that name; bad_request for a bad name; not_found for a type that
   * Allot does not store; forbidden; too_large
   */
  async add(
    viewer: SignedIn,
    path: PackageName,
    name: string,
    content: Readable,
    { maxSize, size, creator = viewer.id, createdAt = now() }: NewPackageFile = {},
  ): Promise<PackageFile | undefined> {
    const { store, files } = this.#parts
    const target = await store.read(async (tx) => {
      const owner = await writableBy(tx, viewer, path.owner)
      const type = checkedType(path, name)
      if (owner !== undefined) await refuseTaken(tx, await versionIn(tx, owner, path), name)
      return owner && { ownerId: owner.id, type }
    })
    if (target === undefined) return undefined
    const { ownerId, type } = target
    const versionId = await store.sequences.next('packageVersion')
    const id = await store.sequences.next('packageFile')
    const place = { area: 'packages' as const, ownerId, name: randomUUID() }
    const expected = { maxSize, size, digests: ['md5', 'sha1', 'sha512'] as const }
    return files.add(place, content, expected, async (tx, contentInfo) => {
      const current = await writableBy(tx, viewer, path.owner)
      if (current?.id !== ownerId) throw new AllotError('not_found', 'the owner was deleted or renamed')
      const found = await versionIn(tx, current, path)
      await refuseTaken(tx, found, name)
      const before = found ?? { ...newVersion(versionId, ownerId, type, path), creator, createdAt }
      const names = { id, version: before.id, owner: ownerId, name, stored: place.name }
      const file = { ...names, ...sizeAndDigests(contentInfo), createdAt }
      await packageFiles.save(tx, file)
      const version = { ...before, size: before.size + file.size, files: before.files + 1 }
      await this.#saveVersion(tx, version)
      if (found === undefined) await this.#record(tx, 'created', version, viewer)
      return file
    })
  }

  /** A file of a version. */
  file(viewer: Viewer, path: PackageName, name: string): Promise<PackageFile | undefined> {
    return this.#parts.store.read(async (tx) => {
      const found = await visibleVersion(tx, viewer, path)
      return found && fileIn(tx, found.version, name)
    })
  }

  /** A version. */
  find(viewer: Viewer, path: PackageName): Promise<FoundVersion | undefined> {
    return this.#parts.store.read((tx) => visibleVersion(tx, viewer, path))
  }

  /** The files of a version, by name. */
  files(viewer: Viewer, path: PackageName): Promise<PackageFile[] | undefined> {
    return this.#parts.store.read(async (tx) => {
      const found = await visibleVersion(tx, viewer, path)
      return found && packageFiles.list(tx, 'version', { prefix: [found.version.id] })
    })
  }

  /** Versions of an owner's packages, newest first. @param query `q`: part of the name, case-insensitive */
  list(viewer: Viewer, name: string, query: PackageQuery, slice: Slice): Promise<VersionPage | undefined> {
    return this.#parts.store.read(async (tx) => {
      const owner = await visibleAccount(tx, viewer, name)
      return owner && { owner, page: await listVersions(tx, owner.id, query, slice) }
    })
  }

  /** Removes a file, and its version with the last file. */
  removeFile(viewer: SignedIn, path: PackageName, name: string): Promise<boolean> {
    return removeWithFiles(this.#parts, async (tx) => {
      const version = await writableVersion(tx, viewer, path)
      const file = version && (await fileIn(tx, version, name))
      if (version === undefined || file === undefined) return false
      if (version.files === 1) await this.#removeVersion(tx, version, viewer)
      else {
        await removePackageFile(tx, this.#parts, file)
        await this.#saveVersion(tx, {
          ...version,
          size: version.size - file.size,
          files: version.files - 1,
        })
      }
      return true
    })
  }

  /** Removes a version with its files. @returns whether it existed. @throws AllotError forbidden */
  remove(viewer: SignedIn, path: PackageName): Promise<boolean> {
    return removeWithFiles(this.#parts, async (tx) => {
      const version = await writableVersion(tx, viewer, path)
      if (version !== undefined) await this.#removeVersion(tx, version, viewer)
      return version !== undefined
    })
  }

  /** Saves a new or changed version and its ledger entry. */
  async #saveVersion(tx: WriteContext, record: PackageVersion): Promise<void> {
    await packageVersions.save(tx, record)
    const { owner, name, size, type, version, createdAt } = record
    await this.#parts.quota.ledger.put(tx, {
      ...{ kind: 'packages', key: ledgerKey(record), name, size, type, version, createdAt },
      ...{ owner, repository: null, on: null, index: null, run: null },
    })
  }

  /** Reports a version to webhooks, not each of its files. */
  #record(
    tx: WriteContext,
    action: 'created' | 'deleted',
    version: PackageVersion,
    { id: by }: SignedIn,
  ): Promise<void> {
    return this.#parts.outbox.record(tx, { event: 'package', action, owner: version.owner, version, by })
  }

  async #removeVersion(tx: WriteContext, version: PackageVersion, viewer: SignedIn): Promise<void> {
    const { quota, jobs } = this.#parts
    await this.#record(tx, 'deleted', version, viewer)
    await packageVersions.remove(tx, [version.id])
    await quota.ledger.remove(tx, 'packages', ledgerKey(version))
    await jobs.runNow(tx, 'removePackageFiles', version.id)
  }
}

/** Key of the ledger entry of a version. */
const ledgerKey = ({ id }: PackageVersion): string => `${RESERVED_PREFIX}${id}`

const refuseTaken = async (
  tx: ReadTransaction,
  version: PackageVersion | undefined,
  name: string,
): Promise<void> => {
  if (version !== undefined && (await fileIn(tx, version, name)) !== undefined)
    throw new AllotError('conflict', `this version already has a file ${name}`)
}

const newVersion = (id: number, owner: number, type: PackageType, { name, version }: PackageName) => ({
  id,
  owner,
  type,
  name,
  version,
  size: 0,
  files: 0,
})

const sizeAndDigests = ({ size, sha256, digests: { md5 = '', sha1 = '', sha512 = '' } }: ContentInfo) => ({
  ...{ size, sha256, md5, sha1, sha512 },
})

/** Removes the record of a file, and releases the file. */
export const removePackageFile = async (
  tx: WriteContext,
  { files }: Pick<ContentParts, 'files'>,
  { id, owner, stored }: PackageFile,
): Promise<void> => {
  await packageFiles.remove(tx, [id])
  await files.deleteAfterCommit(tx, { area: 'packages', ownerId: owner, name: stored })
}
