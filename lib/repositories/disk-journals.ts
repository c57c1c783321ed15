/**
 * What the three journals of work on the disk have in common: pending folders (`GitData`), file records
 * (`StoredFiles`) and the push journal (`PushJournal`). An entry is saved before the work begins and settled
 * in the write that saves its result, so a crash leaves an entry, which is settled once it is abandoned.
 *
 * Invariant: no folder or file is deleted because of an estimate. It is deleted only after a write that has
 * marked its entry as leaving, and its record is saved only in a write that finds the entry not marked. So
 * when another server gives up work that goes on, the work fails, and no record is left without its data.
 * Marking resets the entry's age: others take over only if the marking server dies. An entry of the push
 * journal has no mark: when it is settled, a size is measured again and nothing is deleted.
 */
import { now } from '../clock.ts'
import { MAX_WORK_MS } from '../disk.ts'
import { AllotError } from '../errors.ts'
import type { Store } from '../records/store.ts'

/**
 * Seconds after which no server can still work on an entry, with an hour for waiting, and for clocks that
 * differ.
 */
const ABANDONED_AFTER = MAX_WORK_MS / 1000 + 3600

/** Seconds that what lies on the disk without a record must have been unchanged before it is deleted. */
export const leftoverAge = ({ driver }: Pick<Store, 'driver'>): number =>
  driver.shared ? ABANDONED_AFTER : 0

/**
 * Whether a crash left the entry. In a store that no other process uses, one that a start finds was left: no
 * work has begun yet.
 */
export const isAbandoned = ({ driver }: Store, { since }: { readonly since: number }): boolean =>
  !driver.shared || since <= now() - ABANDONED_AFTER

/** The error of work whose entry another server has marked as leaving, or has settled. */
export const givenUp = (): AllotError =>
  new AllotError(
    'unavailable',
    'storing the data took so long that another server has given it up: try again',
  )
