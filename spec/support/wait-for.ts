import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits until a condition holds, at most a minute, for a busy machine; the caller asserts it afterwards, with
 * a message.
 */
export const waitFor = async (condition: () => unknown): Promise<void> => {
  for (let attempts = 0; attempts < 2400 && !(await condition()); attempts++) await sleep(25)
}
