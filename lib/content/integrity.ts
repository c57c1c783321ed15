import type { FilePlace, FileStorage } from '../files/index.ts'
import {
  type Check,
  check,
  exists,
  type Recount,
  readIfValid,
  repairMembers,
  validIn,
} from '../integrity/index.ts'
import {
  attachments,
  comments,
  diskEntries,
  files,
  issueSequences,
  issues,
  ledgerEntries,
  packageFiles,
  packageVersions,
  RESERVED_PREFIX,
  repositories,
  type StoredFile,
} from '../records/schema/index.ts'
import type { StorageDriver } from '../storage/index.ts'
import { attachmentIdIn } from './attachment-records.ts'
import { lfsKey } from './lfs.ts'

/** Sizes that two collections must agree on, record by record. */
const sizesOf = (name: string): Recount => ({ name, matchesKeys: true })
const attachmentEntry = sizesOf('ledger size of attachment')
const attachmentFile = sizesOf('file size of attachment')
const lfsEntry = sizesOf('ledger size of LFS object')
const versionEntry = sizesOf('ledger size of package version')
const packageFile = sizesOf('file size of package file')

const totalOfVersion = (member: 'size' | 'files'): Recount => ({
  name: `${member} of package version`,
  repair: (tx, id, amount) => repairMembers(tx, packageVersions, id, { [member]: amount }),
})
const versionSize = totalOfVersion('size')
const versionFiles = totalOfVersion('files')

/** The ledger entries that the server itself keeps. */
const keptEntries = check(ledgerEntries, async (entry, store) => {
  const { kind, key, repository, owner, name, size } = entry
  if (!key.startsWith(RESERVED_PREFIX)) return
  if (kind === 'packages') {
    if (await exists(store, 'account', owner ?? 0))
      store.note(versionEntry, [Number(key.slice(RESERVED_PREFIX.length))], size)
    return
  }
  if (!(await exists(store, 'repository', repository ?? 0))) return
  const attachment = kind === 'attachments' ? attachmentIdIn(key) : undefined
  if (attachment !== undefined) store.note(attachmentEntry, [attachment], size)
  if (kind === 'lfs') store.note(lfsEntry, [repository!, name], size)
})

/** Files that are stored; jobs remove those of deleted repositories. */
const storedFiles = check(files, async ({ area, ownerId, name, sha256, size }, store) => {
  if (area === 'packages') return store.note(packageFile, [ownerId, name], size)
  if (!(await exists(store, 'repository', ownerId))) return
  if (area === 'attachments') store.note(attachmentFile, [ownerId, name], size)
  else store.expect(lfsEntry, [ownerId, sha256], size)
})

/**
 * Checks of issues, releases, packages, LFS objects and attachments against each other, the ledger and files.
 */
export const contentChecks: readonly Check[] = [
  keptEntries,
  storedFiles,
  check(diskEntries, async (entry, store) => {
    if (entry.what === 'push') return
    const id = diskEntries.options.id(entry)
    if (await store.has(entry.what === 'folder' ? repositories : files, id.slice(1)))
      store.report(
        `the ${id.join(' ')} has a record, and is in the journal of the disk too`,
        async (tx) => (await diskEntries.remove(tx, id)) !== undefined,
      )
  }),
  check(issues, async ({ id, repository, number }, store) => {
    const last = (await store.load(issueSequences, [repository]))?.last ?? 0
    if (last < number && (await exists(store, 'repository', repository)))
      store.report(
        `issue ${id} has the number ${number}, but the last number of repository ${repository} is ${last}`,
      )
  }),
  check(comments, async ({ id, issue, repository }, store) => {
    const found = (await store.load(issues, [issue]))?.repository ?? repository
    if (found !== repository)
      store.report(`comment ${id} names repository ${repository}, but its issue is in repository ${found}`)
  }),
  check(attachments, async ({ id, uuid, size, repository }, store) => {
    // A job removes the attachments of a deleted repository.
    if (!(await exists(store, 'repository', repository))) return
    store.expect(attachmentEntry, [id], size)
    store.expect(attachmentFile, [repository, uuid], size)
  }),
  check(packageFiles, async ({ owner, stored, size, version }, store) => {
    store.expect(packageFile, [owner, stored], size)
    if (!(await exists(store, 'packageVersion', version))) return
    store.expect(versionSize, [version], size)
    store.expect(versionFiles, [version], 1)
  }),
  check(packageVersions, async (version, store) => {
    // A job removes the versions of a deleted account.
    if (await exists(store, 'account', version.owner)) store.expect(versionEntry, [version.id], version.size)
    store.note(versionSize, [version.id], version.size)
    store.note(versionFiles, [version.id], version.files)
  }),
]

/** A file that differs from its record, or has no record. */
export interface FileFault {
  readonly message: string
  /**
   * Keeps a file that another process has stored since the check, as a repair with `--force` may meet.
   * @returns false when nothing was changed, such as when only a backup can repair the file
   */
  repair(): Promise<boolean>
}

/**
 * Compares every record with its file, and every file with its record. Others may add and remove files
 * meanwhile, so what differs is read again.
 * @returns how many files have records, and how many of these are on the disk
 */
export const checkFiles = async (
  driver: StorageDriver,
  disk: FileStorage,
  onFault: (fault: FileFault) => void,
): Promise<{ recorded: number; present: number }> => {
  const count = { recorded: 0, present: 0 }
  const recordOf = ({ area, ownerId, name }: FilePlace) =>
    driver.read((tx) => readIfValid(tx, files, [area, ownerId, name]))
  const describe = ({ area, ownerId, name }: FilePlace) => `the file ${area}/${ownerId}/${name}`
  const checkRecord = async (file: StoredFile) => {
    const size = await disk.size(file)
    count.recorded++
    if (size !== undefined) count.present++
    if (size === file.size) return
    const now = await recordOf(file)
    if (now === undefined || now === 'broken') return
    const state = size === undefined ? 'is not on the disk' : `has ${size}`
    onFault({
      message: `${describe(file)} must have ${file.size} bytes, and ${state}`,
      repair: () => removeLfsObject(driver, disk, file),
    })
  }
  const resumeDeletions = disk.holdDeletions()
  try {
    await driver.read(async (tx) => {
      for await (const json of files.allJson(tx)) {
        // The integrity check reports a broken record.
        const file = validIn(files.options.schema, json)
        if (file !== undefined) await checkRecord(file)
      }
    })
    for await (const place of disk.all())
      if (!(await isExpected(driver, place)) && (await disk.size(place)) !== undefined)
        onFault({
          message: `${describe(place)} is on the disk and belongs to nothing`,
          repair: async () => {
            if (await isExpected(driver, place)) return false
            await disk.remove(place)
            return true
          },
        })
  } finally {
    await resumeDeletions()
  }
  return count
}

/** Whether a file has a record, broken or not, or arrives or leaves. */
const isExpected = (driver: StorageDriver, { area, ownerId, name }: FilePlace): Promise<boolean> =>
  driver.read(async (tx) => {
    const found = await readIfValid(tx, files, [area, ownerId, name])
    return (found ?? (await diskEntries.get(tx, ['file', area, ownerId, name]))) !== undefined
  })

/**
 * Removes the records of an LFS object: the next push that contains the object stores it again. The usage of
 * its owner, which the removal does not change, is counted again afterwards by `repair` (lib/verify.ts).
 * @returns false for another file, and for one that is complete by now
 */
const removeLfsObject = async (
  driver: StorageDriver,
  disk: FileStorage,
  file: StoredFile,
): Promise<boolean> => {
  if (file.area !== 'lfs' || (await disk.size(file)) === file.size) return false
  await driver.write(async (tx) => {
    await files.remove(tx, files.options.id(file))
    await ledgerEntries.remove(tx, ['lfs', lfsKey(file.ownerId, file.sha256)])
  })
  await disk.remove(file)
  return true
}
