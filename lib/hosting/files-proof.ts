import { amend } from '../records/proof/amend.ts'
import { claim, fact, look, type Proof, type Recount } from '../records/proof/declare.ts'
import {
  accounts,
  type Errand,
  errands,
  files,
  ledgerEntries,
  packageFiles,
  packageVersions,
  repositories,
} from '../records/schema.ts'
import { OWN } from './ledger.ts'

const account = fact(accounts, () => 1)
const repository = fact(repositories, () => 1)
const version = fact(packageVersions, () => 1)
const underWay = (kind: Errand['kind']) =>
  fact(
    errands,
    () => 1,
    (errand) => (errand.kind === kind ? errand.id : undefined),
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
    claim(files, ({ area, keeper, sha256, size, state }, known) =>
      area === 'lfs' && state === 'kept' && known(repository, keeper) !== undefined
        ? [[[keeper, sha256], once(size)]]
        : [],
    ),
  ],
  kept: [
    claim(ledgerEntries, ({ kind, key, container, name, size }, known) =>
      kind === 'lfs' && key.startsWith(OWN) && known(repository, container!) !== undefined
        ? [[[container!, name], once(size)]]
        : [],
    ),
  ],
  mend: unmendable,
}

const packagesKept: Recount = {
  name: 'a byte more than the file of the package file',
  counted: [claim(packageFiles, ({ owner, stored, size }) => [[[owner, stored], once(size)]])],
  kept: [
    claim(files, ({ area, keeper, name, size, state }) =>
      area === 'packages' && state === 'kept' ? [[[keeper, name], once(size)]] : [],
    ),
  ],
  mend: unmendable,
}

const versionTotal = (member: 'size' | 'files'): Recount => ({
  name: `${member} of package version`,
  counted: [
    claim(packageFiles, (file, known) =>
      known(version, file.version) === undefined ? [] : [[[file.version], member === 'size' ? file.size : 1]],
    ),
  ],
  kept: [claim(packageVersions, (one) => [[[one.id], one[member]]])],
  mend: (tx, id, amount) => amend(tx, packageVersions, id, { [member]: amount }),
})

const packagesCounted: Recount = {
  name: 'a byte more than what counts for the package version',
  counted: [claim(packageVersions, (one) => [[[one.id], once(one.size)]])],
  kept: [
    claim(ledgerEntries, ({ kind, key, owner, size }, known) =>
      kind === 'packages' && key.startsWith(OWN) && known(account, owner!) !== undefined
        ? [[[Number(key.slice(OWN.length))], once(size)]]
        : [],
    ),
  ],
  mend: unmendable,
}

/** What files need of what they belong to, and the other way round, for `verify`. */
export const filesProof: Proof = {
  derived: [],
  facts: [account, repository, version, sweptFiles, sweptPackage, sweptOwner],
  recounts: [lfsCounted, packagesKept, versionTotal('size'), versionTotal('files'), packagesCounted],
  looks: [
    look(files, ({ area, keeper, name, state }, known) =>
      area === 'packages' ||
      state !== 'kept' ||
      known(repository, keeper) !== undefined ||
      known(sweptFiles, keeper) !== undefined
        ? []
        : [{ says: `the file ${area} ${name} is of repository ${keeper}, and there is no such repository` }],
    ),
    look(packageFiles, ({ id, version: of }, known) =>
      known(version, of) !== undefined || known(sweptPackage, of) !== undefined
        ? []
        : [{ says: `the package file ${id} is of version ${of}, and there is no such version` }],
    ),
    look(packageVersions, ({ id, owner }, known) =>
      known(account, owner) !== undefined || known(sweptOwner, owner) !== undefined
        ? []
        : [{ says: `the package version ${id} is of account ${owner}, and there is no such account` }],
    ),
    look(errands, ({ kind, id }, known) =>
      (kind === 'files' && known(repository, id) !== undefined) ||
      (kind === 'package' && known(version, id) !== undefined)
        ? [
            {
              says: `the files of ${kind === 'files' ? 'repository' : 'version'} ${id} are to be removed, and it is still there`,
            },
          ]
        : [],
    ),
  ],
}
