import { filledStore, scaled, WORDS } from './instance.ts'
import { type Bench, inTurns, type Measurement } from './measure.ts'
import { ask, type Hosted, host } from './servers.ts'

const SCALES = [0.001, 0.01, 0.1]
const READS = 200

/** What is asked for one at a time, on a connection that is open. */
const ASKED: readonly [name: string, path: (at: number) => string][] = [
  ['`GET /user/quota`', () => '/user/quota'],
  ['`GET /user/quota/artifacts`', (at) => `/user/quota/artifacts?limit=20&page=${1 + (at % 5)}`],
  ['`GET /repos/search`', (at) => `/repos/search?q=${WORDS[at % WORDS.length]}&limit=20`],
]

const timed = (served: Hosted, path: (at: number) => string) => {
  let at = 0
  return async (): Promise<number> => {
    const begun = performance.now()
    await ask(served.port, `/api/v1${path(at++)}`, served.told.largest)
    return performance.now() - begun
  }
}

/** The same requests at three sizes, each a tenth of the next: what is flat costs the same at all of them. */
export const sizes: Bench = {
  name: 'sizes',
  async run({ say }) {
    const hosted: { served: Hosted; size: number }[] = []
    try {
      for (const scale of SCALES) {
        const shape = scaled(scale)
        say(`a store with ${shape.entries.toLocaleString('en')} ledger entries`)
        const store = await filledStore(shape)
        const size = 2 * (shape.people + shape.repos) + shape.entries + shape.stars
        hosted.push({ size, served: await host('instance', store, String(shape.people)) })
      }
      const measured: Measurement[] = []
      for (const [name, path] of ASKED) {
        const medians = await inTurns(
          READS,
          hosted.map(({ served }) => timed(served, path)),
        )
        for (const [at, { size }] of hosted.entries())
          measured.push({ name, value: medians[at]!, unit: 'ms', size, ...against(at, medians[0]!) })
      }
      return measured
    } finally {
      for (const { served } of hosted) await served.stop()
    }
  },
}

const against = (at: number, reference: number) =>
  at === 0 ? {} : { reference, against: `in a store of a ${at === 1 ? 'tenth' : 'hundredth'} of that` }
