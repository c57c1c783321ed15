import { MemoryLevel } from 'memory-level'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { overAbstractLevel } from '../level/abstract.ts'

/** Records in memory, gone when the process ends: for tests and for trying things out. */
export const memory = (): StorageDriver =>
  overAbstractLevel(
    'memory',
    () =>
      new MemoryLevel<Uint8Array, Uint8Array>({
        keyEncoding: 'view',
        valueEncoding: 'view',
        storeEncoding: 'view',
      }),
    (cause) => new StorageError('failed', 'the memory store cannot be opened', { cause }),
  )
