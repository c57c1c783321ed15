import type { Readable } from 'node:stream'
import type { SignedIn, Viewer } from '../../accounts/access.ts'
import { existingAccount, visibleAccount } from '../../accounts/find.ts'
import type { Found, Slice } from '../../records/pages.ts'
import {
  type PackageFile,
  type PackageVersion,
  packageFiles,
  packageVersions,
} from '../../records/schema/index.ts'
import type { WriteContext } from '../../records/store.ts'
import type { RepositoryServices } from '../../repositories/repositories.ts'
import { slotFor, type WithReadBudget } from '../../repositories/visible.ts'
import {
  addFile,
  ledgerKey,
  type NewPackageFile,
  recordVersion,
  removePackageFile,
  saveVersion,
} from './add.ts'
import type { PackageName } from './names.ts'
import {
  type FoundVersion,
  fileIn,
  listVersions,
  type PackageQuery,
  visibleVersion,
  writableVersion,
} from './versions.ts'

type VersionPage = Pick<FoundVersion, 'owner'> & {
  /** The part of the listing. */
  readonly page: Found<PackageVersion>
}

/**
 * Packages: files by name and version, of a user or an organization. Everyone who can see the owner can read
 * them; the owner, members of the organization whose teams may, and administrators can write. Methods return
 * undefined when one does not exist or the viewer cannot see it.
 */
export class Packages {
  readonly #services: RepositoryServices & WithReadBudget

  constructor(services: RepositoryServices & WithReadBudget) {
    this.#services = services
  }

  /**
   * Adds a file, and its version with the first one.
   * @throws AllotError conflict when the version has a file of that name; bad_request for a bad name;
   * not_found for a type that Allot does not store, and when the creator was deleted meanwhile; forbidden;
   * too_large; over_quota when the host refuses it
   */
  add(
    viewer: SignedIn,
    path: PackageName,
    name: string,
    content: Readable,
    { maxSize, size, sha256, creator, createdAt }: NewPackageFile = {},
  ): Promise<PackageFile | undefined> {
    const members = { maxSize, size, sha256, creator, createdAt }
    const alsoSave = (tx: WriteContext) => existingAccount(tx, creator ?? viewer.id)
    return addFile(this.#services, viewer, { path, name, content, ...members, alsoSave })
  }

  /** A file of a version. */
  file(viewer: Viewer, path: PackageName, name: string): Promise<PackageFile | undefined> {
    return this.#services.store.read(async (tx) => {
      const found = await visibleVersion(tx, viewer, path)
      return found && fileIn(tx, found.version, name)
    })
  }

  /** A version. */
  find(viewer: Viewer, path: PackageName): Promise<FoundVersion | undefined> {
    return this.#services.store.read((tx) => visibleVersion(tx, viewer, path))
  }

  /** The files of a version, by name. */
  files(viewer: Viewer, path: PackageName): Promise<PackageFile[] | undefined> {
    return this.#services.store.read(async (tx) => {
      const found = await visibleVersion(tx, viewer, path)
      return found && packageFiles.list(tx, 'version', { prefix: [found.version.id] })
    })
  }

  /**
   * Versions of an owner's packages, newest first.
   * @param query `q`: part of the name, case-insensitive
   * @param client whose budget a search by name counts against once it has read some thousand records
   * @throws AllotError unavailable while too many searches wait
   */
  list(
    viewer: Viewer,
    name: string,
    query: PackageQuery,
    slice: Slice,
    client?: string,
  ): Promise<VersionPage | undefined> {
    const { store, readBudget } = this.#services
    const acquire = slotFor(readBudget, client)
    return store.read(async (tx) => {
      const owner = await visibleAccount(tx, viewer, name)
      return owner && { owner, page: await listVersions(tx, owner.id, query, slice, acquire) }
    })
  }

  /** Removes a file, and its version with the last file. */
  removeFile(viewer: SignedIn, path: PackageName, name: string): Promise<boolean> {
    return this.#services.disk.write(async (tx) => {
      const version = await writableVersion(tx, viewer, path)
      const file = version && (await fileIn(tx, version, name))
      if (version === undefined || file === undefined) return false
      if (version.files === 1) await this.#removeVersion(tx, version, viewer)
      else {
        await removePackageFile(tx, this.#services, file)
        await saveVersion(tx, this.#services, {
          ...version,
          size: version.size - file.size,
          files: version.files - 1,
        })
      }
      return true
    })
  }

  /**
   * Removes a version with its files.
   * @returns whether it existed.
   * @throws AllotError forbidden
   */
  remove(viewer: SignedIn, path: PackageName): Promise<boolean> {
    return this.#services.disk.write(async (tx) => {
      const version = await writableVersion(tx, viewer, path)
      if (version !== undefined) await this.#removeVersion(tx, version, viewer)
      return version !== undefined
    })
  }

  async #removeVersion(tx: WriteContext, version: PackageVersion, viewer: SignedIn): Promise<void> {
    const { quota, jobs } = this.#services
    await recordVersion(tx, this.#services, 'deleted', version, viewer)
    await packageVersions.remove(tx, [version.id])
    await quota.ledger.remove(tx, 'packages', ledgerKey(version))
    await jobs.runNow(tx, 'removePackageFiles', version.id)
  }
}
