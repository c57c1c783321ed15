import { MemoryLevel } from 'memory-level'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { overAbstractLevel } from '../level/abstract.ts'

/** Records in memory, kept while this driver is, whether open or closed: for tests and for trying things out. */
export const memory = (): StorageDriver => {
  const database = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
    storeEncoding: 'view',
  })
  return overAbstractLevel(
    'memory',
    () => database,
    (cause) => new StorageError('failed', 'the store in memory cannot be used', { cause }),
  )
}
