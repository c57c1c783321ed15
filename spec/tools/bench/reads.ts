import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  atLeast,
  type Bench,
  type Latency,
  type Measurement,
  markDisturbed,
  median,
  medianLatency,
} from './report/measure.ts'
import { ask, type Hosted, host } from './servers/index.ts'
import { loadWith, local, processorTime } from './servers/load.ts'
import { API, latencyAt, type Program, post, program } from './servers/program.ts'

/** The most frequent requests, and the least share of the processor time that a bare server may take. */
export const READS: readonly [path: string, goal: number | undefined][] = [
  ['/version', 0.85],
  ['/user', 0.78],
  ['/user/quota', 0.8],
  ['/user/quota/check?subject=size:all', 0.8],
  ['/user/quota/explain?subject=size:all', undefined],
  ['/user/repos', 0.7],
  ['/repos/root/demo', 0.72],
  ['/repos/root/demo/contents/README.md', 0.6],
  ['/repos/search?q=dem', 0.25],
]

/** `createServer(allot.handler)`. */
const embedded = async (): Promise<Program> => {
  const hosted = await host('embedded')
  return { ...hosted, token: hosted.told.token }
}

/**
 * A repository of the administrator with a file, and two of another user, of which the search for `dem` finds
 * one.
 */
const fill = async (served: Program): Promise<void> => {
  const ann = { username: 'ann', email: 'ann@example.test', password: 'correct horse battery' }
  await post(served, '/user/repos', { name: 'demo', auto_init: true })
  await post(served, '/admin/users', ann)
  for (const name of ['notes', 'website']) await post(served, '/user/repos', { name }, 'ann')
}

/** Compiles what all requests have in common, for which the first path would pay. */
const warmUp = ({ port, token }: Program) =>
  loadWith({ base: local(port), path: `${API}/user`, tokens: [token], seconds: 3 })

interface Sample {
  /** Requests a second. */
  rate: number
  /** Microseconds of the processor for each request. */
  processor: number
}

const sampleOf = async ({ port, pid }: Hosted, path: string, token: string): Promise<Sample> => {
  const before = processorTime(pid)
  const { requests, rate } = await loadWith({ base: local(port), path: API + path, tokens: [token] })
  return { rate, processor: ((processorTime(pid) - before) / requests) * 1e6 }
}

const medianOf = (samples: readonly Sample[]): Sample => ({
  rate: median(samples.map(({ rate }) => rate)),
  processor: median(samples.map(({ processor }) => processor)),
})

/** Medians of a second of load of each server in turns. The first turn warms up. */
const samples = async (servers: readonly Hosted[], tokens: string[], path: string, rounds: number) => {
  const all = servers.map(() => [] as Sample[])
  for (let round = 0; round <= rounds; round++)
    for (const at of servers.keys()) {
      // Neighbors change sides, so that none is always the first after a pause.
      const index = round % 2 === 0 ? at : servers.length - 1 - at
      const sample = await sampleOf(servers[index]!, path, tokens[index]!)
      if (round > 0) all[index]!.push(sample)
    }
  return all.map(medianOf)
}

const LATENCY_ROUNDS = 3

/** Of two servers in turns, for each the round whose p99 is in the middle. */
const latenciesAt = async (
  servers: readonly [Hosted, Hosted],
  path: string,
  token: string,
  rate: number,
): Promise<readonly [Latency, Latency]> => {
  const [ours, references]: [Latency[], Latency[]] = [[], []]
  for (let round = 0; round < LATENCY_ROUNDS; round++) {
    ours.push(await latencyAt(servers[0], path, token, rate))
    references.push(await latencyAt(servers[1], path, token, rate))
  }
  return [medianLatency(ours), medianLatency(references)]
}

/** Both servers and a bare one that sends the same bytes and headers, for one path. */
const measure = async (
  [served, hosted]: readonly [Program, Program],
  [path, goal]: (typeof READS)[number],
  rounds: number,
): Promise<Measurement[]> => {
  const bare = await host('bare', JSON.stringify(await ask(served.port, API + path, served.token)))
  try {
    const tokens = [served.token, hosted.token, served.token]
    const [ours, mounted, reference] = await samples([served, hosted, bare], tokens, path, rounds)
    const half = ours!.rate / 2
    const [latency, latencyOfReference] = await latenciesAt([served, bare], path, served.token, half)
    const row = (name: string, { processor, rate }: Sample): Measurement => ({
      ...{ name: `\`GET ${path.split('?subject')[0]}\`, ${name}`, value: processor, rate, unit: 'µs' },
      ...{ reference: reference!.processor, against: 'bare node:http, the same bytes' },
    })
    const reached = goal === undefined ? {} : atLeast(goal, reference!.processor / ours!.processor)
    return [
      { ...row('`npm start`', ours!), ...reached, latency, latencyOfReference },
      row('embedded', mounted!),
    ]
  } finally {
    await bare.stop()
  }
}

/** Processor time of each request, against a bare server that sends the same. */
export const reads: Bench = {
  name: 'reads',
  sendsLoad: true,
  async run({ rounds, say }) {
    if (process.platform !== 'linux')
      throw new Error('reads: processor time is read from /proc, as Linux has it')
    const data = mkdtempSync(join(tmpdir(), 'allot-bench-'))
    const servers = [await program(join(data, 'd')), await embedded()] as const
    try {
      await Promise.all(servers.map(fill))
      for (const served of servers) await warmUp(served)
      const measured: Measurement[] = []
      for (const read of READS) {
        say(`GET ${read[0]}`)
        measured.push(...(await measure(servers, read, rounds)))
      }
      return markDisturbed(measured)
    } finally {
      await Promise.all(servers.map(({ stop }) => stop()))
      rmSync(data, { recursive: true, force: true })
    }
  },
}
