/** One line of the table: what was measured against what, in the same run and in turns. */
export interface Measurement {
  name: string
  /** The median of the operation and of its reference, in the unit. */
  value: number
  reference?: number
  unit: 'requests/s' | 'transactions/s' | 'MiB/s' | 'ms' | 's' | 'MiB'
  /** What the reference is. */
  against?: string
  /** What must be reached, in words. */
  goal?: string
  isReached?: boolean
  /** Of a row of the same thing measured at several sizes: how many records there are. */
  size?: number
  /** Milliseconds that half of the requests, and 99 of 100, took at most. */
  latency?: { p50: number; p99: number }
}

export interface Bench {
  name: string
  run(options: { rounds: number; say: (words: string) => void }): Promise<Measurement[]>
}

/** The operation over its reference. */
export const ratioOf = ({ value, reference }: Measurement): number | undefined =>
  reference === undefined ? undefined : value / reference

export const median = (numbers: readonly number[]): number => {
  const sorted = [...numbers].sort((one, other) => one - other)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * The medians of several measurements that take turns, A B A B …: these machines are shared, and what slows one round
 * slows its neighbours too. The first round warms up and is not counted.
 */
export const inTurns = async (
  rounds: number,
  measures: readonly (() => Promise<number>)[],
): Promise<number[]> => {
  const figures = measures.map(() => [] as number[])
  for (let round = 0; round <= rounds; round++)
    for (const [at, measure] of measures.entries()) {
      const figure = await measure()
      if (round > 0) figures[at]!.push(figure)
    }
  return figures.map(median)
}
