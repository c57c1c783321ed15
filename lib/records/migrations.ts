import type { Bytes, WriteTransaction } from '../storage/driver.ts'
import { counter } from './counter.ts'
import { decodeKey, type KeyTuple } from './keys.ts'

/** Entries that are gone through in bounded transactions, each of them exactly once, kills and restarts included. */
export interface Pass {
  over: KeyTuple
  each(tx: WriteTransaction, key: Bytes, value: Bytes): void | Promise<void>
}

/** From one layout of the store to the next. */
export interface Step {
  from: number
  to: number
  migrate: readonly Pass[]
}

const assignmentsOfGroup = counter('assignment:group')

/**
 * The way from every older layout to this one, in order. A step is never changed once it has been released, so it names
 * its keys itself: what schema.ts declares is the newest layout alone.
 */
export const steps: readonly Step[] = [
  {
    // 0 is every store from before the version was written down. The older ones lack the count of a group's owners.
    from: 0,
    to: 1,
    migrate: [
      { over: ['assignment:group'], each: (tx, key) => tx.delete(key) },
      {
        over: ['assignment', 'o', 'group'],
        each: (tx, key) => assignmentsOfGroup.add(tx, [decodeKey(key)[3] as string], 1),
      },
    ],
  },
]

/** The layout that this program reads and writes. */
export const SCHEMA = steps.at(-1)!.to
