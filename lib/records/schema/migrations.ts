import type { ReadTransaction, StorageDriver } from '../../storage/index.ts'
import {
  type MigrationPlan,
  type MigrationStep,
  migrate,
  newestLayout,
  requireCurrentLayout,
} from '../migrate.ts'
import { collections } from './index.ts'

/**
 * The steps from layout 1 to the current one, in order. A released step never changes, so it names keys and fields itself:
 * the schema describes the current layout only, and is used to derive indexes and counters after the last step.
 */
const steps: readonly MigrationStep[] = []

export const migrationPlan: MigrationPlan = { steps, collections, batchSize: 256 }

/** The layout that this version reads and writes. */
export const LAYOUT_VERSION = newestLayout(migrationPlan)

/** Brings an open store to the current layout: see migrate.ts. */
export const migrateStore = (driver: StorageDriver, onProgress?: (message: string) => void): Promise<void> =>
  migrate(driver, migrationPlan, onProgress)

/** @throws AllotError unavailable for a store that is not of the current layout */
export const requireMigrated = (tx: ReadTransaction): Promise<void> =>
  requireCurrentLayout(tx, LAYOUT_VERSION)
