/** One line of the table: what was measured against what, in the same run and in turns. */
export interface Measurement {
  name: string
  /** The median of the operation and of its reference, in the unit. */
  value: number
  reference?: number
  /** µs are of processor time, for each request. */
  unit: 'requests/s' | 'transactions/s' | 'MiB/s' | 'µs' | 'ms' | 's' | 'MiB'
  /** Name of the reference. */
  against?: string
  /** The goal, in words. */
  goal?: string
  isReached?: boolean
  /** Of a row of the same thing measured at several sizes: how many records there are. */
  size?: number
  /** Requests a second at saturation, of a row of processor time. */
  rate?: number
  latency?: Latency
  /** Of the reference at the same rate, with the same generator. */
  latencyOfReference?: Latency
  /**
   * Whether other processes delayed even the reference, so that the latency says nothing: see
   * {@link markDisturbed}.
   */
  isDisturbed?: true
}

/** Milliseconds that half of the requests, 99 of 100 and 999 of 1000 took at most. */
export interface Latency {
  p50: number
  p99: number
  p999?: number
  /** Requests a second that were sent. */
  rate?: number
}

export interface Bench {
  name: string
  /** Whether it needs wrk. */
  sendsLoad?: true
  run(options: { rounds: number; say: (words: string) => void }): Promise<Measurement[]>
}

/** The operation over its reference; of processor time the reverse, so that more is better. */
export const ratioOf = ({ value, reference, unit }: Measurement): number | undefined =>
  reference === undefined ? undefined : unit === 'µs' ? reference / value : value / reference

/** A goal of at least this ratio, in words, and whether it is reached. */
export const atLeast = (goal: number, ratio: number) => ({
  goal: `at least ${goal}`,
  isReached: ratio >= goal,
})

export const median = (numbers: readonly number[]): number => {
  const sorted = [...numbers].sort((one, other) => one - other)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** @param waits milliseconds of each request */
export const latencyOf = (waits: readonly number[]): Latency => {
  const sorted = waits.toSorted((one, other) => one - other)
  return { p50: median(sorted), p99: sorted[Math.floor(sorted.length * 0.99)]! }
}

/** The one of several measurements of the same latency whose p99 is in the middle. */
export const medianLatency = (measured: readonly Latency[]): Latency =>
  measured.toSorted((one, other) => one.p99 - other.p99)[Math.floor(measured.length / 2)]!

/** A reference that took so many times its usual p99 was delayed by other processes. */
const DISTURBED = 4

/**
 * Marks the rows whose references were delayed. References do nearly nothing, so what they usually take is
 * the median of their p99 in all rows.
 */
export const markDisturbed = (all: readonly Measurement[]): Measurement[] => {
  const p99s = all.flatMap(({ latencyOfReference }) => latencyOfReference?.p99 ?? [])
  const limit = DISTURBED * median(p99s)
  return all.map((one) => ((one.latencyOfReference?.p99 ?? 0) > limit ? { ...one, isDisturbed: true } : one))
}

/**
 * The medians of several measurements that take turns, A B A B …: these machines are shared, and what slows
 * one round slows its neighbors too. The first round warms up and is not counted.
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
