import { type Bench, inTurns, type Measurement } from './measure.ts'
import { ask, type Hosted, host, load } from './servers.ts'

const PATH = '/api/v1/user/quota'
const MANY = 100_000
const COLD_READS = 300
const WARM_UP = 50

/** A second of load differs by a third from the next on a shared machine, so it takes more of them to tell. */
const LOADS_PER_ROUND = 3

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

const warmReads = async (served: Hosted, rounds: number): Promise<Measurement[]> => {
  const bare = await host('bare', JSON.stringify(await ask(served.port, PATH, served.told.few)))
  const [few, reference, many] = (await inTurns(rounds * LOADS_PER_ROUND, [
    () => load(served.port, PATH, served.told.few),
    () => load(bare.port, PATH, served.told.few),
    () => load(served.port, PATH, served.told.many),
  ]).finally(bare.stop)) as [number, number, number]
  return [
    {
      name: '`GET /user/quota`, 32 connections',
      value: few,
      reference,
      unit: 'requests/s',
      against: 'bare node:http, the same bytes',
      goal: 'at least 0.5',
      isReached: few / reference >= 0.5,
    },
    {
      name: `the same with ${MANY.toLocaleString('en')} ledger entries`,
      value: many,
      reference: few,
      unit: 'requests/s',
      against: 'with 10 entries',
      goal: 'within 1.2 times',
      isReached: Math.max(few / many, many / few) <= 1.2,
    },
  ]
}

const coldReads = async (served: Hosted): Promise<Measurement> => {
  const reads = [coldRead(served, 'few'), coldRead(served, 'many')]
  await inTurns(WARM_UP, reads)
  const [few, many] = (await inTurns(COLD_READS, reads)) as [number, number]
  return {
    name: `the same right after a write, ${MANY.toLocaleString('en')} entries`,
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
  async run({ rounds, say }) {
    say(`recording ${MANY} ledger entries`)
    const served = await host('allot', String(MANY))
    try {
      say('loading /user/quota')
      const warm = await warmReads(served, rounds)
      say('reading /user/quota after writes')
      return [...warm, await coldReads(served)]
    } finally {
      await served.stop()
    }
  },
}
