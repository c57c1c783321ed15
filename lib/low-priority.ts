import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'

const { PRIORITY_BELOW_NORMAL } = constants.priority

/**
 * Lets the thread that answers requests run before a process that works for one client, and before everything that this
 * process starts. A system that refuses is fine: the priority is no limit.
 */
export const lowerPriorityOf = (id: number): void => {
  try {
    setPriority(id, PRIORITY_BELOW_NORMAL)
  } catch {
    // It has ended, or priorities cannot be changed here.
  }
}

/** The same for the worker thread that calls this. Only Linux has priorities of threads. */
export const lowerOwnPriority = (): void => {
  if (isMainThread || process.platform !== 'linux') return
  try {
    // It links to the thread that reads it: `<process>/task/<thread>`.
    lowerPriorityOf(Number(readlinkSync('/proc/thread-self').split('/').at(-1)))
  } catch {
    // There is no /proc.
  }
}
