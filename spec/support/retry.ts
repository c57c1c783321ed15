import { AssertionError } from 'node:assert/strict'

/**
 * Repeats a measurement until it passes, at most five times. The operating system can delay any single round;
 * a delay that the code causes shows in all of them.
 */
export const retryMeasurement = async (round: () => Promise<void>, limit = 5): Promise<void> => {
  for (let count = 1; ; count++)
    try {
      return await round()
    } catch (error) {
      if (!(error instanceof AssertionError) || count === limit) throw error
    }
}
