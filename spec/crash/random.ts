/** Choices that a seed decides, so that a run can be told from another. */
export interface Random {
  /** A whole number from 0, below n. */
  below(n: number): number
  pick<T>(list: readonly T[]): T | undefined
  likely(share: number): boolean
  /** Choices of its own, which those of others do not change. */
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
