import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type SignedIn, type Viewer, visibleAccount } from '../accounts/access.ts'
import { checkPackageFileName, checkPackageName, checkVersionName } from '../accounts/names.ts'
import { canChangePackages } from '../accounts/rights.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { ContentInfo } from '../files/index.ts'
import type { Page, Slice, WithPage } from '../records/collection.ts'
import {
  type Account,
  type PackageFile,
  type PackageVersion,
  packageFiles,
  packageVersions,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import { RESERVED_PREFIX } from '../repositories/ledger-by-name.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type ContentParts, removeWithFiles } from './attachments.ts'

/** A version of a package by names. */
export interface PackageName {
  /** Name of the user or the organization. */
  readonly owner: string
  /** Type of the package: `generic`. */
  readonly type: string
  /** Name of the package. */
  readonly name: string
  /** Name of the version. */
  readonly version: string
}

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

/** A version with its owner. */
export interface FoundVersion {
  /** The user or the organization. */
  readonly owner: Account
  /** The version. */
  readonly version: PackageVersion
}
type VersionPage = Pick<FoundVersion, 'owner'> & WithPage<PackageVersion>

/**
 * Generic packages: files by name and version, of a user or an organization. Everyone who can see the owner can read them;
 * the owner, members of the organization, and administrators can write. Methods return undefined for what does not exist
 * or the viewer cannot see.
 */
export class Packages {
  readonly #parts: ContentParts

  constructor(parts: ContentParts) {
    this.#parts = parts
  }

  /**
   * Adds a file, and its version with the first one.
   * @throws AllotError conflict when the version has a file of that name; bad_request for a bad name; forbidden; too_large
   */
  async add(
    viewer: SignedIn,
    path: PackageName,
    name: string,
    content: Readable,
    { maxSize, size, creator = viewer.id, createdAt = now() }: NewPackageFile = {},
  ): Promise<PackageFile | undefined> {
    const { store, files } = this.#parts
    const owner = await store.read(async (tx) => {
      const found = await writableBy(tx, viewer, path.owner)
      checkNames(path, name)
      if (found !== undefined) await refuseTaken(tx, await versionIn(tx, found, path), name)
      return found
    })
    if (owner === undefined) return undefined
    const versionId = await store.sequences.next('packageVersion')
    const id = await store.sequences.next('packageFile')
    const place = { area: 'packages' as const, ownerId: owner.id, name: randomUUID() }
    const expected = { maxSize, size, digests: ['md5', 'sha1', 'sha512'] as const }
    return files.add(place, content, expected, async (tx, contentInfo) => {
      const current = await writableBy(tx, viewer, path.owner)
      if (current?.id !== owner.id) throw new AllotError('not_found', 'the owner was deleted')
      const found = await versionIn(tx, current, path)
      await refuseTaken(tx, found, name)
      const before = found ?? { ...newVersion(versionId, current.id, path), creator, createdAt }
      const names = { id, version: before.id, owner: current.id, name, stored: place.name }
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
      return owner && { owner, page: await list(tx, owner.id, query, slice) }
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

/** @throws AllotError forbidden */
const writableBy = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  name: string,
): Promise<Account | undefined> => {
  const owner = await visibleAccount(tx, viewer, name)
  if (owner !== undefined && !viewer.admin && !(await canChangePackages(tx, viewer.id, owner.id)))
    throw new AllotError('forbidden', `only members of ${owner.name} can change its packages`)
  return owner
}

const visibleVersion = async (
  tx: ReadTransaction,
  viewer: Viewer,
  path: PackageName,
): Promise<FoundVersion | undefined> => {
  const owner = await visibleAccount(tx, viewer, path.owner)
  const version = owner && (await versionIn(tx, owner, path))
  return owner && version && { owner, version }
}

/** @throws AllotError forbidden */
const writableVersion = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  path: PackageName,
): Promise<PackageVersion | undefined> => {
  const owner = await writableBy(tx, viewer, path.owner)
  return owner && versionIn(tx, owner, path)
}

const MAX_LENGTH = 255

const versionIn = async (
  tx: ReadTransaction,
  owner: Account,
  { type, name, version }: PackageName,
): Promise<PackageVersion | undefined> => {
  if ([type, name, version].some((text) => text.length > MAX_LENGTH)) return undefined
  return packageVersions.findBy(tx, 'path', [owner.id, type, name.toLowerCase(), version.toLowerCase()])
}

const fileIn = async (
  tx: ReadTransaction,
  version: PackageVersion,
  name: string,
): Promise<PackageFile | undefined> =>
  name.length > MAX_LENGTH ? undefined : packageFiles.findBy(tx, 'name', [version.id, name.toLowerCase()])

const refuseTaken = async (
  tx: ReadTransaction,
  version: PackageVersion | undefined,
  name: string,
): Promise<void> => {
  if (version !== undefined && (await fileIn(tx, version, name)) !== undefined)
    throw new AllotError('conflict', `this version already has a file ${name}`)
}

const newVersion = (id: number, owner: number, { name, version }: PackageName) =>
  ({ id, owner, type: 'generic', name, version, size: 0, files: 0 }) as const

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

interface PackageQuery {
  /** Type of the packages. */
  type?: string | undefined
  /** Part of the name, without regard to case. */
  q?: string | undefined
}

const list = async (
  tx: ReadTransaction,
  owner: number,
  { type = '', q = '' }: PackageQuery,
  slice: Slice,
): Promise<Page<PackageVersion>> => {
  if (type !== '' && type !== 'generic') return { items: [], total: 0 }
  const listing = { prefix: [owner], reverse: true }
  if (q === '') return packageVersions.page(tx, 'created', { ...listing, ...slice }, 'owner')
  const found = (await packageVersions.list(tx, 'created', listing)).filter(({ name }) =>
    name.toLowerCase().includes(q.toLowerCase()),
  )
  return { items: found.slice(slice.offset, slice.offset + slice.limit), total: found.length }
}

const checkNames = ({ type, name, version }: PackageName, file: string): void => {
  if (type !== 'generic') throw new AllotError('not_found', 'this server stores generic packages only')
  checkPackageName(name)
  checkVersionName(version)
  checkPackageFileName(file)
}
