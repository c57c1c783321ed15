import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'

const { PRIORITY_BELOW_NORMAL } = constants.priority

/**
 * Lowers the priority of a process that works for one client, below the thread that answers requests. Processes that it
 * starts inherit the priority. Best effort: the system may refuse.
 */
export const lowerPriorityOf = (pid: number): void => {
  try {
    setPriority(pid, PRIORITY_BELOW_NORMAL)
  } catch {
    // The process has ended, or the system does not permit it.
  }
}

/** Lowers the priority of the calling worker thread. Only Linux has priorities per thread. */
export const lowerOwnPriority = (): void => {
  if (isMainThread || process.platform !== 'linux') return
  try {
    // The link is `<process>/task/<thread>`, for the thread that reads it.
    lowerPriorityOf(Number(readlinkSync('/proc/thread-self').split('/').at(-1)))
  } catch {
    // The system has no /proc.
  }
}
