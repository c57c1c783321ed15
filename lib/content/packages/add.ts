import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { SignedIn } from '../../accounts/access.ts'
import { now } from '../../clock.ts'
import { AllotError } from '../../errors.ts'
import {
  type PackageFile,
  type PackageType,
  type PackageVersion,
  packageFiles,
  packageVersions,
  RESERVED_PREFIX,
} from '../../records/schema/index.ts'
import { takeNumber, type WriteContext } from '../../records/store.ts'
import type { RepositoryServices } from '../../repositories/repositories.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { checkedType, type PackageName } from './names.ts'
import { fileIn, versionIn, writableBy } from './versions.ts'

/** Members of a new file besides those in its name. */
export interface NewPackageFile {
  /** Largest accepted size in bytes; absent: any. */
  readonly maxSize?: number | undefined
  /** Bytes that the content must have. */
  readonly size?: number | undefined
  /** SHA-256 that the content must have, in lower-case hexadecimal digits. */
  readonly sha256?: string | undefined
  /** Id of the account that created the version; the viewer when absent. */
  readonly creator?: number | undefined
  /** When the file, and with the first one its version, was created: seconds since 1970; now when absent. */
  readonly createdAt?: number | undefined
}

/** A file to add, and the parts of a migration. */
interface AddedFile extends NewPackageFile {
  readonly path: PackageName
  readonly name: string
  readonly content: Readable
  /** Id of the file of the same name that this one replaces, in the same transaction. */
  readonly replaces?: number | undefined
  /** What is checked or saved together with the file. */
  readonly alsoSave?: (tx: WriteContext, file: PackageFile) => Promise<unknown>
}

/** Adds a file, as `Packages.add` does. */
export const addFile = async (
  services: RepositoryServices,
  viewer: SignedIn,
  { path, name, content, maxSize, size, sha256, replaces, alsoSave, ...given }: AddedFile,
): Promise<PackageFile | undefined> => {
  const { store, files } = services
  const target = await store.read(async (tx) => {
    const owner = await writableBy(tx, viewer, path.owner)
    const type = checkedType(path, name)
    if (owner !== undefined) await replacedFile(tx, await versionIn(tx, owner, path), name, replaces)
    return owner && { ownerId: owner.id, type }
  })
  if (target === undefined) return undefined
  const { ownerId, type } = target
  const place = { area: 'packages' as const, ownerId, name: randomUUID() }
  const expected = { maxSize, size, sha256, digests: ['md5', 'sha1', 'sha512'] as const }
  const counted = { as: 'packages', owner: ownerId, by: viewer.id, kind: 'package' } as const
  return files.add(place, content, expected, counted, async (tx, { size, sha256, digests }) => {
    const current = await writableBy(tx, viewer, path.owner)
    if (current?.id !== ownerId) throw new AllotError('not_found', 'the owner was deleted or renamed')
    const found = await versionIn(tx, current, path)
    const replaced = await replacedFile(tx, found, name, replaces)
    if (replaced !== undefined) await removePackageFile(tx, services, replaced)
    const { creator = viewer.id, createdAt = now() } = given
    const before = found ?? {
      ...newVersion(await takeNumber(tx, 'packageVersion'), ownerId, type, path),
      creator,
      createdAt,
    }
    const id = await takeNumber(tx, 'packageFile')
    const names = { id, version: before.id, owner: ownerId, name, stored: place.name }
    const { md5 = '', sha1 = '', sha512 = '' } = digests
    const file = { ...names, size, md5, sha1, sha256, sha512, createdAt }
    await packageFiles.save(tx, file)
    await alsoSave?.(tx, file)
    const version = {
      ...before,
      size: before.size - (replaced?.size ?? 0) + file.size,
      files: before.files + (replaced === undefined ? 1 : 0),
    }
    await saveVersion(tx, services, version)
    if (found === undefined) await recordVersion(tx, services, 'created', version, viewer)
    return file
  })
}

/**
 * The file that a new one replaces.
 * @throws AllotError conflict when the version has another file of the name
 */
const replacedFile = async (
  tx: ReadTransaction,
  version: PackageVersion | undefined,
  name: string,
  replaces: number | undefined,
): Promise<PackageFile | undefined> => {
  const file = version && (await fileIn(tx, version, name))
  if (file !== undefined && file.id !== replaces)
    throw new AllotError('conflict', `this version already has a file ${name}`)
  return file
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

/** Saves a new or changed version and its ledger entry. */
export const saveVersion = async (
  tx: WriteContext,
  { quota }: Pick<RepositoryServices, 'quota'>,
  record: PackageVersion,
): Promise<void> => {
  await packageVersions.save(tx, record)
  const { owner, name, size, type, version, createdAt } = record
  await quota.ledger.put(tx, {
    kind: 'packages',
    key: ledgerKey(record),
    owner,
    name,
    size,
    type,
    version,
    createdAt,
    repository: null,
  })
}

/** Key of the ledger entry of a version. */
export const ledgerKey = ({ id }: PackageVersion): string => `${RESERVED_PREFIX}${id}`

/** Reports a version to webhooks, not each of its files. */
export const recordVersion = (
  tx: WriteContext,
  { outbox }: Pick<RepositoryServices, 'outbox'>,
  action: 'created' | 'deleted',
  version: PackageVersion,
  { id: by }: SignedIn,
): Promise<void> => outbox.record(tx, { event: 'package', action, owner: version.owner, version, by })

/** Removes the record of a file, and releases the file. */
export const removePackageFile = async (
  tx: WriteContext,
  { files }: Pick<RepositoryServices, 'files'>,
  { id, owner, stored }: PackageFile,
): Promise<void> => {
  await packageFiles.remove(tx, [id])
  await files.deleteAfterCommit(tx, { area: 'packages', ownerId: owner, name: stored })
}
