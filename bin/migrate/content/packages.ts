import type { Origin } from '../../../lib/content/migrated-content.ts'
import { downloadPath, isOfKnownType } from '../../../lib/content/packages/names.ts'
import { allItems } from '../../../lib/records/pages.ts'
import type { CopyIds, PackageType, Visibility } from '../../../lib/records/schema/index.ts'
import { MAX_NAME } from '../../../lib/repositories/migration-log.ts'
import { Copies } from '../copies.ts'
import { OTHER_PACKAGES } from '../labels.ts'
import {
  apiPath,
  ifAvailable,
  isDeleted,
  type Migration,
  OPERATOR,
  reportErrors,
  succeeds,
} from '../migration.ts'
import { SourcePackage, SourcePackageFile } from '../shapes.ts'
import { digestOf, type Item, type Things } from '../things.ts'

const IN_PRIVATE = 'packages of private organizations: every member could read them here'

/** An owner of packages, by its names. */
interface Owner {
  readonly there: string
  readonly here: string
  /** In the migration log. */
  readonly key: string
}

/** A version at the source of a type that Allot stores. */
type KnownPackage = SourcePackage & { type: PackageType }

/** Copies the packages of an owner, whatever repository they are linked to. */
export const copyPackages = (
  migration: Migration,
  { name: there, visibility }: { name: string; visibility: Visibility },
): Promise<void> =>
  reportErrors(migration.report, `the packages of ${there}`, async () => {
    const { source, names, report } = migration
    const account = await names.accountOf(there)
    const found = account && (await ifAvailable(source.list(SourcePackage, apiPath('packages', there))))
    if (account === undefined || found === undefined) return
    const owner = { there, here: account.name, key: names.keyHere(account) }
    // At the source, members of such an organization read its packages only by a team that may.
    if (!source.isAllot && account.kind === 'organization' && visibility === 'private') {
      if (found.length > 0) report.note('notCopied', IN_PRIVATE, `${there} (${found.length})`)
      return new Copies(migration, filesOf(migration, owner, new Map())).withdraw([])
    }
    for (const one of found)
      if (!isOfKnownType(one))
        report.note('notCopied', OTHER_PACKAGES, `${there}: ${one.type} ${one.name} ${one.version}`)
    await copyFound(migration, owner, found.filter(isOfKnownType))
  })

const copyFound = async (migration: Migration, owner: Owner, found: KnownPackage[]): Promise<void> => {
  const { source, report } = migration
  const places = new Map<string, Place>()
  const copies = new Copies(migration, filesOf(migration, owner, places))
  let isComplete = true
  for (const given of found.reverse()) {
    const { type, name: packageName, version } = given
    const label = `the package ${owner.there}: ${packageName} ${version}`
    const isRead = await succeeds(report, label, async () => {
      const path = apiPath('packages', owner.there, type, packageName, version)
      for (const file of await source.list(SourcePackageFile, `${path}/files`)) {
        const name = logName([type, packageName, version, file.name])
        places.set(name, { given, file })
        // A file that is refused does not keep the others from being copied.
        await copies.give([await itemFor(migration, owner, { given, file }, name)])
      }
    })
    if (!isRead) isComplete = false
  }
  const seen = [...places.keys()].map((name) => ({ name }))
  if (isComplete) await copies.withdraw(seen, (name) => isRemoved(migration, owner, name))
}

/** A file of the source, and the version that has it. */
interface Place {
  readonly given: KnownPackage
  readonly file: SourcePackageFile
}

/** @param places the files that the source has, by their names in the migration log */
const filesOf = (
  { allot, packages, authors }: Migration,
  { there, here: owner, key: scope }: Owner,
  places: ReadonlyMap<string, Place>,
): Things => ({
  kind: 'package',
  scope,
  savesRecords: true,
  async find(name, copy) {
    if (copy?.id !== undefined && (await packages.findFile(copy.id)) !== undefined) return copy
    const place = places.get(name)
    const path = place && { ...place.given, owner }
    const found = path && (await allot.hosting.packages.file(OPERATOR, path, place.file.name))
    return found && { id: found.id }
  },
  // The content of a file never changes here: one that is replaced has another id.
  members: async ({ id }) => ({ sha256: (await packages.findFile(id!))?.file.sha256 }),
  async kept({ id }) {
    const { version, file } = (await packages.findFile(id!))!
    return { creator: await authors.keyOf(version.creator), createdAt: version.createdAt, size: file.size }
  },
  async shown({ id }) {
    const found = await packages.findFile(id!)
    return found && fileLabel(there, found.version, found.file)
  },
  async list() {
    const { packages: here } = allot.hosting
    const versions = await allItems(async (slice) => (await here.list(OPERATOR, owner, {}, slice))?.page)
    const found: { copy: CopyIds; label: string }[] = []
    for (const version of versions)
      for (const file of (await here.files(OPERATOR, { ...version, owner })) ?? [])
        found.push({ copy: { id: file.id }, label: fileLabel(there, version, file) })
    return found
  },
  async remove(_, { id }) {
    const found = await packages.findFile(id!)
    if (found !== undefined)
      await allot.hosting.packages.removeFile(OPERATOR, { ...found.version, owner }, found.file.name)
  },
})

/** @param owner its name at the source */
const fileLabel = (
  owner: string,
  { name, version }: Pick<KnownPackage, 'name' | 'version'>,
  file: { readonly name: string },
): string => `${owner}: ${name} ${version} ${file.name}`

const itemFor = async (
  { source, authors, packages, startedAt }: Migration,
  { there, here }: Owner,
  { given, file }: Place,
  name: string,
): Promise<Item> => {
  const { type, name: packageName, version, created_at: createdAt } = given
  const { size, sha256 } = file
  const author = await authors.find(given.creator)
  const path = { type, name: packageName, version }
  const save = async (origin: Origin, id?: number): Promise<true> => {
    const copy = {
      path: { ...path, owner: here },
      name: file.name,
      size,
      creator: author.id,
      sha256: sha256 === '' ? undefined : sha256,
      createdAt: createdAt ?? startedAt,
    }
    await source.download(downloadPath({ ...path, owner: there }, file.name), (content) =>
      packages.saveFile({ ...copy, content }, origin, id),
    )
    return true
  }
  return {
    name,
    label: fileLabel(there, given, file),
    kept: { creator: author.name, createdAt, size },
    values: sha256 === '' ? {} : { sha256 },
    create: (origin) => save(origin),
    edit: ({ id }, _, origin) => save(origin, id),
  }
}

/** The name of a file in the migration log; the digest of one that is longer than names there may be. */
const logName = (names: readonly string[]): string => {
  const name = names.join('/')
  return name.length <= MAX_NAME ? name : digestOf(names)
}

/** Whether the source no longer has a file. Another version can have been deleted while the list was read. */
const isRemoved = async (migration: Migration, { there, key }: Owner, logged: string): Promise<boolean> => {
  const id = (await migration.migrationLog.get('package', key, logged))?.copy?.id
  const copy = id === undefined ? undefined : await migration.packages.findFile(id)
  if (copy === undefined) return true
  const { type, name, version } = copy.version
  const path = apiPath('packages', there, type, name, version)
  const found = await ifAvailable(migration.source.list(SourcePackageFile, `${path}/files`))
  return found === undefined ? isDeleted(migration, path) : found.every((one) => one.name !== copy.file.name)
}
