import { setTimeout as sleep } from 'node:timers/promises'

/** Long enough for a machine that is busy with others, and shorter than a file may take. */
const LIMIT_MS = 45_000

/**
 * Waits until a condition holds.
 * @throws Error with the source of the condition when it does not hold in time
 */
export const waitFor = async (condition: () => unknown): Promise<void> => {
  const end = performance.now() + LIMIT_MS
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${LIMIT_MS / 1000} s for ${condition}`)
    await sleep(10)
  }
}
