export type {
  Bytes,
  Entry,
  KeyRange,
  ReadTransaction,
  StorageDriver,
  WriteTransaction,
} from './driver.ts'
export { StorageError, type StorageReason } from './errors.ts'
export { GroupCommit, type WriteBatch } from './group-commit.ts'
export { compareKeys, type Pending } from './layer.ts'
export { guarded, isEmptyRange } from './transactions.ts'
