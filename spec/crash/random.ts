/** Random choices that a seed reproduces. */
export interface Random {
  /** A random integer from 0 to n - 1. */
  below(n: number): number
  pick<T>(list: readonly T[]): T | undefined
  likely(share: number): boolean
  /** An independent sequence of choices. */
  fork(): Random
}

/** mulberry32 */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n: number) => Math.floor(next() * n)
  return {
    below,
    pick: (list) => list[below(list.length)],
    likely: (share) => next() < share,
    fork: () => createRandom(below(2 ** 32)),
  }
}
