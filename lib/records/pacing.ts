import { setImmediate, setTimeout } from 'node:timers/promises'
import { pauseAfter } from '../clock.ts'

/** Steps that take a few milliseconds together. */
const STEPS = 50

/**
 * Iterates over items and yields to the event loop now and then. Reads of cached records do not wait for I/O,
 * so a long loop would otherwise delay every request.
 */
export async function* paced<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  let steps = 0
  for await (const item of items) {
    if (++steps % STEPS === 0) await setImmediate()
    yield item
  }
}

/** Waits. With a signal, ends at once when it aborts, and does not keep the process alive. */
export const pause = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
  await setImmediate()
  await setTimeout(milliseconds, undefined, signal && { signal, ref: false }).catch(() => undefined)
}

/**
 * Waits after a step: a write waits for the step that runs, and so does the store for what it must compact.
 */
export const pauseSince = (begun: number, signal?: AbortSignal): Promise<void> =>
  pause(pauseAfter(performance.now() - begun), signal)
