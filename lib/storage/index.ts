export type {
  Bytes,
  Entry,
  KeyRange,
  ReadOptions,
  ReadTransaction,
  StorageDriver,
  WriteTransaction,
} from './driver.ts'
export { isFull, StorageError, type StorageReason } from './errors.ts'
export { GroupCommit, type WriteBatch } from './group-commit.ts'
export { compareKeys, type PendingChange } from './layer.ts'
export { Lifecycle } from './lifetime.ts'
export { type PageSource, prefetch } from './one-by-one.ts'
export { ReadCache } from './outcomes.ts'
export { Mutex } from './serial-queue.ts'
export { guarded } from './transactions.ts'
