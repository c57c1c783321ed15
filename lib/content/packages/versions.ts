/** Finds and lists versions of packages and their files, with the rights of the viewer. */
import type { SignedIn, Viewer } from '../../accounts/access.ts'
import { visibleAccount } from '../../accounts/find.ts'
import { canChangePackages } from '../../accounts/rights.ts'
import { AllotError, NAME_LIMIT } from '../../errors.ts'
import type { IndexEntry } from '../../records/collection.ts'
import type { Found, Slice } from '../../records/pages.ts'
import {
  type Account,
  type PackageFile,
  type PackageVersion,
  packageFiles,
  packageVersions,
} from '../../records/schema/index.ts'
import { type Acquire, visiblePage } from '../../repositories/visible.ts'
import { foldCase } from '../../search/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { isOfKnownType, type PackageName } from './names.ts'

/** A version with its owner. */
export interface FoundVersion {
  /** The user or the organization. */
  readonly owner: Account
  /** The version. */
  readonly version: PackageVersion
}
/**
 * The owner, if the viewer can see it.
 * @throws AllotError forbidden when the viewer cannot change its packages
 */
export const writableBy = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  name: string,
): Promise<Account | undefined> => {
  const owner = await visibleAccount(tx, viewer, name)
  if (owner !== undefined && !viewer.admin && !(await canChangePackages(tx, viewer.id, owner.id)))
    throw new AllotError(
      'forbidden',
      `you may not change packages of ${owner.name}: ask an owner for a team that may`,
    )
  return owner
}

export const visibleVersion = async (
  tx: ReadTransaction,
  viewer: Viewer,
  path: PackageName,
): Promise<FoundVersion | undefined> => {
  const owner = await visibleAccount(tx, viewer, path.owner)
  const version = owner && (await versionIn(tx, owner, path))
  return owner && version && { owner, version }
}

/**
 * A version that the viewer may change.
 * @throws AllotError forbidden
 */
export const writableVersion = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  path: PackageName,
): Promise<PackageVersion | undefined> => {
  const owner = await writableBy(tx, viewer, path.owner)
  return owner && versionIn(tx, owner, path)
}

export const versionIn = async (
  tx: ReadTransaction,
  owner: Account,
  { type, name, version }: PackageName,
): Promise<PackageVersion | undefined> => {
  if ([type, name, version].some((text) => text.length > NAME_LIMIT)) return undefined
  return packageVersions.findBy(tx, 'path', [owner.id, type, name.toLowerCase(), version.toLowerCase()])
}

export const fileIn = async (
  tx: ReadTransaction,
  version: PackageVersion,
  name: string,
): Promise<PackageFile | undefined> =>
  name.length > NAME_LIMIT ? undefined : packageFiles.findBy(tx, 'name', [version.id, name.toLowerCase()])

export interface PackageQuery {
  /** Type of the packages. */
  type?: string | undefined
  /** Part of the name, without regard to case. */
  q?: string | undefined
}

export const listVersions = async (
  tx: ReadTransaction,
  owner: number,
  { type = '', q = '' }: PackageQuery,
  slice: Slice,
  acquire: Acquire | undefined,
): Promise<Found<PackageVersion>> => {
  if (type !== '' && !isOfKnownType({ type })) return { items: [], total: 0 }
  const listing = { prefix: [owner], reverse: true }
  if (q === '') return packageVersions.page(tx, 'created', { ...listing, ...slice }, 'owner')
  const wanted = foldCase(q)
  const matching = async (entries: readonly IndexEntry[]) =>
    (await packageVersions.load(tx, entries)).filter(({ name }) => foldCase(name).includes(wanted))
  return visiblePage(packageVersions.entries(tx, 'created', listing), matching, slice, acquire)
}
