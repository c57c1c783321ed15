import * as v from 'valibot'
import { hasAccount } from '../accounts/integrity.ts'
import type { FilePlace, FileStorage } from '../files/index.ts'
import {
  amounts,
  check,
  type Find,
  type IntegrityChecks,
  type Lookup,
  lookup,
  pendingJob,
  type Recount,
  type Report,
  readIfValid,
  repairMembers,
} from '../integrity/index.ts'
import { decodeValue } from '../records/layout.ts'
import {
  attachments,
  comments,
  files,
  issueSequences,
  issues,
  jobs,
  ledgerEntries,
  packageFiles,
  packageVersions,
  releases,
  type StoredFile,
} from '../records/schema/index.ts'
import { hasRepository } from '../repositories/integrity.ts'
import { RESERVED_PREFIX } from '../repositories/named-quota.ts'
import type { StorageDriver } from '../storage/index.ts'
import { attachmentIdIn } from './attachments.ts'
import { lfsKey } from './lfs.ts'

const issue = lookup(issues)
const lastNumber = lookup(issueSequences, ({ last }) => last)
const attachmentTarget = { issue, comment: lookup(comments), release: lookup(releases) }
const version = lookup(packageVersions)
const pending = {
  owner: pendingJob('removeAccountData'),
  contents: pendingJob('removeRepositoryContents'),
  comments: pendingJob('removeComments'),
  files: pendingJob('removeRepositoryFiles'),
  package: pendingJob('removePackageFiles'),
}

/** Reports what belongs to a repository that does not exist, unless a job is removing it. */
const requireRepository = (find: Find, id: number, job: Lookup, thing: string, report: Report): void => {
  if (!hasRepository(find, id) && find(job, id) === undefined)
    report(`${thing} of repository ${id}, which does not exist`)
}

const contentChecks = [
  check(issues, ({ id, repository, number }, find, report) => {
    requireRepository(find, repository, pending.contents, `issue ${id} is`, report)
    const last = find(lastNumber, repository) ?? 0
    if (hasRepository(find, repository) && last < number)
      report(
        `issue ${id} has the number ${number}, but the last number of repository ${repository} is ${last}`,
      )
  }),
  check(issueSequences, ({ repository }, find, report) =>
    requireRepository(find, repository, pending.contents, 'there are issue numbers', report),
  ),
  check(releases, ({ id, repository }, find, report) =>
    requireRepository(find, repository, pending.contents, `release ${id} is`, report),
  ),
  check(comments, ({ id, issue: issueId }, find, report) => {
    if (find(issue, issueId) === undefined && find(pending.comments, issueId) === undefined)
      report(`comment ${id} is on issue ${issueId}, which does not exist`)
  }),
  check(attachments, ({ id, repository, on, targetId }, find, report) => {
    if (hasRepository(find, repository) && find(attachmentTarget[on], targetId) === undefined)
      report(`attachment ${id} is on the ${on} ${targetId}, which does not exist`)
  }),
]

const fileChecks = [
  check(files, ({ area, ownerId, name, state }, find, report) => {
    if (area !== 'packages' && state === 'kept')
      requireRepository(find, ownerId, pending.files, `the file ${area} ${name} is`, report)
  }),
  check(packageFiles, ({ id, version: versionId }, find, report) => {
    if (find(version, versionId) === undefined && find(pending.package, versionId) === undefined)
      report(`package file ${id} is of package version ${versionId}, which does not exist`)
  }),
  check(packageVersions, ({ id, owner }, find, report) => {
    if (!hasAccount(find, owner) && find(pending.owner, owner) === undefined)
      report(`package version ${id} belongs to account ${owner}, which does not exist`)
  }),
]

const jobChecks = check(jobs, ({ kind, id }, find, report) => {
  if (kind === 'removeRepositoryContents' && hasRepository(find, id))
    report(`a job removes the issues and releases of repository ${id}, which still exists`)
  if (kind === 'removeComments' && find(issue, id) !== undefined)
    report(`a job removes the comments of issue ${id}, which still exists`)
  if (kind === 'removeRepositoryFiles' && hasRepository(find, id))
    report(`a job removes the files of repository ${id}, which still exists`)
  if (kind === 'removePackageFiles' && find(version, id) !== undefined)
    report(`a job removes the files of package version ${id}, which still exists`)
})

/** Attachments of a removed repository go in steps: the records, what counts them, and the files. */
const attachmentsInLedger: Recount = {
  name: 'ledger size of attachment',
  matchesKeys: true,
  expected: [
    amounts(attachments, ({ id, repository, size }, add, find) => {
      if (hasRepository(find, repository)) add([id], size)
    }),
  ],
  actual: [
    amounts(ledgerEntries, ({ kind, key, repository, size }, add, find) => {
      if (kind !== 'attachments' || repository === null || !hasRepository(find, repository)) return
      const id = attachmentIdIn(key)
      if (id !== undefined) add([id], size)
    }),
  ],
}

const attachmentFiles: Recount = {
  name: 'file size of attachment',
  matchesKeys: true,
  expected: [
    amounts(attachments, ({ repository, uuid, size }, add, find) => {
      if (hasRepository(find, repository)) add([repository, uuid], size)
    }),
  ],
  actual: [
    amounts(files, ({ area, state, ownerId, name, size }, add, find) => {
      if (area === 'attachments' && state === 'kept' && hasRepository(find, ownerId))
        add([ownerId, name], size)
    }),
  ],
}

const lfsInLedger: Recount = {
  name: 'ledger size of LFS object',
  matchesKeys: true,
  expected: [
    amounts(files, ({ area, state, ownerId, sha256, size }, add, find) => {
      if (area === 'lfs' && state === 'kept' && hasRepository(find, ownerId)) add([ownerId, sha256], size)
    }),
  ],
  actual: [
    amounts(ledgerEntries, ({ kind, key, repository, name, size }, add, find) => {
      if (kind === 'lfs' && key.startsWith(RESERVED_PREFIX) && hasRepository(find, repository!))
        add([repository!, name], size)
    }),
  ],
}

const packagesInLedger: Recount = {
  name: 'ledger size of package version',
  matchesKeys: true,
  expected: [amounts(packageVersions, ({ id, size }, add) => add([id], size))],
  actual: [
    amounts(ledgerEntries, ({ kind, key, owner, size }, add, find) => {
      if (kind === 'packages' && key.startsWith(RESERVED_PREFIX) && hasAccount(find, owner!))
        add([Number(key.slice(RESERVED_PREFIX.length))], size)
    }),
  ],
}

const packageFileSizes: Recount = {
  name: 'file size of package file',
  matchesKeys: true,
  expected: [amounts(packageFiles, ({ owner, stored, size }, add) => add([owner, stored], size))],
  actual: [
    amounts(files, ({ area, state, ownerId, name, size }, add) => {
      if (area === 'packages' && state === 'kept') add([ownerId, name], size)
    }),
  ],
}

const versionTotal = (member: 'size' | 'files'): Recount => ({
  name: `${member} of package version`,
  expected: [
    amounts(packageFiles, (file, add, find) => {
      if (find(version, file.version) !== undefined) add([file.version], member === 'size' ? file.size : 1)
    }),
  ],
  actual: [amounts(packageVersions, (record, add) => add([record.id], record[member]))],
  repair: (tx, id, amount) => repairMembers(tx, packageVersions, id, { [member]: amount }),
})

/** What issues, releases, packages, LFS objects and attachments need of each other, of the ledger and of files. */
export const contentIntegrity: IntegrityChecks = {
  lookups: [lastNumber, version, ...Object.values(attachmentTarget), ...Object.values(pending)],
  recounts: [
    attachmentsInLedger,
    attachmentFiles,
    lfsInLedger,
    packagesInLedger,
    packageFileSizes,
    versionTotal('size'),
    versionTotal('files'),
  ],
  checks: [...contentChecks, ...fileChecks, jobChecks],
}

/** A file that is not as its record says, or has none. */
export interface FileFault {
  readonly message: string
  /** To be run while nobody else is at work; answers false when only a person, or a backup, can mend it. */
  repair(): Promise<boolean>
}

/**
 * Holds every record against its file, and every file against its record. Others may add and remove files meanwhile: what
 * seems wrong is looked at again.
 */
export const checkFiles = async (
  driver: StorageDriver,
  disk: FileStorage,
  found: (fault: FileFault) => void,
): Promise<void> => {
  const resumeDeletions = disk.holdDeletions()
  try {
    await driver.read(async (tx) => {
      for await (const json of files.allJson(tx)) {
        const file = validFileIn(json)
        if (file?.state !== 'kept') continue
        const size = await disk.size(file)
        if (size !== file.size && (await recordOf(driver, file))?.state === 'kept')
          found(missing(driver, disk, file, size))
      }
    })
    for await (const place of disk.all())
      if ((await recordOf(driver, place)) === undefined && (await disk.size(place)) !== undefined)
        found(stray(disk, place))
  } finally {
    await resumeDeletions()
  }
}

const idOf = ({ area, ownerId, name }: FilePlace): [string, number, string] => [area, ownerId, name]

const describePlace = ({ area, ownerId, name }: FilePlace): string => `the file ${area}/${ownerId}/${name}`

/** Undefined for a broken record, which the integrity check reports. */
const validFileIn = (json: Uint8Array): StoredFile | undefined => {
  try {
    const result = v.safeParse(files.options.schema, decodeValue(json))
    return result.success ? result.output : undefined
  } catch {
    return undefined
  }
}

const recordOf = async (driver: StorageDriver, place: FilePlace): Promise<{ state?: string } | undefined> => {
  const record = await driver.read((tx) => readIfValid(tx, files, idOf(place)))
  return record === 'broken' ? {} : record
}

const stray = (disk: FileStorage, place: FilePlace): FileFault => ({
  message: `${describePlace(place)} is on the disk and belongs to nothing`,
  async repair() {
    await disk.remove(place)
    return true
  },
})

/** An LFS object that is lost is forgotten, so that the next push that has it brings it again. */
const missing = (
  driver: StorageDriver,
  disk: FileStorage,
  file: StoredFile,
  size: number | undefined,
): FileFault => ({
  message: `${describePlace(file)} must have ${file.size} bytes, and ${size === undefined ? 'is not on the disk' : `has ${size}`}`,
  async repair() {
    if (file.area !== 'lfs') return false
    await driver.write(async (tx) => {
      await files.remove(tx, idOf(file))
      await ledgerEntries.remove(tx, ['lfs', lfsKey(file.ownerId, file.sha256)])
    })
    await disk.remove(file)
    return true
  },
})
