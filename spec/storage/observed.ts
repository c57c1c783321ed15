import { Level } from 'level'
import { type Batch, type Database, overAbstractLevel } from '../../drivers/level/abstract.ts'
import { toStorageError } from '../../drivers/level/errors.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'

/** Records the batches of a driver, and makes the next ones fail or wait. */
export interface Observed {
  driver: StorageDriver
  /** Each batch that reached the database: how many operations, and whether it was to be synced. */
  batches: { operations: number; sync: boolean }[]
  /** How many batches were in flight at once, at most. */
  atOnce: number
  /** The snapshots and iterators that were made and are not closed. */
  held: Set<object>
  /** Runs before a batch reaches the database, which it does not when this rejects. */
  before: () => Promise<void>
  /** Runs before the database is opened, which it is not when this rejects. */
  beforeOpen: () => Promise<void>
  /** Whether the disk has space again after a batch failed for the lack of it. */
  hasSpace: boolean
}

/** A driver over LevelDB whose batches are watched on their way. */
export const observe = (location: string): Observed => {
  const observed: Observed = {
    driver: overAbstractLevel(
      'observed',
      async () => {
        await observed.beforeOpen()
        const database = new Level<Uint8Array, Uint8Array>(location, {
          keyEncoding: 'view',
          valueEncoding: 'view',
        })
        await database.open()
        return watched(
          database,
          (batch) => followed(batch, observed, inFlight),
          (resource) => holding(resource, observed.held),
        )
      },
      (cause) => toStorageError(location, cause),
      async () => observed.hasSpace,
    ),
    batches: [],
    atOnce: 0,
    held: new Set(),
    before: async () => {},
    beforeOpen: async () => {},
    hasSpace: false,
  }
  const inFlight = new Set<Batch>()
  return observed
}

/** It is in the set until it is closed. */
const holding = <T extends { close(): Promise<void> }>(resource: T, held: Set<object>): T => {
  const close = resource.close.bind(resource)
  held.add(resource)
  return Object.assign(resource, {
    close: () => {
      held.delete(resource)
      return close()
    },
  })
}

const watched = (
  database: Database,
  follow: (batch: Batch) => Batch,
  hold: <T extends { close(): Promise<void> }>(resource: T) => T,
): Database => ({
  close: () => database.close(),
  snapshot: () => hold(database.snapshot()),
  getSync: (key, options) => database.getSync(key, options),
  getMany: (keys, options) => database.getMany(keys, options),
  iterator: (options) => hold(database.iterator(options)),
  batch: () => follow(database.batch()),
})

const followed = (batch: Batch, observed: Observed, inFlight: Set<Batch>): Batch => {
  let operations = 0
  const counted = () => void operations++
  return {
    put: (key, value) => counted() ?? batch.put(key, value),
    del: (key) => counted() ?? batch.del(key),
    async write(options) {
      observed.batches.push({ operations, sync: options.sync })
      inFlight.add(batch)
      observed.atOnce = Math.max(observed.atOnce, inFlight.size)
      try {
        await observed.before()
        await batch.write(options)
      } finally {
        inFlight.delete(batch)
      }
    },
  }
}
