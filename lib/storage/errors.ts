import { AllotError, type ErrorCode } from '../errors.ts'

/**
 * Why a store cannot do what it is asked; `away` is a database that cannot be reached now, `busy` one that has too much
 * to do. All but `full` are answered with 503: the service is down, not wrong.
 */
export type StorageReason = 'closed' | 'locked' | 'failed' | 'corrupt' | 'full' | 'away' | 'busy'

export class StorageError extends AllotError {
  override readonly name = 'StorageError'
  readonly reason: StorageReason

  constructor(reason: StorageReason, message: string, options?: { cause?: unknown }) {
    const code: ErrorCode = reason === 'full' ? 'storage_full' : 'unavailable'
    super(code, message, options)
    this.reason = reason
  }
}

/** LevelDB says in words alone why the disk refused; a limit on the size of files is a full disk to the process. */
export const isFull = (cause: unknown): boolean =>
  cause instanceof Error &&
  (/ENOSPC|EDQUOT|EFBIG|No space left|quota exceeded|File too large/i.test(cause.message) ||
    isFull(cause.cause))
