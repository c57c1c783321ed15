import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { partsOfNames, type Shape } from './filled.ts'
import { filledStore, type Instances, scaled } from './instance.ts'
import { memoryOf } from './memory.ts'
import { type Bench, type Latency, latencyOf, type Measurement } from './report/measure.ts'
import { ask, type Hosted, host } from './servers/index.ts'

/** Different parts of names, and how often each is searched for, on the first pages in turn. */
const [WORDS, TIMES, PAGES] = [100, 10, 3]

const searchAll = async (served: Hosted, { repos }: Shape): Promise<Latency> => {
  const words = partsOfNames(WORDS, repos)
  const measured: number[] = []
  await ask(served.port, '/api/v1/repos/search?q=zzzz', served.told.smallest)
  for (let time = 0; time < TIMES; time++)
    for (const word of words) {
      const begun = performance.now()
      const path = `/api/v1/repos/search?q=${word}&limit=20&page=${1 + (time % PAGES)}`
      await ask(served.port, path, served.told.smallest)
      measured.push(performance.now() - begun)
    }
  return latencyOf(measured)
}

/** Has the kernel forget what it has read of the files, which must not be open. */
const dropFromCache = (folder: string): void => {
  for (const file of readdirSync(folder))
    execFileSync('dd', [`if=${join(folder, file)}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' })
}

interface Run extends Latency {
  /**
   * MiB of the process, and MiB of it that are not pages of a file; undefined where the system does not tell.
   */
  memory: number | undefined
  own: number | undefined
}

const runOn = async (store: string, shape: Shape): Promise<Run> => {
  const served = await host('instance', store, String(shape.people))
  try {
    const latency = await searchAll(served, shape)
    return { ...latency, memory: memoryOf(served.pid, 'VmRSS'), own: memoryOf(served.pid, 'RssAnon') }
  } finally {
    await served.stop()
  }
}

/** The run with the highest p99: the goal is for every run. */
const worstOf = (runs: readonly Run[]): Run =>
  runs.reduce((worst, run) => (run.p99 > worst.p99 ? run : worst))

const rowOf = (what: string, runs: readonly Run[]): Measurement => {
  const { p50, p99 } = worstOf(runs)
  return {
    ...{
      name: `\`GET /repos/search\`, ${what}, the worst p99 of ${runs.length} runs`,
      value: p99,
      unit: 'ms',
    },
    ...{ latency: { p50, p99 }, goal: 'under 50 ms', isReached: p99 < 50 },
  }
}

const memoryRows = (runs: readonly Run[]): Measurement[] =>
  (
    [
      ['memory', 'most memory after a hundred different searches', 350],
      ['own', 'of which its own', 200],
    ] as const
  ).flatMap(([member, name, limit]) => {
    const value = Math.max(...runs.map((run) => run[member] ?? Number.NaN))
    if (Number.isNaN(value)) return []
    return [{ name, value, unit: 'MiB' as const, goal: `under ${limit} MiB`, isReached: value < limit }]
  })

/** Searches one at a time, on servers that were just started. */
export const searchOf = ({ scale, folder }: Instances): Bench => ({
  name: 'search',
  async run({ rounds, say }) {
    const shape = scaled(scale)
    say(`searching ${shape.repos.toLocaleString('en')} repositories`)
    const store = await filledStore(folder, shape)
    const [cold, warm]: [Run[], Run[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      dropFromCache(store)
      cold.push(await runOn(store, shape))
      warm.push(await runOn(store, shape))
    }
    return [rowOf('cold files', cold), rowOf('files in memory', warm), ...memoryRows([...cold, ...warm])]
  },
})
