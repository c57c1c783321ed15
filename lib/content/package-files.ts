import type { JobHandler } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import {
  type Account,
  type PackageFile,
  type PackageVersion,
  packageFiles,
  packageVersions,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { HostedFiles } from '../repositories/files.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** A version of a package by names. */
export interface PackageName {
  readonly owner: string
  readonly type: string
  readonly name: string
  readonly version: string
}

const MAX_LENGTH = 255

export const versionIn = async (
  tx: ReadTransaction,
  owner: Account,
  { type, name, version }: PackageName,
): Promise<PackageVersion | undefined> => {
  if ([type, name, version].some((text) => text.length > MAX_LENGTH)) return undefined
  return packageVersions.findBy(tx, 'path', [owner.id, type, name.toLowerCase(), version.toLowerCase()])
}

export const fileIn = async (
  tx: ReadTransaction,
  owner: Account,
  path: PackageName,
  name: string,
): Promise<PackageFile | undefined> => {
  const version = await versionIn(tx, owner, path)
  if (version === undefined || name.length > MAX_LENGTH) return undefined
  return packageFiles.findBy(tx, 'name', [version.id, name.toLowerCase()])
}

/** Removes the files of a deleted version. */
export const removePackageJob = (hosted: HostedFiles): JobHandler => ({
  prepare: hosted.idle,
  async step(tx, id, limit) {
    if ((await packageVersions.get(tx, [id])) !== undefined) return 0
    const found = await packageFiles.list(tx, 'version', { prefix: [id], limit })
    for await (const file of paced(found)) await removeFile(tx, hosted, file)
    return found.length
  },
})

export const removeFile = async (
  tx: WriteContext,
  hosted: HostedFiles,
  { id, owner, stored }: PackageFile,
): Promise<void> => {
  await packageFiles.remove(tx, [id])
  await hosted.release(tx, { area: 'packages', ownerId: owner, name: stored })
}

export const ownsPackages = async (tx: ReadTransaction, owner: number): Promise<boolean> =>
  (await packageVersions.count(tx, 'owner', [owner])) > 0
