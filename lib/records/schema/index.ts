/** The records of a store: one file per domain, and here the lists of all collections, search indexes and sequences. */
import type * as v from 'valibot'
import { jobs } from '../jobs.ts'
import { accountNames, accounts, gpgKeys, memberships, sessions, sshKeys, tokens } from './accounts.ts'
import { attachments, comments, issueSequences, issues, issueTitles, releases } from './content.ts'
import { files, packageFiles, packageVersions } from './files.ts'
import { migrated } from './migrated.ts'
import {
  assignments,
  dailyUsages,
  groups,
  ledgerEntries,
  ownerUsages,
  repositoryUsages,
  rules,
} from './quota.ts'
import { follows, stars, watches } from './relations.ts'
import { pendingFolders, pushJournal, redirects, repositories, repositoryNames } from './repositories.ts'

export {
  type Audience,
  audienceOf,
  Visibility,
} from '../fields.ts'
export { type Job, jobs } from '../jobs.ts'
export * from './accounts.ts'
export * from './content.ts'
export * from './files.ts'
export * from './migrated.ts'
export * from './quota.ts'
export * from './relations.ts'
export * from './repositories.ts'

/** All search indexes. */
export const searchIndexes = [accountNames, repositoryNames, issueTitles] as const

export const collections = [
  accounts,
  memberships,
  tokens,
  sessions,
  repositories,
  redirects,
  pendingFolders,
  pushJournal,
  files,
  stars,
  watches,
  follows,
  sshKeys,
  gpgKeys,
  rules,
  groups,
  assignments,
  ownerUsages,
  dailyUsages,
  repositoryUsages,
  ledgerEntries,
  issueSequences,
  issues,
  comments,
  releases,
  attachments,
  packageVersions,
  packageFiles,
  jobs,
  migrated,
] as const

/** A sequence and the records that its numbers were given to. */
interface NumberedRecords {
  readonly sequence: string
  readonly collection: string
  numbersOf(record: unknown): readonly number[]
}

const numberedRecords = <R>(
  sequence: string,
  { options }: { readonly options: { readonly name: string; readonly schema: v.GenericSchema<R> } },
  numbersOf: (record: R) => readonly number[],
): NumberedRecords => ({
  sequence,
  collection: options.name,
  numbersOf: (record) => numbersOf(record as R),
})

/** Every sequence, for the integrity check: a sequence must be above each number that a record has. */
export const numbered: readonly NumberedRecords[] = [
  numberedRecords('account', accounts, (account) => [account.id]),
  numberedRecords('repository', repositories, (repository) => [repository.id]),
  numberedRecords('push', pushJournal, (push) => [push.id]),
  numberedRecords('token', tokens, (token) => [token.id]),
  numberedRecords('sshKey', sshKeys, (key) => [key.id]),
  numberedRecords('gpgKey', gpgKeys, (key) => [key.id, ...key.subkeys.map((subkey) => subkey.id)]),
  numberedRecords('rule', rules, (rule) => [rule.sequence]),
  numberedRecords('group', groups, (group) => [group.sequence]),
  numberedRecords('issue', issues, (issue) => [issue.id]),
  numberedRecords('comment', comments, (comment) => [comment.id]),
  numberedRecords('release', releases, (release) => [release.id]),
  numberedRecords('attachment', attachments, (attachment) => [attachment.id]),
  numberedRecords('packageVersion', packageVersions, (one) => [one.id]),
  numberedRecords('packageFile', packageFiles, (file) => [file.id]),
]
