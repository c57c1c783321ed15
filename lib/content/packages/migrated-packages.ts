import type { Readable } from 'node:stream'
import { withAdminRights } from '../../accounts/access.ts'
import { AllotError } from '../../errors.ts'
import {
  type PackageFile,
  type PackageVersion,
  packageFiles,
  packageVersions,
} from '../../records/schema/index.ts'
import type { WriteContext } from '../../records/store.ts'
import type { MigrationLog } from '../../repositories/migration-log.ts'
import type { RepositoryServices } from '../../repositories/repositories.ts'
import type { Origin } from '../migrated-content.ts'
import { addFile, type NewPackageFile } from './add.ts'
import type { PackageName } from './names.ts'

/** A file of a package of another server. */
interface MigratedPackageFile extends Required<Pick<NewPackageFile, 'size' | 'createdAt'>> {
  readonly path: PackageName
  readonly name: string
  readonly content: Readable
  /** SHA-256 that the source names, in lower-case hexadecimal digits; undefined when it names none. */
  readonly sha256: string | undefined
  readonly creator: number
}
/** Writes files of packages as another server had them, as `MigratedContent` does with issues. */
export class MigratedPackages {
  readonly #services: RepositoryServices
  readonly #migrationLog: MigrationLog

  /** @param migrationLog of the server that was copied from */
  constructor(services: RepositoryServices, migrationLog: MigrationLog) {
    this.#services = services
    this.#migrationLog = migrationLog
  }

  /**
   * Adds a file to a version of a package.
   * @param replaces id of the earlier copy, which this file takes the place of
   * @throws AllotError as `Packages.add`; invalid for a content of another size or SHA-256; not_found when
   * the owner was deleted
   */
  async saveFile(
    { path, name, content, ...members }: MigratedPackageFile,
    origin: Origin,
    replaces?: number,
  ): Promise<void> {
    const uploader = withAdminRights(members.creator)
    const alsoSave = (tx: WriteContext, { id }: PackageFile) =>
      this.#migrationLog.saveIn(tx, { kind: 'package', ...origin, copy: { id } })
    const added = { ...members, path, name, content, replaces, alsoSave }
    if ((await addFile(this.#services, uploader, added)) === undefined)
      throw new AllotError('not_found', 'the owner was deleted')
  }

  /** A copied file of a package, with its version; undefined when it was deleted here. */
  findFile(id: number): Promise<{ version: PackageVersion; file: PackageFile } | undefined> {
    return this.#services.store.read(async (tx) => {
      const file = await packageFiles.get(tx, [id])
      const version = file && (await packageVersions.get(tx, [file.version]))
      return version && file && { version, file }
    })
  }
}
