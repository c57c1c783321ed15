import { filledStore, type Instances, scaled, WORDS } from './instance.ts'
import { type Bench, inTurns, type Measurement } from './report/measure.ts'
import { ask, type Hosted, host } from './servers/index.ts'

const SMALLEST = 0.0001
/** Fewer than the different pages of a list. */
const ROUNDS = 150

interface Asked {
  name: string
  /** @param repository one of the account that asks */
  path: (at: number, repository: string) => string
  method?: (at: number) => string
  /** How much the time may grow from the smallest instance to the largest. */
  within: number
}

/** Requests that are sent one at a time on an open connection. */
const ASKED: readonly Asked[] = [
  { name: '`GET /user/quota`', path: () => '/user/quota', within: 1.1 },
  {
    name: '`GET /user/quota/artifacts`',
    // Another page each time, so that none is cached, and only such as the 189 artifacts in the smallest
    // instance fill.
    path: (at) => `/user/quota/artifacts?limit=${5 + (at % 23)}&page=${1 + (at % 7)}`,
    within: 1.2,
  },
  {
    name: '`GET /repos/search`',
    path: (at) => `/repos/search?q=${WORDS[at % WORDS.length]}&limit=${10 + (at % 40)}`,
    within: 5,
  },
  {
    name: 'a star set or taken away',
    path: (_, repository) => `/user/starred/${repository}`,
    method: (at) => (at % 2 === 0 ? 'PUT' : 'DELETE'),
    within: 1.3,
  },
]

const timed = async ({ port, told }: Hosted, { path, method }: Asked) => {
  const { text } = await ask(port, '/api/v1/user/repos?limit=1', told.largest)
  const [{ full_name: repository }] = JSON.parse(text)
  let at = 0
  return async (): Promise<number> => {
    const begun = performance.now()
    await ask(port, `/api/v1${path(at, repository)}`, told.largest, method?.(at))
    at++
    return performance.now() - begun
  }
}

/**
 * The same requests at several sizes, each a tenth of the next: what is flat costs the same at all of them.
 */
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
      for (const asked of ASKED) {
        const { name, within } = asked
        const medians = await inTurns(
          ROUNDS,
          await Promise.all(hosted.map(({ served }) => timed(served, asked))),
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

const goalOf = (within: number, ratio: number): Pick<Measurement, 'goal' | 'isReached'> => ({
  goal: `within ${within} times`,
  isReached: ratio <= within,
})
