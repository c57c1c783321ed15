import { randomInt } from 'node:crypto'
import { isLong } from './long.ts'

/**
 * The seed of all random values of a run, which spec/run.ts prints first: the same for each `npm cit`, and
 * another one for each long suite. `ALLOT_SPEC_SEED` repeats a run.
 */
export const seed = Number(process.env.ALLOT_SPEC_SEED ?? (isLong ? randomInt(2 ** 31) : 1))

/** @returns a generator of numbers from 0 to below 1, the same in runs with the same seed (mulberry32) */
export const seededRandom = (state = seed): (() => number) => {
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}
