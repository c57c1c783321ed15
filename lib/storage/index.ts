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
export { compareKeys, type Pending } from './layer.ts'
export { Lifetime } from './lifetime.ts'
export { oneByOne, type Pages } from './one-by-one.ts'
export { Outcomes } from './outcomes.ts'
export { SerialQueue } from './serial-queue.ts'
export { guarded } from './transactions.ts'
