import * as v from 'valibot'
import { Collection } from '../collection.ts'
import { bytes, count, id, seconds, storedName } from '../fields.ts'

/**
 * The areas of stored files. spec/removal/every-collection.spec.ts holds that files of every area are
 * deleted.
 */
export const FileArea = v.picklist(['lfs', 'attachments', 'packages'])
export type FileArea = v.InferOutput<typeof FileArea>

const StoredFile = v.object({
  area: FileArea,
  /** Id of the repository; of the account for a package file. */
  ownerId: id,
  name: storedName,
  size: bytes,
  /** SHA-256 of the content, in hex. */
  sha256: v.string(),
  /**
   * `arriving` until the record that it belongs to is written; `leaving` from the removal of that record on.
   */
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
  belongsTo: [
    { to: 'repository', by: 'owner', within: ['lfs'] },
    { to: 'repository', by: 'owner', within: ['attachments'] },
  ],
})

/** The types of packages. For another one see "Add a package type" in docs/additions.md. */
export const PACKAGE_TYPES = ['generic'] as const
export type PackageType = (typeof PACKAGE_TYPES)[number]

const PackageVersion = v.object({
  /** Identifies the version. */
  id,
  /** Id of the user or the organization. */
  owner: id,
  /** Type of the package. */
  type: v.picklist(PACKAGE_TYPES),
  /** Name of the package. */
  name: v.string(),
  /** Name of the version. */
  version: v.string(),
  /** Id of the user who added the first file, whose account may have been deleted since. */
  creator: id,
  /** Bytes of all files of the version. */
  size: bytes,
  /** Number of files. */
  files: count,
  /** When it was created, in seconds since 1970. */
  createdAt: seconds,
})
/** A version of a package, with the sum of its files. */
export type PackageVersion = v.InferOutput<typeof PackageVersion>

export const packageVersions = new Collection({
  name: 'packageVersion',
  schema: PackageVersion,
  id: (version) => [version.id],
  numbers: { sequence: 'packageVersion' },
  unique: {
    path: ({ owner, type, name, version }) => [owner, type, name.toLowerCase(), version.toLowerCase()],
  },
  ordered: { created: (version) => [version.owner, version.createdAt] },
  counted: { owner: (version) => [version.owner] },
  belongsTo: [{ to: 'account', by: 'created' }],
})

const PackageFile = v.object({
  /** Identifies the file. */
  id,
  /** Id of the version. */
  version: id,
  /** Id of the user or the organization. */
  owner: id,
  /** Name of the file. */
  name: v.string(),
  /** Name of the file on disk. */
  stored: storedName,
  /** Bytes. */
  size: bytes,
  /** Digest of the content, in hex. */
  md5: v.string(),
  /** Digest of the content, in hex. */
  sha1: v.string(),
  /** Digest of the content, in hex. */
  sha256: v.string(),
  /** Digest of the content, in hex. */
  sha512: v.string(),
  /** When it was created, in seconds since 1970. */
  createdAt: seconds,
})
/** A file of a version of a package. */
export type PackageFile = v.InferOutput<typeof PackageFile>

export const packageFiles = new Collection({
  name: 'packageFile',
  schema: PackageFile,
  id: (file) => [file.id],
  numbers: { sequence: 'packageFile' },
  unique: { name: (file) => [file.version, file.name.toLowerCase()] },
  ordered: { version: (file) => [file.version, file.name.toLowerCase()] },
  belongsTo: [{ to: 'packageVersion', by: 'version' }],
})

const LfsCopy = v.object({ id, source: id })

/**
 * Repositories that do not have all LFS objects of the one that they were made from yet (lib/content/lfs.ts).
 */
export const lfsCopies = new Collection({ name: 'lfsCopy', schema: LfsCopy, id: (copy) => [copy.id] })
