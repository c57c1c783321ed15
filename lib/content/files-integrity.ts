import { amountSource, check, type IntegrityChecks, lookup, type Recount } from '../integrity/checks.ts'
import { repairMembers } from '../integrity/repair-record.ts'
import {
  accounts,
  files,
  type Job,
  jobs,
  ledgerEntries,
  packageFiles,
  packageVersions,
  repositories,
} from '../records/schema/index.ts'
import { RESERVED_PREFIX } from '../repositories/named-ledger.ts'

const account = lookup(accounts, () => 1)
const repository = lookup(repositories, () => 1)
const version = lookup(packageVersions, () => 1)
const underWay = (kind: Job['kind']) =>
  lookup(
    jobs,
    () => 1,
    (job) => (job.kind === kind ? job.id : undefined),
  )
const sweptFiles = underWay('files')
const sweptPackage = underWay('package')
const sweptOwner = underWay('owner')

/** One more than its size, so that an empty file is not taken for none. */
const once = (size: number): number => size + 1

/** What does not follow from anything else is for a person to look at. */
const unmendable = async (): Promise<boolean> => false

const lfsCounted: Recount = {
  name: 'a byte more than what counts for the LFS object',
  counted: [
    amountSource(files, ({ area, keeper, sha256, size, state }, known) =>
      area === 'lfs' && state === 'kept' && known(repository, keeper) !== undefined
        ? [[[keeper, sha256], once(size)]]
        : [],
    ),
  ],
  stored: [
    amountSource(ledgerEntries, ({ kind, key, container, name, size }, known) =>
      kind === 'lfs' && key.startsWith(RESERVED_PREFIX) && known(repository, container!) !== undefined
        ? [[[container!, name], once(size)]]
        : [],
    ),
  ],
  repair: unmendable,
}

const packagesKept: Recount = {
  name: 'a byte more than the file of the package file',
  counted: [amountSource(packageFiles, ({ owner, stored, size }) => [[[owner, stored], once(size)]])],
  stored: [
    amountSource(files, ({ area, keeper, name, size, state }) =>
      area === 'packages' && state === 'kept' ? [[[keeper, name], once(size)]] : [],
    ),
  ],
  repair: unmendable,
}

const versionTotal = (member: 'size' | 'files'): Recount => ({
  name: `${member} of package version`,
  counted: [
    amountSource(packageFiles, (file, known) =>
      known(version, file.version) === undefined ? [] : [[[file.version], member === 'size' ? file.size : 1]],
    ),
  ],
  stored: [amountSource(packageVersions, (one) => [[[one.id], one[member]]])],
  repair: (tx, id, amount) => repairMembers(tx, packageVersions, id, { [member]: amount }),
})

const packagesCounted: Recount = {
  name: 'a byte more than what counts for the package version',
  counted: [amountSource(packageVersions, (one) => [[[one.id], once(one.size)]])],
  stored: [
    amountSource(ledgerEntries, ({ kind, key, owner, size }, known) =>
      kind === 'packages' && key.startsWith(RESERVED_PREFIX) && known(account, owner!) !== undefined
        ? [[[Number(key.slice(RESERVED_PREFIX.length))], once(size)]]
        : [],
    ),
  ],
  repair: unmendable,
}

/** What files need of what they belong to, and the other way round, for `verify`. */
export const filesIntegrity: IntegrityChecks = {
  derived: [],
  lookups: [account, repository, version, sweptFiles, sweptPackage, sweptOwner],
  recounts: [lfsCounted, packagesKept, versionTotal('size'), versionTotal('files'), packagesCounted],
  checks: [
    check(files, ({ area, keeper, name, state }, known) =>
      area === 'packages' ||
      state !== 'kept' ||
      known(repository, keeper) !== undefined ||
      known(sweptFiles, keeper) !== undefined
        ? []
        : [
            {
              message: `the file ${area} ${name} is of repository ${keeper}, and there is no such repository`,
            },
          ],
    ),
    check(packageFiles, ({ id, version: of }, known) =>
      known(version, of) !== undefined || known(sweptPackage, of) !== undefined
        ? []
        : [{ message: `the package file ${id} is of version ${of}, and there is no such version` }],
    ),
    check(packageVersions, ({ id, owner }, known) =>
      known(account, owner) !== undefined || known(sweptOwner, owner) !== undefined
        ? []
        : [{ message: `the package version ${id} is of account ${owner}, and there is no such account` }],
    ),
    check(jobs, ({ kind, id }, known) =>
      (kind === 'files' && known(repository, id) !== undefined) ||
      (kind === 'package' && known(version, id) !== undefined)
        ? [
            {
              message: `the files of ${kind === 'files' ? 'repository' : 'version'} ${id} are to be removed, and it is still there`,
            },
          ]
        : [],
    ),
  ],
}
