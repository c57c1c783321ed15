import { rm } from 'node:fs/promises'
import { level } from '../../drivers/level/index.ts'
import { memory } from '../../drivers/memory/index.ts'
import { postgres } from '../../drivers/postgres/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { emptyStore } from '../postgres/empty-store.ts'
import { temporaryDirectory } from './folder.ts'

export interface EmptyStore {
  driver: StorageDriver
  /** Removes the stored data, after the driver is closed. */
  drop(): Promise<void>
}

const kind = process.env.ALLOT_SPEC_STORAGE ?? 'memory'
export const onPostgres = kind === 'postgres'

/**
 * These specs are about the API, and the machine may be busy with others: the limits have specs of their own.
 */
const PATIENT_MS = 60_000

/** Creates an empty store: in memory, or of the kind in ALLOT_SPEC_STORAGE. */
export const createSpecStore = async (): Promise<EmptyStore> => {
  if (kind === 'memory') return { driver: memory(), drop: async () => undefined }
  if (kind === 'level') return levelStore()
  if (!onPostgres) throw new Error(`ALLOT_SPEC_STORAGE=${kind}: expected memory, level or postgres`)
  const { url, drop } = await emptyStore()
  const limits = { connectTimeout: PATIENT_MS, writeTimeout: PATIENT_MS }
  return { driver: postgres(url, { connections: 5, ...limits }), drop }
}

/**
 * Creates an empty store that persists: PostgreSQL when ALLOT_SPEC_STORAGE is postgres, LevelDB otherwise.
 */
export const createPersistentStore = (): Promise<EmptyStore> =>
  onPostgres ? createSpecStore() : levelStore()

const levelStore = async (): Promise<EmptyStore> => {
  const folder = temporaryDirectory()
  return { driver: level(folder), drop: () => rm(folder, { recursive: true }) }
}
