/**
 * The records of a store: one file per domain, and here the lists of all collections, search indexes,
 * sequences and upgrades.
 */
import type * as v from 'valibot'
import { InvertedIndex } from '../../search/index.ts'
import type { ReadTransaction, StorageDriver } from '../../storage/index.ts'
import { jobs } from '../jobs.ts'
import {
  newestLayout,
  requireCurrentLayout,
  type UpgradePlan,
  type UpgradeStep,
  upgradeLayout,
} from '../upgrade.ts'
import { accounts, formerNames, memberships } from './accounts.ts'
import { auditRecords } from './audit.ts'
import {
  attachments,
  comments,
  guestUploads,
  issueEvents,
  issueSequences,
  issueSubscriptions,
  issues,
  releases,
} from './content.ts'
import { gpgKeys, sessions, sshKeys, tokens } from './credentials.ts'
import { files, lfsCopies, packageFiles, packageVersions } from './files.ts'
import { migrationRecords } from './migration-log.ts'
import {
  assignments,
  dailyUsages,
  groups,
  ledgerEntries,
  ownerUsages,
  quotaOwners,
  repositoryUsages,
  rules,
} from './quota.ts'
import {
  follows,
  pendingFolders,
  pushJournal,
  redirects,
  repositories,
  stars,
  watches,
} from './repositories.ts'
import { collaborators, teamMembers, teamRepositories, teams, transfers } from './sharing.ts'
import { commitStatuses } from './statuses.ts'
import { deliveries, hookLeases, hookPayloads, hookQueues, hookStorage, hooks } from './webhooks.ts'

export {
  AUDIENCES,
  type Audience,
  audienceOf,
  LIMITED,
  PRIVATE,
  PUBLIC,
  Visibility,
} from '../fields.ts'
export { type Job, jobs } from '../jobs.ts'
export * from './accounts.ts'
export * from './audit.ts'
export * from './content.ts'
export * from './credentials.ts'
export * from './files.ts'
export * from './migration-log.ts'
export * from './quota.ts'
export * from './repositories.ts'
export * from './sharing.ts'
export * from './statuses.ts'
export * from './webhooks.ts'

export const collections = [
  accounts,
  formerNames,
  memberships,
  tokens,
  sessions,
  repositories,
  redirects,
  pendingFolders,
  pushJournal,
  files,
  lfsCopies,
  stars,
  watches,
  follows,
  collaborators,
  teams,
  teamMembers,
  teamRepositories,
  transfers,
  sshKeys,
  gpgKeys,
  rules,
  groups,
  assignments,
  quotaOwners,
  ownerUsages,
  dailyUsages,
  repositoryUsages,
  ledgerEntries,
  issueSequences,
  issues,
  comments,
  issueEvents,
  issueSubscriptions,
  commitStatuses,
  releases,
  attachments,
  guestUploads,
  packageVersions,
  packageFiles,
  hooks,
  deliveries,
  hookPayloads,
  hookStorage,
  hookQueues,
  hookLeases,
  jobs,
  migrationRecords,
  auditRecords,
] as const

/** The search indexes of all collections, which a compactor packs. */
export const searchIndexes = collections
  .flatMap(({ options }): readonly unknown[] => options.search ?? [])
  .filter((index) => index instanceof InvertedIndex)

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
  numberedRecords('account', teams, (team) => [team.id]),
  numberedRecords('account', quotaOwners, (owner) => [owner.id]),
  numberedRecords('repository', repositories, (repository) => [repository.id]),
  numberedRecords('push', pushJournal, (push) => [push.id]),
  numberedRecords('token', tokens, (token) => [token.id]),
  numberedRecords('sshKey', sshKeys, (key) => [key.id]),
  numberedRecords('gpgKey', gpgKeys, (key) => [key.id, ...key.subkeys.map((subkey) => subkey.id)]),
  numberedRecords('rule', rules, (rule) => [rule.sequence]),
  numberedRecords('group', groups, (group) => [group.sequence]),
  numberedRecords('issue', issues, (issue) => [issue.id]),
  numberedRecords('comment', comments, (comment) => [comment.id]),
  numberedRecords('comment', issueEvents, (event) => [event.id]),
  numberedRecords('commitStatus', commitStatuses, (status) => [status.id]),
  numberedRecords('release', releases, (release) => [release.id]),
  numberedRecords('attachment', attachments, (attachment) => [attachment.id]),
  numberedRecords('packageVersion', packageVersions, (one) => [one.id]),
  numberedRecords('packageFile', packageFiles, (file) => [file.id]),
  numberedRecords('hook', hooks, (hook) => [hook.id]),
]

/**
 * The steps from layout 1 to the current one, in order. A released step never changes, so it names fields
 * itself: the schema describes the current layout only. docs/additions.md has an example (add an index, a
 * field or a collection to data that exists).
 */
const steps: readonly UpgradeStep[] = []

export const upgradePlan: UpgradePlan = { steps, collections }

/** The layout that this version reads and writes. */
export const CURRENT_LAYOUT = newestLayout(upgradePlan)

/** Brings an open store to the current layout: see upgrade.ts. */
export const upgradeStore = (
  driver: StorageDriver,
  { isAlone = !driver.shared, onProgress }: UpgradeOptions = {},
): Promise<void> => upgradeLayout(driver, upgradePlan, isAlone, onProgress)

interface UpgradeOptions {
  readonly isAlone?: boolean
  readonly onProgress?: (message: string) => void
}

/** @throws AllotError unavailable for a store that is not of the current layout */
export const requireUpgraded = (tx: ReadTransaction): Promise<void> =>
  requireCurrentLayout(tx, CURRENT_LAYOUT)
