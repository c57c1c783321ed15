import { AssertionError } from 'node:assert/strict'

/**
 * Repeats a measurement until one round passes, five times at most. The operating system can hold up any single round;
 * what the code itself causes fails in all of them.
 */
export const retryMeasurement = async (round: () => Promise<void>, limit = 5): Promise<void> => {
  for (let count = 1; ; count++)
    try {
      return await round()
    } catch (error) {
      if (!(error instanceof AssertionError) || count === limit) throw error
    }
}
