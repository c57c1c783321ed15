import { MemoryLevel } from 'memory-level'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { overAbstractLevel } from '../level/abstract.ts'

/**
 * Keeps records in memory as long as the driver object exists, whether it is open or closed. For tests and
 * trials.
 */
export const memory = (): StorageDriver => {
  const database = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
    storeEncoding: 'view',
  })
  return overAbstractLevel(
    'memory',
    async () => {
      await database.open()
      return database
    },
    (cause) => new StorageError('failed', 'the store in memory cannot be used', { cause }),
  )
}
