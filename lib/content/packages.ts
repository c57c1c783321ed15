import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { membershipOf, type Viewer, visibleAccount } from '../accounts/access.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { ContentInfo } from '../files/index.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { Page, Slice } from '../records/collection.ts'
import type { Jobs } from '../records/jobs.ts'
import {
  type Account,
  type PackageFile,
  type PackageVersion,
  packageFiles,
  packageVersions,
} from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { HostedFiles } from '../repositories/files.ts'
import { RESERVED_PREFIX } from '../repositories/named-quota.ts'
import type { SignedIn } from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { fileIn, type PackageName, removeFile, versionIn } from './package-files.ts'

/** A result with the owner of the package. */
type WithOwner<T> = T & { readonly owner: Account }

/**
 * Generic packages: files by name and version, of a user or an organization. Everyone who can see the owner can read them;
 * the owner, members of the organization, and administrators can write. Methods return undefined for what does not exist
 * or the viewer cannot see.
 */
export interface Packages {
  /** @throws AllotError conflict when the version has a file of that name; bad_request for a bad name; forbidden; too_large */
  add(
    viewer: SignedIn,
    path: PackageName,
    file: string,
    content: Readable,
    maxSize: number | undefined,
  ): Promise<PackageFile | undefined>
  file(viewer: Viewer, path: PackageName, file: string): Promise<PackageFile | undefined>
  /** Removes a file, and its version with the last file. */
  removeFile(viewer: SignedIn, path: PackageName, file: string): Promise<boolean>
  find(viewer: Viewer, path: PackageName): Promise<WithOwner<{ version: PackageVersion }> | undefined>
  files(viewer: Viewer, path: PackageName): Promise<PackageFile[] | undefined>
  remove(viewer: SignedIn, path: PackageName): Promise<boolean>
  /** Versions of an owner's packages, newest first. @param query `q`: part of the name, case-insensitive */
  list(
    viewer: Viewer,
    owner: string,
    query: { type?: string | undefined; q?: string | undefined },
    slice: Slice,
  ): Promise<WithOwner<{ page: Page<PackageVersion> }> | undefined>
}

interface PackageParts {
  quota: QuotaEngine
  jobs: Jobs
  files: HostedFiles
}

export const createPackages = (store: Store, parts: PackageParts): Packages => ({
  ...packageQueries(store),
  ...packageChanges(store, parts),
})

const packageQueries = (store: Store): Pick<Packages, 'file' | 'find' | 'files' | 'list'> => ({
  file: (viewer, path, name) =>
    store.read(async (tx) => {
      const owner = await visibleAccount(tx, viewer, path.owner)
      return owner && fileIn(tx, owner, path, name)
    }),
  find: (viewer, path) =>
    store.read(async (tx) => {
      const owner = await visibleAccount(tx, viewer, path.owner)
      const version = owner && (await versionIn(tx, owner, path))
      return owner && version && { owner, version }
    }),
  files: (viewer, path) =>
    store.read(async (tx) => {
      const owner = await visibleAccount(tx, viewer, path.owner)
      const version = owner && (await versionIn(tx, owner, path))
      return version && packageFiles.list(tx, 'version', { prefix: [version.id] })
    }),
  list: (viewer, name, query, slice) =>
    store.read(async (tx) => {
      const owner = await visibleAccount(tx, viewer, name)
      return owner && { owner, page: await list(tx, owner.id, query, slice) }
    }),
})

const packageChanges = (
  store: Store,
  parts: PackageParts,
): Pick<Packages, 'add' | 'removeFile' | 'remove'> => {
  const { quota, files } = parts
  /** Runs a write that can release files, and waits until they are deleted. */
  const removeIn = async (write: (tx: WriteContext) => Promise<boolean>): Promise<boolean> => {
    const isRemoved = await store.write(write)
    if (isRemoved) await files.idle()
    return isRemoved
  }
  return {
    add: (...given) => addFile(store, parts, ...given),
    removeFile: (viewer, path, name) =>
      removeIn(async (tx) => {
        const owner = await writableBy(tx, viewer, path.owner)
        const version = owner && (await versionIn(tx, owner, path))
        const file = owner && (await fileIn(tx, owner, path, name))
        if (version === undefined || file === undefined) return false
        if (version.files === 1) await removeVersion(tx, parts, version)
        else {
          await removeFile(tx, files, file)
          await saveAndCount(tx, quota, {
            ...version,
            size: version.size - file.size,
            files: version.files - 1,
          })
        }
        return true
      }),
    remove: (viewer, path) =>
      removeIn(async (tx) => {
        const owner = await writableBy(tx, viewer, path.owner)
        const version = owner && (await versionIn(tx, owner, path))
        if (version !== undefined) await removeVersion(tx, parts, version)
        return version !== undefined
      }),
  }
}

const addFile = async (
  store: Store,
  { quota, files }: PackageParts,
  ...[viewer, path, name, content, maxSize]: Parameters<Packages['add']>
): Promise<PackageFile | undefined> => {
  const owner = await store.read(async (tx) => {
    const found = await writableBy(tx, viewer, path.owner)
    checkNames(path, name)
    if (found !== undefined && (await fileIn(tx, found, path, name))) throw taken(name)
    return found
  })
  if (owner === undefined) return undefined
  const versionId = await store.sequences.next('packageVersion')
  const id = await store.sequences.next('packageFile')
  const place = { area: 'packages' as const, ownerId: owner.id, name: randomUUID() }
  const expected = { maxSize, digests: ['md5', 'sha1', 'sha512'] as const }
  return files.add(place, content, expected, async (tx, contentInfo) => {
    const current = await writableBy(tx, viewer, path.owner)
    if (current?.id !== owner.id) throw new AllotError('not_found', 'the owner was deleted')
    if ((await fileIn(tx, current, path, name)) !== undefined) throw taken(name)
    const before = (await versionIn(tx, current, path)) ?? newVersion(versionId, current, viewer, path)
    const file = fileOf({ id, version: before.id, owner: current.id, name, stored: place.name }, contentInfo)
    await packageFiles.save(tx, file)
    await saveAndCount(tx, quota, { ...before, size: before.size + file.size, files: before.files + 1 })
    return file
  })
}

/** Saves a new or changed version and its ledger entry. */
const saveAndCount = async (tx: WriteContext, quota: QuotaEngine, version: PackageVersion): Promise<void> => {
  await packageVersions.save(tx, version)
  await quota.ledger.put(tx, {
    kind: 'packages',
    key: keyOf(version),
    owner: version.owner,
    repository: null,
    name: version.name,
    size: version.size,
    type: version.type,
    version: version.version,
    on: null,
    index: null,
    run: null,
    createdAt: version.createdAt,
  })
}

const removeVersion = async (
  tx: WriteContext,
  { quota, jobs }: PackageParts,
  version: PackageVersion,
): Promise<void> => {
  await packageVersions.remove(tx, [version.id])
  await quota.ledger.remove(tx, 'packages', keyOf(version))
  await jobs.runNow(tx, 'package', version.id)
}

/** Key of the ledger entry of a version. */
const keyOf = ({ id }: PackageVersion): string => `${RESERVED_PREFIX}${id}`

/** @throws AllotError forbidden */
const writableBy = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  name: string,
): Promise<Account | undefined> => {
  const owner = await visibleAccount(tx, viewer, name)
  if (owner === undefined || viewer.admin || viewer.id === owner.id) return owner
  if ((await membershipOf(tx, owner.id, viewer.id)) === undefined)
    throw new AllotError('forbidden', `only members of ${owner.name} can change its packages`)
  return owner
}

const checkNames = ({ type, name, version }: PackageName, file: string): void => {
  if (type !== 'generic') throw new AllotError('not_found', 'this server stores generic packages only')
  checkPackageName(name)
  checkVersionName(version)
  checkFileName(file)
}

const taken = (name: string) => new AllotError('conflict', `this version has a file ${name} already`)

const newVersion = (id: number, owner: Account, viewer: SignedIn, path: PackageName): PackageVersion => ({
  ...{ id, owner: owner.id, type: 'generic', name: path.name, version: path.version, creator: viewer.id },
  ...{ size: 0, files: 0, createdAt: now() },
})

const fileOf = (
  file: Pick<PackageFile, 'id' | 'version' | 'owner' | 'name' | 'stored'>,
  { size, sha256, digests: { md5 = '', sha1 = '', sha512 = '' } }: ContentInfo,
): PackageFile => ({ ...file, size, sha256, md5, sha1, sha512, createdAt: now() })

const list = async (
  tx: ReadTransaction,
  owner: number,
  { type, q }: { type?: string | undefined; q?: string | undefined },
  slice: Slice,
): Promise<Page<PackageVersion>> => {
  if (type !== undefined && type !== '' && type !== 'generic') return { items: [], total: 0 }
  const listing = { prefix: [owner], reverse: true }
  if (q === undefined || q === '')
    return {
      items: await packageVersions.list(tx, 'created', { ...listing, ...slice }),
      total: await packageVersions.count(tx, 'owner', [owner]),
    }
  const found = (await packageVersions.list(tx, 'created', listing)).filter(({ name }) =>
    name.toLowerCase().includes(q.toLowerCase()),
  )
  return { items: found.slice(slice.offset, slice.offset + slice.limit), total: found.length }
}

/*
 * Names in the generic registry, as Forgejo accepts them. They are never paths on this server's disk; the rules keep URLs
 * readable and downloads from being written to unexpected places.
 */
const PACKAGE = /^[A-Za-z0-9._+-]{1,255}$/
const FILE = /^[-_+=:;.()[\]{}~!@#$%^& \w]{1,255}$/

const isDots = (name: string): boolean => /^\.+$/.test(name)

export const checkPackageName = (name: string): void => {
  if (!PACKAGE.test(name) || isDots(name) || (name.length === 1 && !/[A-Za-z0-9]/.test(name)))
    throw refused('package', 'letters, digits, and any of ._+-')
}

export const checkVersionName = (version: string): void => {
  if (!isPlainName(version)) throw refused('version', 'letters, digits, spaces within, and no slash')
}

export const checkFileName = (name: string): void => {
  if (!isPlainName(name)) throw refused('file', 'letters, digits, spaces within, and no slash')
}

const isPlainName = (name: string): boolean => FILE.test(name) && name.trim() === name && !isDots(name)

/** "400: the package name, version or file name are invalid" */
const refused = (what: string, allowed: string) =>
  new AllotError('bad_request', `the name of the ${what} must have 1 to 255 characters: ${allowed}`)
