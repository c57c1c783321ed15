import type { Pass } from './passes.ts'

export type { Pass } from './passes.ts'

/** From one layout of the store to the next. */
export interface Step {
  from: number
  to: number
  /** Changes records that have another shape now. */
  migrate: readonly Pass[]
  /** Names of the collections whose indexes or counts have changed: they are derived anew when every step is done. */
  derive?: readonly string[]
}

/**
 * The way from every older layout to this one, in order. A step is never changed once it has been released, so its passes
 * name keys and members themselves: what schema.ts declares is the newest layout alone, which is what is derived by.
 */
export const steps: readonly Step[] = [
  {
    // 0 is every store from before the layout was marked. Those may lack the count of a group's owners and the index
    // that names are searched by, and have an index of names that nothing reads any more.
    from: 0,
    to: 1,
    migrate: [],
    derive: ['account', 'repository', 'assignment'],
  },
]

/** The layout that this program reads and writes. */
export const SCHEMA = steps.at(-1)!.to
