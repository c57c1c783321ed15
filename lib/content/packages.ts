import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { membershipOf, type Viewer, visibleAccount } from '../accounts/access.ts'
import type { Page, Slice } from '../accounts/visible-page.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { ContentInfo } from '../files/index.ts'
import type { QuotaEngine } from '../quota/index.ts'
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
import { RESERVED_PREFIX } from '../repositories/named-ledger.ts'
import type { SignedIn } from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { fileIn, type PackageName, removeFile, versionIn } from './package-files.ts'

/** What is there of an owner, with the owner. */
type Of<T> = T & { readonly owner: Account }

/**
 * Generic packages: files by name and version, below a user or an organization. Whoever may know of the owner may read
 * them; the owner, members of the organization, and administrators may write. Undefined stands for what is not there, or
 * what the viewer may not know of.
 */
export interface Packages {
  /** @throws AllotError conflict when there is a file of that name; bad_request for a bad name; forbidden; too_large */
  add(
    viewer: SignedIn,
    at: PackageName,
    file: string,
    content: Readable,
    largest: number | undefined,
  ): Promise<PackageFile | undefined>
  file(viewer: Viewer, at: PackageName, file: string): Promise<PackageFile | undefined>
  /** The last file takes its version with it. */
  removeFile(viewer: SignedIn, at: PackageName, file: string): Promise<boolean>
  find(viewer: Viewer, at: PackageName): Promise<Of<{ version: PackageVersion }> | undefined>
  files(viewer: Viewer, at: PackageName): Promise<PackageFile[] | undefined>
  remove(viewer: SignedIn, at: PackageName): Promise<boolean>
  /** The newest first. @param query.q what the names have to hold, in any case */
  list(
    viewer: Viewer,
    owner: string,
    query: { type?: string | undefined; q?: string | undefined },
    slice: Slice,
  ): Promise<Of<{ page: Page<PackageVersion> }> | undefined>
}

export interface PackageParts {
  quota: QuotaEngine
  jobs: Jobs
  files: HostedFiles
}

export const createPackages = (store: Store, { quota, jobs, files }: PackageParts): Packages => {
  /** A version that has changed counts as what it is now. */
  const count = async (tx: WriteContext, version: PackageVersion): Promise<void> => {
    await packageVersions.save(tx, version)
    await quota.ledger.put(tx, {
      ...{ kind: 'packages', key: keyOf(version), owner: version.owner, container: null },
      ...{ name: version.name, size: version.size, type: version.type, version: version.version },
      ...{ on: null, index: null, run: null, createdAt: version.createdAt },
    })
  }

  const removeVersion = async (tx: WriteContext, version: PackageVersion): Promise<void> => {
    await packageVersions.remove(tx, [version.id])
    await quota.ledger.remove(tx, 'packages', keyOf(version))
    await jobs.runNow(tx, 'package', version.id)
  }

  const removed = async (work: (tx: WriteContext) => Promise<boolean>): Promise<boolean> => {
    const done = await store.write(work)
    if (done) await files.idle()
    return done
  }

  return {
    async add(viewer, at, name, content, largest) {
      const owner = await store.read(async (tx) => {
        const found = await writableBy(tx, viewer, at.owner)
        checkNames(at, name)
        if (found !== undefined && (await fileIn(tx, found, at, name))) throw taken(name)
        return found
      })
      if (owner === undefined) return undefined
      const ids = {
        version: await store.sequences.next('packageVersion'),
        file: await store.sequences.next('packageFile'),
      }
      const stored = { area: 'packages' as const, keeper: owner.id, name: randomUUID() }
      return files.add(
        stored,
        content,
        { largest, digests: ['md5', 'sha1', 'sha512'] },
        async (tx, facts) => {
          const into = await writableBy(tx, viewer, at.owner)
          if (into?.id !== owner.id) throw new AllotError('not_found', 'the owner is gone')
          if ((await fileIn(tx, into, at, name)) !== undefined) throw taken(name)
          const before = (await versionIn(tx, into, at)) ?? newVersion(ids.version, into, viewer, at)
          const file = fileOf(
            { id: ids.file, version: before.id, owner: into.id, name, stored: stored.name },
            facts,
          )
          await packageFiles.save(tx, file)
          await count(tx, { ...before, size: before.size + file.size, files: before.files + 1 })
          return file
        },
      )
    },
    file: (viewer, at, name) =>
      store.read(async (tx) => {
        const owner = await visibleAccount(tx, viewer, at.owner)
        return owner && fileIn(tx, owner, at, name)
      }),
    removeFile: (viewer, at, name) =>
      removed(async (tx) => {
        const owner = await writableBy(tx, viewer, at.owner)
        const version = owner && (await versionIn(tx, owner, at))
        const file = owner && (await fileIn(tx, owner, at, name))
        if (version === undefined || file === undefined) return false
        if (version.files === 1) await removeVersion(tx, version)
        else {
          await removeFile(tx, files, file)
          await count(tx, { ...version, size: version.size - file.size, files: version.files - 1 })
        }
        return true
      }),
    find: (viewer, at) =>
      store.read(async (tx) => {
        const owner = await visibleAccount(tx, viewer, at.owner)
        const version = owner && (await versionIn(tx, owner, at))
        return owner && version && { owner, version }
      }),
    files: (viewer, at) =>
      store.read(async (tx) => {
        const owner = await visibleAccount(tx, viewer, at.owner)
        const version = owner && (await versionIn(tx, owner, at))
        return version && packageFiles.list(tx, 'version', { prefix: [version.id] })
      }),
    remove: (viewer, at) =>
      removed(async (tx) => {
        const owner = await writableBy(tx, viewer, at.owner)
        const version = owner && (await versionIn(tx, owner, at))
        if (version !== undefined) await removeVersion(tx, version)
        return version !== undefined
      }),
    list: (viewer, name, query, slice) =>
      store.read(async (tx) => {
        const owner = await visibleAccount(tx, viewer, name)
        return owner && { owner, page: await list(tx, owner.id, query, slice) }
      }),
  }
}

/** What counts a version. */
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
    throw new AllotError('forbidden', `only ${owner.name} may change these packages`)
  return owner
}

const checkNames = ({ type, name, version }: PackageName, file: string): void => {
  if (type !== 'generic') throw new AllotError('not_found', 'only generic packages are kept here')
  checkPackageName(name)
  checkVersionName(version)
  checkFileName(file)
}

const taken = (name: string) => new AllotError('conflict', `there is a file ${name} in this version already`)

const newVersion = (id: number, owner: Account, viewer: SignedIn, at: PackageName): PackageVersion => ({
  ...{ id, owner: owner.id, type: 'generic', name: at.name, version: at.version, creator: viewer.id },
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
 * What may be called what in the generic registry, as Forgejo has it. Names are never paths on the disk; these keep them
 * readable in URLs, and downloads from being written where nobody wants them.
 */
const PACKAGE = /^[A-Za-z0-9._+-]{1,255}$/
const FILE = /^[-_+=:;.()[\]{}~!@#$%^& \w]{1,255}$/

const isDots = (name: string): boolean => /^\.+$/.test(name)

export const checkPackageName = (name: string): void => {
  if (!PACKAGE.test(name) || isDots(name) || (name.length === 1 && !/[A-Za-z0-9]/.test(name)))
    throw refused('package', 'letters, digits, and any of ._+-')
}

export const checkVersionName = (version: string): void => {
  if (!isPlain(version)) throw refused('version', 'letters, digits, spaces within, and no slash')
}

export const checkFileName = (name: string): void => {
  if (!isPlain(name)) throw refused('file', 'letters, digits, spaces within, and no slash')
}

const isPlain = (name: string): boolean => FILE.test(name) && name.trim() === name && !isDots(name)

/** "400: the package name, version or file name are invalid" */
const refused = (what: string, allowed: string) =>
  new AllotError('bad_request', `the name of the ${what} must have 1 to 255 characters: ${allowed}`)
