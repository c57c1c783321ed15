import type { Origin } from '../../../lib/content/migrated-content.ts'
import { downloadPath, isOfKnownType } from '../../../lib/content/packages/types.ts'
import {
  type Account,
  type MigrationRecord,
  PACKAGE_TYPES,
  type PackageType,
} from '../../../lib/records/schema/index.ts'
import { MAX_NAME } from '../../../lib/repositories/migration-log.ts'
import { digestOf } from '../details.ts'
import {
  apiPath,
  ifAvailable,
  isDeleted,
  type Migration,
  OPERATOR,
  reportErrors,
  succeeds,
} from '../migration.ts'
import type { Report } from '../report.ts'
import { SourcePackage, SourcePackageFile } from '../shapes.ts'
import type { Source } from '../source.ts'

export const OTHER_TYPE = `packages of other types than ${PACKAGE_TYPES.join(', ')}`
const IN_PRIVATE = 'packages of private organizations: every member could read them here'
const OTHER_CONTENT = 'package files that were uploaded here with other content, and stay'
const REMOVED_HERE = 'package files that were removed here, and stay removed'

/** The kind in the report. */
const FILES = 'package files'

/** Copies the packages of an owner, whatever repository they are linked to. */
export const copyPackages = (migration: Migration, ownerName: string): Promise<void> =>
  reportErrors(migration.report, `the packages of ${ownerName}`, async () => {
    const { source, names } = migration
    const owner = await names.accountOf(ownerName)
    const found = owner && (await ifAvailable(source.list(SourcePackage, apiPath('packages', ownerName))))
    const possible = found && possiblePackages(migration, ownerName, owner, found)
    if (possible === undefined) return
    await copyFound(migration, { there: ownerName, here: owner!.name, key: names.keyHere(owner!) }, possible)
  })

/**
 * The versions of an owner that can be copied; the others are noted.
 * @param name of the owner at the source
 * @returns undefined when none of the owner can
 */
export const possiblePackages = (
  { source, report }: { source: Source; report: Pick<Report, 'note'> },
  name: string,
  owner: Account,
  found: readonly SourcePackage[],
): KnownPackage[] | undefined => {
  // At the source, members of such an organization read its packages only by a team that may.
  if (!source.isAllot && owner.kind === 'organization' && owner.visibility === 'private') {
    if (found.length > 0) report.note('notCopied', IN_PRIVATE, `${name} (${found.length})`)
    return undefined
  }
  for (const one of found)
    if (!isOfKnownType(one))
      report.note('notCopied', OTHER_TYPE, `${name}: ${one.type} ${one.name} ${one.version}`)
  return found.filter(isOfKnownType)
}

/** A version at the source of a type that Allot stores. */
type KnownPackage = SourcePackage & { type: PackageType }

/** Names of an owner. */
interface OwnerNames {
  readonly there: string
  readonly here: string
  /** In the migration log. */
  readonly key: string
}

const copyFound = async (migration: Migration, owner: OwnerNames, found: KnownPackage[]): Promise<void> => {
  const records = await migration.migrationLog.list('package', owner.key)
  const known = new Map(records.map((record) => [record.name, record]))
  const seen = new Set<string>()
  let isComplete = true
  for (const version of found.reverse())
    if (!(await copyVersion(migration, owner, version, known, seen))) isComplete = false
  if (isComplete) await removeOthers(migration, owner, known, seen)
}

/**
 * Copies the files of a version. A file that is refused does not keep the others from being copied.
 * @returns whether all files that the source has are known
 */
const copyVersion = (
  migration: Migration,
  owner: OwnerNames,
  given: KnownPackage,
  known: ReadonlyMap<string, MigrationRecord>,
  seen: Set<string>,
): Promise<boolean> => {
  const { source, report } = migration
  const label = `${owner.there}: ${given.name} ${given.version}`
  return succeeds(report, `the package ${label}`, async () => {
    const names = [given.type, given.name, given.version]
    const path = apiPath('packages', owner.there, ...names)
    for (const file of await source.list(SourcePackageFile, `${path}/files`)) {
      const name = logName([...names, file.name])
      seen.add(name)
      await reportErrors(report, `the package file ${label} ${file.name}`, () =>
        followFile(migration, owner, given, file, { scope: owner.key, name, before: known.get(name) }),
      )
    }
  })
}

/** A file in the migration log. */
interface FileOrigin extends Origin {
  /** The record of an earlier run. */
  readonly before: MigrationRecord | undefined
}

/**
 * Copies a file, or replaces the copy of an earlier run when the source has another file of the name now. The
 * content of a file never changes here, so a file with the id of the copy is as it was copied.
 */
const followFile = async (
  migration: Migration,
  owner: OwnerNames,
  given: KnownPackage,
  file: SourcePackageFile,
  { before, ...origin }: FileOrigin,
): Promise<void> => {
  const { allot, report } = migration
  const path = { owner: owner.here, type: given.type, name: given.name, version: given.version }
  const label = `${owner.there}: ${given.name} ${given.version} ${file.name}`
  const here = await allot.hosting.packages.file(OPERATOR, path, file.name)
  if (here === undefined && before !== undefined) return report.note('differs', REMOVED_HERE, label)
  const isFound = here !== undefined && (file.sha256 === '' || here.sha256 === file.sha256)
  const isCopy = here !== undefined && before?.copy?.id === here.id
  if (here !== undefined && (isFound || !isCopy)) {
    report.count(FILES, 'found')
    if (!isFound) report.note('differs', OTHER_CONTENT, label)
    return
  }
  const copied = await copyOf(migration, owner, given, file)
  await migration.packages.saveFile({ ...copied, path }, origin, here?.id)
  report.count(FILES, here === undefined ? 'copied' : 'updated')
}

const copyOf = async (
  { source, authors, startedAt }: Migration,
  { there }: OwnerNames,
  { type, name, version, creator, created_at: createdAt = startedAt }: KnownPackage,
  { name: fileName, size, sha256 }: SourcePackageFile,
) => ({
  name: fileName,
  size,
  sha256: sha256 === '' ? undefined : sha256,
  createdAt,
  creator: (await authors.find(creator)).id,
  content: await source.download(downloadPath({ owner: there, type, name, version }, fileName)),
})

/** The name of a file in the migration log; the digest of one that is longer than names there may be. */
const logName = (names: readonly string[]): string => {
  const name = names.join('/')
  return name.length <= MAX_NAME ? name : digestOf(names)
}

/** Removes copied files that the source has removed. One that was replaced here stays. */
const removeOthers = async (
  migration: Migration,
  owner: OwnerNames,
  known: ReadonlyMap<string, MigrationRecord>,
  seen: ReadonlySet<string>,
): Promise<void> => {
  for (const [key, record] of known) {
    const names = seen.has(key) ? undefined : await namesOf(migration, key, record)
    if (names !== undefined) await removeOther(migration, owner, names, record)
  }
}

/** Type, name and version of a package, and the name of its file. */
type FileNames = readonly [type: string, name: string, version: string, file: string]

/** @returns undefined for a long name, of which the log has only a digest, when the copy was removed here */
const namesOf = async (
  { packages }: Migration,
  key: string,
  { copy: { id = 0 } = {} }: MigrationRecord,
): Promise<FileNames | undefined> => {
  const [type, ...rest] = key.split('/')
  const [version, file] = rest.splice(-2)
  // A name with a scope, such as `@scope/name`, has a slash.
  if (type !== undefined && version !== undefined && file !== undefined && rest.length > 0)
    return [type, rest.join('/'), version, file]
  const found = await packages.findFile(id)
  return found && [found.version.type, found.version.name, found.version.version, found.file.name]
}

const removeOther = async (
  migration: Migration,
  { there, here: owner }: OwnerNames,
  [type, name, version, file]: FileNames,
  record: MigrationRecord,
): Promise<void> => {
  const { allot, migrationLog, report } = migration
  const { packages } = allot.hosting
  const path = apiPath('packages', there, type, name, version)
  const label = `${there}: ${name} ${version} ${file}`
  const found = await ifAvailable(migration.source.list(SourcePackageFile, `${path}/files`))
  const isGone =
    found === undefined ? await isDeleted(migration, path) : found.every((one) => one.name !== file)
  if (!isGone) return
  const where = { owner, type: type as PackageType, name, version }
  const here = await packages.file(OPERATOR, where, file)
  if (here !== undefined && record.copy?.id === here.id) {
    await packages.removeFile(OPERATOR, where, file)
    report.note('removed', FILES, label)
  }
  await migrationLog.remove([record])
}
