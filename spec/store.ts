import { memory } from '../drivers/memory/index.ts'
import { postgres } from '../drivers/postgres/index.ts'
import type { StorageDriver } from '../lib/storage/index.ts'
import { emptyStore } from './postgres/shared.ts'

export interface EmptyStore {
  driver: StorageDriver
  /** Takes away what was kept, once the driver is closed. */
  drop(): Promise<void>
}

const kind = process.env.ALLOT_SPEC_STORAGE ?? 'memory'
export const onPostgres = kind === 'postgres'

/** An empty store for a started server: in memory, or in PostgreSQL where ALLOT_SPEC_STORAGE says so. */
export const specStore = async (): Promise<EmptyStore> => {
  if (kind === 'memory') return { driver: memory(), drop: async () => undefined }
  if (!onPostgres) throw new Error(`ALLOT_SPEC_STORAGE=${kind}: expected memory or postgres`)
  const { url, drop } = await emptyStore()
  return { driver: postgres(url, { readers: 3, writers: 2 }), drop }
}
