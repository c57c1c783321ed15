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
export { Lifecycle } from './lifecycle.ts'
export { Mutex } from './mutex.ts'
export { type PageSource, prefetch } from './prefetch.ts'
export { ReadCache } from './read-cache.ts'
export { buffered, guarded } from './transactions.ts'
export { compareKeys, keyText, type PendingChange, WriteBuffer } from './write-buffer.ts'
