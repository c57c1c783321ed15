import * as v from 'valibot'
import { Collection } from '../collection.ts'
import { bytes, count, id, integer, seconds, storedName } from '../fields.ts'

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
})
export type StoredFile = v.InferOutput<typeof StoredFile>

/** Files on disk besides git data (lib/repositories/stored-files.ts). */
export const files = new Collection({
  name: 'file',
  schema: StoredFile,
  id: (file) => [file.area, file.ownerId, file.name],
  unique: {
    // LFS objects are deduplicated per repository, by hash.
    content: (file) => (file.area === 'lfs' ? [file.ownerId, file.sha256] : undefined),
  },
  ordered: { owner: (file) => [file.area, file.ownerId] },
  belongsTo: [
    { to: 'repository', by: 'owner', within: ['lfs'] },
    { to: 'repository', by: 'owner', within: ['attachments'] },
  ],
})

const BegunFolder = v.object({
  what: v.literal('folder'),
  /** Id of the repository. */
  repository: id,
  since: seconds,
  /** True once it is to be deleted, and no record may be saved for it. */
  leaving: v.optional(v.boolean()),
})

const BegunFile = v.object({
  what: v.literal('file'),
  area: FileArea,
  ownerId: id,
  name: storedName,
  since: seconds,
  /** As of a folder. */
  leaving: v.optional(v.boolean()),
})

const BegunPush = v.object({
  what: v.literal('push'),
  id,
  repository: id,
  /** Process id of the git command that changes the repository; null when none does, or not any more. */
  pid: v.nullable(integer),
  since: seconds,
  /**
   * The references that the push is to change, and the pusher; absent when no webhook or listener could get
   * the push.
   */
  push: v.optional(
    v.object({
      by: id,
      updates: v.array(
        v.object({ ref: v.string(), before: v.nullable(v.string()), after: v.nullable(v.string()) }),
      ),
    }),
  ),
})

const DiskEntry = v.variant('what', [BegunFolder, BegunFile, BegunPush])
export type BegunPush = v.InferOutput<typeof BegunPush>
export type DiskEntry = v.InferOutput<typeof DiskEntry>

/** Folders and files without a record, and pushes that are not counted (lib/repositories/disk-journal.ts). */
export const diskEntries = new Collection({
  name: 'diskEntry',
  schema: DiskEntry,
  id: (entry) => {
    if (entry.what === 'push') return [entry.what, entry.id]
    return entry.what === 'folder'
      ? [entry.what, entry.repository]
      : [entry.what, entry.area, entry.ownerId, entry.name]
  },
  numbers: { sequence: 'push', of: (entry) => (entry.what === 'push' ? [entry.id] : []) },
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
