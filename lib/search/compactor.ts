import type { ReadTransaction } from '../storage/driver.ts'
import { type CompactionLimits, compactNext } from './compaction-step.ts'
import { type InvertedIndexOptions, MIN_COMPACTED } from './inverted-index.ts'
import { decodeKey, rangeBelow } from '../records/key-codec.ts'
import { pauseSince } from '../records/pacing.ts'
import { type PostingList, postingList } from './posting-list.ts'
import { collections } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'

/** Packs the lists that have grown (posting-list.ts), a step at a time, so that others have their turn between. */
export interface Compactor {
  /** Looks for such lists now, and every minute from now on. */
  start(): void
  /** One step. @returns whether there was something to do */
  step(): Promise<boolean>
  /** Ends after the step that is under way. */
  stop(): Promise<void>
}

const DEFAULT_LIMITS: CompactionLimits = { few: MIN_COMPACTED, loose: 1000, packs: 32, size: 512 }

const MINUTE = 60_000
/** @param onError told why a list could not be packed; it is tried again a minute later. */
export const createCompactor = (
  store: Store,
  onError: (error: unknown) => void,
  bounds: CompactionLimits = DEFAULT_LIMITS,
): Compactor => {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let batcher: NodeJS.Timeout | undefined

  const step = async (): Promise<boolean> => {
    const list = await store.read(pickUncompacted)
    if (list === undefined) return false
    await store.write((tx) => compactNext(tx, list, bounds))
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
      onError(error)
    }
    running = undefined
  }
  const look = () => {
    running ??= run()
  }

  return {
    start() {
      look()
      batcher = setInterval(look, MINUTE).unref()
    },
    step,
    async stop() {
      clearInterval(batcher)
      stopping.abort()
      await running
    },
  }
}

const compactedIndexes = collections.flatMap(({ options }) => {
  const spread: Readonly<Record<string, InvertedIndexOptions<never>>> =
    'spread' in options ? (options.spread as never) : {}
  return Object.entries(spread)
    .filter(([, { isCompacted }]) => isCompacted)
    .map(([index]) => ({ collection: options.name, index }))
})

/** Of so many lists one is taken by lot, so that several processes do not all begin with the same. */
const CANDIDATES = 16

const pickUncompacted = async (tx: ReadTransaction): Promise<PostingList | undefined> => {
  for (const { collection, index } of compactedIndexes) {
    const grown: PostingList[] = []
    for await (const [key] of tx.range({ ...rangeBelow([collection, 'g', index]), limit: CANDIDATES }))
      grown.push(postingList(collection, index, decodeKey(key).slice(3)))
    if (grown.length > 0) return grown[Math.floor(Math.random() * grown.length)]
  }
  return undefined
}
