import { after } from 'node:test'

type Stop = () => unknown

const stops = new Set<Stop>()

/** While a process loads its files, it cannot tell which of them starts something. */
let isLoading = false

/** Tells whether files of a group are being loaded. */
export const setLoading = (value: boolean): void => {
  isLoading = value
}

/**
 * Registers what ends a server, a process or a store. It runs when the tests of the current file have ended,
 * also when one of them or a hook has failed, the last registered first.
 * @returns a function that withdraws the registration
 */
export const atEnd = (stop: Stop): (() => void) => {
  if (isLoading) throw new Error('start this in a hook or in a test: another file that ends would end it')
  stops.add(stop)
  return () => void stops.delete(stop)
}

/** How long one of them may take. */
const STOP_MS = 30_000

/** @throws Error with the source of the function when it takes too long */
const ended = async (stop: Stop): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`has not ended in ${STOP_MS / 1000} s: ${stop}`)), STOP_MS)
  })
  await Promise.race([stop(), late]).finally(() => clearTimeout(timer))
}

/** Ends everything that is registered, and then throws the first error. */
export const endAll = async (): Promise<void> => {
  const errors: unknown[] = []
  for (const stop of [...stops].reverse())
    try {
      stops.delete(stop)
      await ended(stop)
    } catch (error) {
      errors.push(error)
    }
  if (errors.length > 0) throw errors[0]
}

/** @returns a function that calls `stop` once, and returns the same promise each time */
export const once = <Result>(stop: () => Promise<Result>): (() => Promise<Result>) => {
  let ended: Promise<Result> | undefined
  return () => {
    ended ??= stop()
    return ended
  }
}

// For a file that `node --test` runs by itself. Otherwise spec/support/file.ts ends what each file has
// started, and tools end what they start.
if (process.argv[1]?.endsWith('.spec.ts')) after(endAll)
