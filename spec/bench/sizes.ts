import { filledStore, type Instances, scaled, WORDS } from './instance.ts'
import { type Bench, inTurns, type Measurement } from './report/measure.ts'
import { ask, type Hosted, host } from './servers/index.ts'

const SMALLEST = 0.0001
const READS = 200

/** Requests that are sent one at a time on an open connection, and how much their time may grow from the smallest instance to the largest. */
const ASKED: readonly [name: string, path: (at: number) => string, within?: number][] = [
  ['`GET /user/quota`', () => '/user/quota', 1.1],
  // Another page each time, so that none is cached.
  [
    '`GET /user/quota/artifacts`',
    (at) => `/user/quota/artifacts?limit=${10 + (at % 40)}&page=${1 + (at % 7)}`,
  ],
  ['`GET /repos/search`', (at) => `/repos/search?q=${WORDS[at % WORDS.length]}&limit=${10 + (at % 40)}`, 5],
]

const timed = (served: Hosted, path: (at: number) => string) => {
  let at = 0
  return async (): Promise<number> => {
    const begun = performance.now()
    await ask(served.port, `/api/v1${path(at++)}`, served.told.largest)
    return performance.now() - begun
  }
}

/** The same requests at several sizes, each a tenth of the next: what is flat costs the same at all of them. */
export const sizesUpTo = ({ scale: largest, folder }: Instances): Bench => ({
  name: 'sizes',
  async run({ say }) {
    const hosted: { served: Hosted; size: number }[] = []
    try {
      for (const scale of scalesUpTo(largest)) {
        const shape = scaled(scale)
        say(`a store with ${shape.entries.toLocaleString('en')} ledger entries`)
        const store = await filledStore(folder, shape)
        const size = 2 * (shape.people + shape.repos) + shape.entries + shape.stars
        hosted.push({ size, served: await host('instance', store, String(shape.people)) })
      }
      const measured: Measurement[] = []
      for (const [name, path, within] of ASKED) {
        const medians = await inTurns(
          READS,
          hosted.map(({ served }) => timed(served, path)),
        )
        for (const [at, { size }] of hosted.entries())
          measured.push({
            name,
            value: medians[at]!,
            unit: 'ms',
            size,
            ...(at === 0 ? {} : { reference: medians[0]!, against: 'in the smallest' }),
            ...(at === hosted.length - 1 ? goalOf(within, medians[at]! / medians[0]!) : {}),
          })
      }
      return measured
    } finally {
      for (const { served } of hosted) await served.stop()
    }
  },
})

const scalesUpTo = (largest: number): number[] => {
  const scales = [largest]
  while (scales[0]! > SMALLEST * 5) scales.unshift(scales[0]! / 10)
  return scales
}

const goalOf = (within: number | undefined, ratio: number): Pick<Measurement, 'goal' | 'isReached'> =>
  within === undefined ? {} : { goal: `within ${within} times`, isReached: ratio <= within }
