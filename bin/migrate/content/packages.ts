import { downloadPath, isOfKnownType } from '../../../lib/content/packages/types.ts'
import { type Account, PACKAGE_TYPES, type PackageType } from '../../../lib/records/schema/index.ts'
import { MAX_NAME } from '../../../lib/repositories/migration-log.ts'
import { giveOne, recordsOf, withdraw } from '../copies.ts'
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
import { digestOf, type Item, type Things } from '../things.ts'

export const OTHER_TYPE = `packages of other types than ${PACKAGE_TYPES.join(', ')}`
const IN_PRIVATE = 'packages of private organizations: every member could read them here'

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
  const { source, report } = migration
  const places = new Map<string, Place>()
  const things = filesOf(migration, owner, places)
  const known = await recordsOf(migration, things)
  let isComplete = true
  for (const given of found.reverse()) {
    const names = [given.type, given.name, given.version]
    const label = `${owner.there}: ${given.name} ${given.version}`
    const isRead = await succeeds(report, `the package ${label}`, async () => {
      const path = apiPath('packages', owner.there, ...names)
      for (const file of await source.list(SourcePackageFile, `${path}/files`)) {
        const name = logName([...names, file.name])
        places.set(name, { ...given, file: file.name })
        // A file that is refused does not keep the others from being copied.
        await reportErrors(report, `the package file ${label} ${file.name}`, async () => {
          const item = itemFor(migration, owner, given, file, name)
          await giveOne(migration, things, item, known.get(name))
        })
      }
    })
    if (!isRead) isComplete = false
  }
  const isGone = (name: string) => isRemoved(migration, owner, known.get(name)?.copy?.id)
  const seen = [...places.keys()].map((name) => ({ name }))
  if (isComplete) await withdraw(migration, things, seen, isGone)
}

/** Where a file is. */
interface Place {
  readonly type: PackageType
  readonly name: string
  readonly version: string
  readonly file: string
}

/** @param places the files that the source has, by their names in the migration log */
const filesOf = (
  { allot, packages }: Migration,
  { there, here: owner, key: scope }: OwnerNames,
  places: ReadonlyMap<string, Place>,
): Things => ({
  ...{ kind: 'package', scope, savesRecords: true, hasFullLabels: true },
  async find(name, copy) {
    if (copy?.id !== undefined && (await packages.findFile(copy.id)) !== undefined) return copy
    const place = places.get(name)
    const found = place && (await allot.hosting.packages.file(OPERATOR, { owner, ...place }, place.file))
    return found && { id: found.id }
  },
  // The content of a file never changes here: one that is replaced has another id.
  members: async ({ id }) => ({ sha256: (await packages.findFile(id!))?.file.sha256 }),
  async shown({ id }) {
    const found = await packages.findFile(id!)
    return found && `${there}: ${found.version.name} ${found.version.version} ${found.file.name}`
  },
  async remove(_, { id }) {
    const found = await packages.findFile(id!)
    if (found !== undefined)
      await allot.hosting.packages.removeFile(OPERATOR, { ...found.version, owner }, found.file.name)
  },
})

const itemFor = (
  migration: Migration,
  owner: OwnerNames,
  given: KnownPackage,
  file: SourcePackageFile,
  name: string,
): Item => {
  const { type, name: packageName, version } = given
  const path = { owner: owner.here, type, name: packageName, version }
  const save = async (origin: Parameters<Item['create']>[0], id?: number) => {
    await migration.packages.saveFile({ ...(await copyOf(migration, owner, given, file)), path }, origin, id)
    return true
  }
  return {
    ...{ name, label: `${owner.there}: ${packageName} ${version} ${file.name}` },
    values: file.sha256 === '' ? {} : { sha256: file.sha256 },
    create: (origin) => save(origin),
    edit: ({ id }, _, origin) => save(origin, id),
  }
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

/** Whether the source no longer has a file. Another version can have been deleted while the list was read. */
const isRemoved = async (
  migration: Migration,
  { there }: OwnerNames,
  id: number | undefined,
): Promise<boolean> => {
  const copy = id === undefined ? undefined : await migration.packages.findFile(id)
  if (copy === undefined) return true
  const { type, name, version } = copy.version
  const path = apiPath('packages', there, type, name, version)
  const found = await ifAvailable(migration.source.list(SourcePackageFile, `${path}/files`))
  return found === undefined ? isDeleted(migration, path) : found.every((one) => one.name !== copy.file.name)
}
