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
