import type { ReadTransaction } from '../storage/driver.ts'
import { decodeKey, rangeBelow } from './keys.ts'
import { pauseSince } from './paced.ts'
import { type PackingBounds, packNext } from './pack-step.ts'
import { type PackedList, packedList } from './packed.ts'
import { collections } from './schema.ts'
import { FEW, type Spread } from './spread.ts'
import type { Store } from './store.ts'

/** Packs the lists that have grown (packed.ts), a step at a time, so that others have their turn between. */
export interface Packing {
  /** Looks for such lists now, and every minute from now on. */
  begin(): void
  /** One step. @returns whether there was something to do */
  step(): Promise<boolean>
  /** Ends after the step that is under way. */
  stop(): Promise<void>
}

const BOUNDS: PackingBounds = { few: FEW, loose: 1000, packs: 32, size: 512 }

const MINUTE = 60_000
/** @param failed told why a list could not be packed; it is tried again a minute later. */
export const createPacking = (
  store: Store,
  failed: (error: unknown) => void,
  bounds: PackingBounds = BOUNDS,
): Packing => {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let looking: NodeJS.Timeout | undefined

  const step = async (): Promise<boolean> => {
    const list = await store.read(someGrown)
    if (list === undefined) return false
    await store.write((tx) => packNext(tx, list, bounds))
    return true
  }

  const run = async (): Promise<void> => {
    try {
      for (
        let begun = performance.now();
        !stopping.signal.aborted && (await step());
        begun = performance.now()
      )
        await pauseSince(begun, stopping.signal)
    } catch (error) {
      failed(error)
    }
    running = undefined
  }
  const look = () => {
    running ??= run()
  }

  return {
    begin() {
      look()
      looking = setInterval(look, MINUTE).unref()
    },
    step,
    async stop() {
      clearInterval(looking)
      stopping.abort()
      await running
    },
  }
}

const packedIndexes = collections.flatMap(({ options }) => {
  const spread: Readonly<Record<string, Spread<never>>> = 'spread' in options ? (options.spread as never) : {}
  return Object.entries(spread)
    .filter(([, { isPacked }]) => isPacked)
    .map(([index]) => ({ collection: options.name, index }))
})

/** Of so many lists one is taken by lot, so that several processes do not all begin with the same. */
const SOME = 16

const someGrown = async (tx: ReadTransaction): Promise<PackedList | undefined> => {
  for (const { collection, index } of packedIndexes) {
    const grown: PackedList[] = []
    for await (const [key] of tx.range({ ...rangeBelow([collection, 'g', index]), limit: SOME }))
      grown.push(packedList(collection, index, decodeKey(key).slice(3)))
    if (grown.length > 0) return grown[Math.floor(Math.random() * grown.length)]
  }
  return undefined
}
