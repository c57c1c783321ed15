import { AllotError } from '../errors.ts'

/**
 * Runs at most `atOnce` pieces of work at a time and lets `longest` more wait for their turn.
 * @throws AllotError unavailable for whoever comes then.
 */
export const createBounds = (atOnce: number, longest: number, refusal: string) => {
  let running = 0
  const waiting: (() => void)[] = []

  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) {
      if (waiting.length >= longest) throw new AllotError('unavailable', refusal)
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
