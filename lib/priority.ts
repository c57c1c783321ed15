import { readlinkSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'

const { PRIORITY_BELOW_NORMAL } = constants.priority

/**
 * Lowers the priority of a process that works for one client, below the thread that answers requests.
 * Processes that it starts inherit the priority. Best effort: the system may refuse.
 */
export const lowerPriorityOf = (pid: number): void => {
  try {
    setPriority(pid, PRIORITY_BELOW_NORMAL)
  } catch {
    // The process has ended, or the system does not permit it.
  }
}

/** Logs when the system does not permit to lower a priority, such as in a sandbox that filters calls. */
export const reportPriority = (log: { error(fields: object, message: string): void }): void => {
  try {
    setPriority(getPriority())
  } catch (err) {
    log.error(
      { err },
      'git and the worker threads run at the priority of the server, since the system does not permit setpriority',
    )
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
