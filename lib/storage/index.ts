export { type Deferred, deferred } from '../deferred.ts'
export { isFull, makeFolder, REASON_IN_LOG } from '../disk.ts'
export { checkArgument, checkOptionNames } from '../errors.ts'
export type {
  Bytes,
  Entry,
  KeyRange,
  ReadTransaction,
  StorageDriver,
  WriteTransaction,
} from './driver.ts'
export { StorageError, type StorageReason, wrapDriver } from './driver.ts'
export { GroupCommit, type WriteBatch } from './group-commit.ts'
export { Lifecycle, Mutex } from './lifecycle.ts'
export { type ObservedDriver, observedDriver } from './observed-driver.ts'
export { type OutageListener, reportOutages } from './outages.ts'
export { type LoadOptions, type MadeOf, ReadCache } from './read-cache.ts'
export { buffered, compareKeys, guarded, keyText, type PendingChange, WriteBuffer } from './transactions.ts'
export { READY_INTERVAL_MS, STORE_TIMEOUT_MS, writableCheck } from './writable-check.ts'
