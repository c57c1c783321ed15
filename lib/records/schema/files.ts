import * as v from 'valibot'
import { Collection } from '../collection.ts'
import { bytes, count, id, seconds } from '../fields.ts'

/** Areas whose files belong to a repository, and are deleted with it. */
export const REPOSITORY_AREAS = ['lfs', 'attachments'] as const

/** What a stored file is part of. spec/removal/every-collection.spec.ts holds that files of every area are deleted. */
export const FileArea = v.picklist([...REPOSITORY_AREAS, 'packages'])
export type FileArea = v.InferOutput<typeof FileArea>

const StoredFile = v.object({
  area: FileArea,
  /** Id of the repository; of the account for a package file. */
  ownerId: id,
  name: v.string(),
  size: bytes,
  /** In hex. */
  sha256: v.string(),
  /** `arriving` until the record that it belongs to is written; `leaving` from the removal of that record on. */
  state: v.picklist(['arriving', 'kept', 'leaving']),
  since: seconds,
})
export type StoredFile = v.InferOutput<typeof StoredFile>

/** Files on disk besides git data (lib/repositories/stored-files.ts). */
export const files = new Collection({
  name: 'file',
  schema: StoredFile,
  id: (file) => [file.area, file.ownerId, file.name],
  unique: {
    // LFS objects are deduplicated per repository, by hash.
    content: (file) =>
      file.area === 'lfs' && file.state === 'kept' ? [file.ownerId, file.sha256] : undefined,
  },
  ordered: {
    owner: (file) => (file.state === 'kept' ? [file.area, file.ownerId] : undefined),
    unsettled: (file) => (file.state === 'kept' ? undefined : []),
  },
})

const PackageVersion = v.object({
  id,
  owner: id,
  type: v.picklist(['generic']),
  name: v.string(),
  version: v.string(),
  creator: id,
  /** Bytes of all files of the version. */
  size: bytes,
  files: count,
  createdAt: seconds,
})
export type PackageVersion = v.InferOutput<typeof PackageVersion>

export const packageVersions = new Collection({
  name: 'packageVersion',
  schema: PackageVersion,
  id: (version) => [version.id],
  unique: {
    path: ({ owner, type, name, version }) => [owner, type, name.toLowerCase(), version.toLowerCase()],
  },
  ordered: { created: (version) => [version.owner, version.createdAt] },
  counted: { owner: (version) => [version.owner] },
})

const PackageFile = v.object({
  id,
  version: id,
  owner: id,
  name: v.string(),
  /** Name of the file on disk. */
  stored: v.string(),
  size: bytes,
  md5: v.string(),
  sha1: v.string(),
  sha256: v.string(),
  sha512: v.string(),
  createdAt: seconds,
})
export type PackageFile = v.InferOutput<typeof PackageFile>

export const packageFiles = new Collection({
  name: 'packageFile',
  schema: PackageFile,
  id: (file) => [file.id],
  unique: { name: (file) => [file.version, file.name.toLowerCase()] },
  ordered: { version: (file) => [file.version, file.name.toLowerCase()] },
})
