import { type Bench, inTurns, type Measurement } from './report/measure.ts'
import { ask, type Hosted, host } from './servers/index.ts'

const PATH = '/api/v1/user/quota'
const MANY = 100_000
const COLD_READS = 300
const WARM_UP = 50

type Owner = 'few' | 'many'

/** Milliseconds of single reads, each right after a write that changed what it reads. */
const coldRead = ({ port, told }: Hosted, owner: Owner) => {
  let before = ''
  return async (): Promise<number> => {
    await ask(port, `/touch/${owner}`)
    const begun = performance.now()
    const { text } = await ask(port, PATH, told[owner])
    const taken = performance.now() - begun
    if (text === before) throw new Error('a read after a write answered what was true before it')
    before = text
    return taken
  }
}

const coldReads = async (served: Hosted): Promise<Measurement> => {
  const reads = [coldRead(served, 'few'), coldRead(served, 'many')]
  await inTurns(WARM_UP, reads)
  const [few, many] = (await inTurns(COLD_READS, reads)) as [number, number]
  return {
    name: `\`GET /user/quota\` right after a write, ${MANY.toLocaleString('en')} entries`,
    value: many,
    reference: few,
    unit: 'ms',
    against: 'with 10 entries',
    goal: 'within 1.2 times',
    isReached: many / few <= 1.2,
  }
}

export const quota: Bench = {
  name: 'quota',
  async run({ say }) {
    say(`recording ${MANY} ledger entries`)
    const served = await host('allot', String(MANY))
    try {
      say('reading /user/quota after writes')
      return [await coldReads(served)]
    } finally {
      await served.stop()
    }
  },
}
