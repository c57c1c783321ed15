import { type Bench, inTurns, median } from './measure.ts'
import { type Hosted, host, load } from './servers.ts'

const PATH = '/api/v1/user/quota'
const MANY = 100_000

const bytesOf = async ({ port, told }: Hosted): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}${PATH}`, {
    headers: { authorization: `token ${told.few}` },
  })
  return answer.text()
}

/** Milliseconds of one read right after a write that changed what it reads. */
const coldRead = async ({ port, told }: Hosted, owner: 'few' | 'many'): Promise<number> => {
  await (await fetch(`http://127.0.0.1:${port}/touch/${owner}`)).text()
  const begun = performance.now()
  await (
    await fetch(`http://127.0.0.1:${port}${PATH}`, { headers: { authorization: `token ${told[owner]}` } })
  ).text()
  return performance.now() - begun
}

const coldReads = (hosted: Hosted, owner: 'few' | 'many') => async (): Promise<number> => {
  const times: number[] = []
  for (let at = 0; at < 100; at++) times.push(await coldRead(hosted, owner))
  return median(times)
}

export const quota: Bench = {
  name: 'quota',
  async run({ rounds, say }) {
    say(`recording ${MANY} ledger entries`)
    const served = await host('allot', String(MANY))
    const bare = await host('bare', await bytesOf(served))
    try {
      say('loading /user/quota')
      const [few, reference, many] = await inTurns(rounds, [
        () => load(served.port, PATH, served.told.few),
        () => load(bare.port, PATH, served.told.few),
        () => load(served.port, PATH, served.told.many),
      ])
      say('reading /user/quota after writes')
      const [coldFew, coldMany] = await inTurns(rounds, [coldReads(served, 'few'), coldReads(served, 'many')])
      const times = Math.max(few! / many!, many! / few!)
      const coldTimes = coldMany! / coldFew!
      return [
        {
          name: '`GET /user/quota`, 32 connections',
          value: few!,
          reference: reference!,
          unit: 'requests/s',
          against: 'bare node:http, the same bytes',
          goal: 'at least 0.5',
          isReached: few! / reference! >= 0.5,
        },
        {
          name: `the same with ${MANY.toLocaleString('en')} ledger entries`,
          value: many!,
          reference: few!,
          unit: 'requests/s',
          against: 'with 10 entries',
          goal: 'within 1.2 times',
          isReached: times <= 1.2,
        },
        {
          name: `the same right after a write, ${MANY.toLocaleString('en')} entries`,
          value: coldMany!,
          reference: coldFew!,
          unit: 'ms',
          against: 'with 10 entries',
          goal: 'within 1.2 times',
          isReached: coldTimes <= 1.2,
        },
      ]
    } finally {
      served.stop()
      bare.stop()
    }
  },
}
