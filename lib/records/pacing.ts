import { setImmediate, setTimeout } from 'node:timers/promises'

/** So many steps take a few milliseconds. */
const STEPS = 50

/**
 * The same items, with a pause now and then in which others have their turn. Hot records are read without waiting, so a
 * long loop of reads and writes would otherwise hold up every request.
 */
export async function* paced<T>(items: Iterable<T>): AsyncGenerator<T> {
  let steps = 0
  for (const item of items) {
    if (++steps % STEPS === 0) await setImmediate()
    yield item
  }
}

/** Keeps no process alive, and ends at once when it is to stop. */
export const pause = async (milliseconds: number, signal: AbortSignal): Promise<void> => {
  await setImmediate()
  await setTimeout(milliseconds, undefined, { signal, ref: false }).catch(() => undefined)
}

const LONGEST_PAUSE = 100

/** A pause as long as the step before it, so that steps take no more than half of the store's time. */
export const pauseSince = (begun: number, signal: AbortSignal): Promise<void> =>
  pause(Math.min(performance.now() - begun, LONGEST_PAUSE), signal)
