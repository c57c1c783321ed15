import { AllotError, type ErrorCode } from '../errors.ts'
import { ClientDisconnected } from './failure.ts'

/** Milliseconds between two readings of the rights of a request that lasts. */
const INTERVAL_MS = 60_000

/**
 * Errors that say that a right is gone. Others, such as a store that is unavailable, say nothing about it.
 */
const LOSSES: readonly ErrorCode[] = ['unauthenticated', 'forbidden', 'not_found']

/**
 * Reads the rights of a request or a command again every minute, until it ends.
 * @param read throws an error when a right is gone
 * @param ended aborted when the request ends
 * @param onLost called once, with that error
 */
export const watchRights = (
  read: () => Promise<unknown>,
  ended: AbortSignal,
  onLost: (error: AllotError) => void,
): void => {
  if (ended.aborted) return
  let isReading = false
  const readAgain = async () => {
    if (isReading) return
    isReading = true
    const loss = await lossOf(read)
    isReading = false
    if (ended.aborted || loss === undefined) return
    clearInterval(timer)
    onLost(loss)
  }
  const timer = setInterval(() => void readAgain(), INTERVAL_MS)
  timer.unref()
  ended.addEventListener('abort', () => clearInterval(timer), { once: true })
}

/** @returns the error that says that a right is gone */
const lossOf = (read: () => Promise<unknown>): Promise<AllotError | undefined> =>
  read().then(
    () => undefined,
    (error: unknown) => (error instanceof AllotError && LOSSES.includes(error.code) ? error : undefined),
  )

/** The rights of one request, which are read again while it lasts. */
export interface LastingRights<I> {
  /**
   * Sets what is read again, besides the credentials and what the route demands.
   * @param read gets the user as of then, and throws AllotError when a right is gone, which ends the request
   */
  whileAllowed(read: (user: I | null) => Promise<unknown>): void
  /**
   * @param error of the request
   * @returns the error that says what is gone, such as a repository that was deleted meanwhile, when the
   * client did not cause the error; else the error itself
   */
  causeOf(error: unknown): Promise<unknown>
  /** As {@link watchRights}. */
  watch(ended: AbortSignal, onLost: (error: AllotError) => void): void
}

/** @param userNow reads the user again, who must still be allowed to call the route */
export const lastingRights = <I>(userNow: () => Promise<I | null>): LastingRights<I> => {
  let stillAllowed: ((user: I | null) => Promise<unknown>) | undefined
  const read = async () => {
    const user = await userNow()
    await stillAllowed?.(user)
  }
  return {
    whileAllowed(check) {
      stillAllowed = check
    },
    async causeOf(error) {
      const isFault = !(error instanceof AllotError) || error.code === 'unavailable'
      if (!isFault || error instanceof ClientDisconnected || stillAllowed === undefined) return error
      return (await lossOf(read)) ?? error
    },
    watch: (ended, onLost) => watchRights(read, ended, onLost),
  }
}
