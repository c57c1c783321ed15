import * as v from 'valibot'
import type { FilePlace, FileStorage } from '../files/index.ts'
import {
  amounts,
  check,
  exists,
  type IntegrityChecks,
  lookup,
  type Recount,
  readIfValid,
  repairMembers,
} from '../integrity/index.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import { decodeValue } from '../records/layout.ts'
import {
  type Attachment,
  attachments,
  comments,
  type FileArea,
  files,
  issueSequences,
  issues,
  type LedgerKind,
  type LedgerRecord,
  ledgerEntries,
  packageFiles,
  packageVersions,
  RESERVED_PREFIX,
  releases,
  type StoredFile,
} from '../records/schema/index.ts'
import type { StorageDriver } from '../storage/index.ts'
import { attachmentIdIn } from './attachment-records.ts'
import { lfsKey } from './lfs.ts'

/** The repositories of the issues that exist. */
const issueRepository = lookup(issues, ({ repository }) => repository)
const lastNumber = lookup(issueSequences, ({ last }) => last)
const attachmentTarget = { issue: issueRepository, comment: lookup(comments), release: lookup(releases) }

const contentChecks = [
  check(issues, ({ id, repository, number }, find, report) => {
    const last = find(lastNumber, repository) ?? 0
    if (exists(find, 'repository', repository) && last < number)
      report(
        `issue ${id} has the number ${number}, but the last number of repository ${repository} is ${last}`,
      )
  }),
  check(comments, ({ id, issue, repository }, find, report) => {
    const found = find(issueRepository, issue)
    if (found !== undefined && found !== repository)
      report(`comment ${id} names repository ${repository}, but its issue is in repository ${found}`)
  }),
  check(attachments, ({ id, repository, on, targetId }, find, report) => {
    if (exists(find, 'repository', repository) && find(attachmentTarget[on], targetId) === undefined)
      report(`attachment ${id} is on the ${on} ${targetId}, which does not exist`)
  }),
]

/** Sizes that two collections must agree on, record by record. */
const sizesOf = (name: string, expected: Amounts, actual: Amounts): Recount => ({
  name,
  matchesKeys: true,
  expected: [expected],
  actual: [actual],
})
type Amounts = Recount['expected'][number]

/** Sizes of the stored files of an area; jobs remove those of deleted repositories. */
const storedFiles = (area: FileArea, keyOf: (file: StoredFile) => KeyTuple): Amounts =>
  amounts(files, (file, add, find) => {
    if (file.area !== area || file.state !== 'kept') return
    if (area === 'packages' || exists(find, 'repository', file.ownerId)) add(keyOf(file), file.size)
  })

/**
 * Sizes of the ledger entries that the server itself keeps.
 * @param keyOf undefined for entries of the host
 */
const keptEntries = (kind: LedgerKind, keyOf: (entry: LedgerRecord) => KeyTuple | undefined): Amounts =>
  amounts(ledgerEntries, (entry, add, find) => {
    const { repository, size } = entry
    if (entry.kind !== kind || !entry.key.startsWith(RESERVED_PREFIX)) return
    const key = keyOf(entry)
    const isThere =
      kind === 'packages'
        ? exists(find, 'account', entry.partitionOwner ?? 0)
        : exists(find, 'repository', repository ?? 0)
    if (key !== undefined && isThere) add(key, size)
  })

/** Attachments of existing repositories; jobs remove those of deleted ones. */
const sizesOfAttachments = (keyOf: (attachment: Attachment) => KeyTuple): Amounts =>
  amounts(attachments, (attachment, add, find) => {
    if (exists(find, 'repository', attachment.repository)) add(keyOf(attachment), attachment.size)
  })

const sizes = [
  sizesOf(
    'ledger size of attachment',
    sizesOfAttachments(({ id }) => [id]),
    keptEntries('attachments', ({ key }) => {
      const id = attachmentIdIn(key)
      return id === undefined ? undefined : [id]
    }),
  ),
  sizesOf(
    'file size of attachment',
    sizesOfAttachments(({ repository, uuid }) => [repository, uuid]),
    storedFiles('attachments', ({ ownerId, name }) => [ownerId, name]),
  ),
  sizesOf(
    'ledger size of LFS object',
    storedFiles('lfs', ({ ownerId, sha256 }) => [ownerId, sha256]),
    keptEntries('lfs', ({ repository, name }) => [repository!, name]),
  ),
  sizesOf(
    'ledger size of package version',
    amounts(packageVersions, ({ id, size }, add) => add([id], size)),
    keptEntries('packages', ({ key }) => [Number(key.slice(RESERVED_PREFIX.length))]),
  ),
  sizesOf(
    'file size of package file',
    amounts(packageFiles, ({ owner, stored, size }, add) => add([owner, stored], size)),
    storedFiles('packages', ({ ownerId, name }) => [ownerId, name]),
  ),
]

const versionTotal = (member: 'size' | 'files'): Recount => ({
  name: `${member} of package version`,
  expected: [
    amounts(packageFiles, (file, add, find) => {
      if (exists(find, 'packageVersion', file.version)) add([file.version], member === 'size' ? file.size : 1)
    }),
  ],
  actual: [amounts(packageVersions, (record, add) => add([record.id], record[member]))],
  repair: (tx, id, amount) => repairMembers(tx, packageVersions, id, { [member]: amount }),
})

/**
 * Checks of issues, releases, packages, LFS objects and attachments against each other, the ledger and files.
 */
export const contentIntegrity: IntegrityChecks = {
  recounts: [...sizes, versionTotal('size'), versionTotal('files')],
  checks: contentChecks,
}

/** A file that differs from its record, or has no record. */
export interface FileFault {
  readonly message: string
  /**
   * Nothing else may write meanwhile.
   * @returns false when only a backup can repair the file
   */
  repair(): Promise<boolean>
}

/**
 * Compares every record with its file, and every file with its record. Others may add and remove files
 * meanwhile, so what differs is read again.
 */
export const checkFiles = async (
  driver: StorageDriver,
  disk: FileStorage,
  onFault: (fault: FileFault) => void,
): Promise<void> => {
  const resumeDeletions = disk.holdDeletions()
  try {
    await driver.read(async (tx) => {
      for await (const json of files.allJson(tx)) {
        const file = validFileIn(json)
        if (file?.state !== 'kept') continue
        const size = await disk.size(file)
        if (size !== file.size && (await recordOf(driver, file))?.state === 'kept')
          onFault(wrongFile(driver, disk, file, size))
      }
    })
    for await (const place of disk.all())
      if ((await recordOf(driver, place)) === undefined && (await disk.size(place)) !== undefined)
        onFault(strayFile(disk, place))
  } finally {
    await resumeDeletions()
  }
}

const describePlace = ({ area, ownerId, name }: FilePlace): string => `the file ${area}/${ownerId}/${name}`

/** Undefined for a broken record, which the integrity check reports. */
const validFileIn = (json: Uint8Array): StoredFile | undefined => {
  try {
    return v.parse(files.options.schema, decodeValue(json))
  } catch {
    return undefined
  }
}

const recordOf = async (
  driver: StorageDriver,
  { area, ownerId, name }: FilePlace,
): Promise<{ state?: string } | undefined> => {
  const record = await driver.read((tx) => readIfValid(tx, files, [area, ownerId, name]))
  return record === 'broken' ? {} : record
}

const strayFile = (disk: FileStorage, place: FilePlace): FileFault => ({
  message: `${describePlace(place)} is on the disk and belongs to nothing`,
  async repair() {
    await disk.remove(place)
    return true
  },
})

/**
 * Repaired by removing the records of an LFS object: the next push that contains the object stores it again.
 * The usage of its owner, which the removal does not change, is counted again afterwards by `repair`
 * (lib/verify.ts).
 */
const wrongFile = (
  driver: StorageDriver,
  disk: FileStorage,
  file: StoredFile,
  size: number | undefined,
): FileFault => ({
  message: `${describePlace(file)} must have ${file.size} bytes, and ${size === undefined ? 'is not on the disk' : `has ${size}`}`,
  async repair() {
    if (file.area !== 'lfs') return false
    await driver.write(async (tx) => {
      await files.remove(tx, files.options.id(file))
      await ledgerEntries.remove(tx, ['lfs', lfsKey(file.ownerId, file.sha256)])
    })
    await disk.remove(file)
    return true
  },
})
