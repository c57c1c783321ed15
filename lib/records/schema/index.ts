/**
 * The records of a store: one file per domain, and here the lists of all collections and upgrades.
 */
import type { ReadTransaction, StorageDriver } from '../../storage/index.ts'
import { type AnyCollection, Collection } from '../collection.ts'
import * as jobs from '../jobs.ts'
import {
  newestLayout,
  requireCurrentLayout,
  type UpgradePlan,
  type UpgradeStep,
  upgradeLayout,
} from '../upgrade.ts'
import * as accounts from './accounts.ts'
import * as audit from './audit.ts'
import * as content from './content.ts'
import * as credentials from './credentials.ts'
import * as files from './files.ts'
import * as migrationLog from './migration-log.ts'
import * as quota from './quota.ts'
import * as repositories from './repositories.ts'
import * as sharing from './sharing.ts'
import * as statuses from './statuses.ts'
import * as webhooks from './webhooks.ts'

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

/**
 * All collections, in the same order in every build: file by file, and in a file in the order of definition.
 * What belongs to something comes after it.
 */
export const collections: readonly AnyCollection[] = [
  ...[accounts, credentials, repositories, sharing, quota, content, statuses, files, webhooks],
  ...[jobs, migrationLog, audit],
].flatMap((part) =>
  Object.values<unknown>(part)
    .filter((value) => value instanceof Collection)
    .sort((one, other) => one.position - other.position),
)

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
