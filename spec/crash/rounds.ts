import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { level } from '../../drivers/level/index.ts'
import { verify } from '../../lib/verify.ts'
import { allot, begin, type Served, served } from '../bin/program.ts'
import { createSender } from '../support/request.ts'
import { Client, type Server } from './client.ts'
import { compare } from './compare.ts'
import { SHARED_REPOSITORIES } from './operation.ts'
import { createRandom, type Random } from './random.ts'

export interface Totals {
  rounds: number
  kills: number
  acknowledged: number
  /** Writes without an answer when the server was killed. */
  inFlight: number
  lost: number
  inconsistent: number
}

export interface Options {
  rounds: number
  seed: number
  /** Milliseconds that a server lives under load, at most. */
  maxLifetimeMs: number
  /** Every so many rounds all counters are recounted and all lists held against each other: damage stays. */
  recountEvery: number
  /** How a server that writes is ended; told to stop, it must end with 0 within 10 s. */
  signal?: 'SIGKILL' | 'SIGTERM'
  /** Called after each round. */
  progress?: (totals: Totals) => void
}

export interface Outcome extends Totals {
  /** What was found; none when all is well. */
  faults: string[]
  /** The folder is kept when there are faults. */
  data: string
}

const CLIENTS = 16
/** Milliseconds within which a start that is to be cut short is over, more or less. */
const START_MS = 1000

/** A server is killed and started again on one folder, round after round, until a fault is found. */
export const crash = async (options: Options): Promise<Outcome> => {
  const { rounds, recountEvery, progress } = options
  const data = await mkdtemp(join(tmpdir(), 'allot-crash-'))
  const totals: Totals = { rounds: 0, kills: 0, acknowledged: 0, inFlight: 0, lost: 0, inconsistent: 0 }
  const run = new Run(data, options, totals)
  try {
    await run.prepare()
    while (totals.rounds < rounds && run.faults.length === 0) {
      await run.round(totals.rounds % recountEvery === 0)
      totals.rounds++
      progress?.(totals)
    }
    if (run.faults.length === 0) await run.end()
  } finally {
    await run.dispose()
  }
  if (run.faults.length === 0)
    for (const path of [data, `${data}.toml`]) await rm(path, { recursive: true, force: true })
  return { ...totals, faults: run.faults, data }
}

class Run {
  readonly faults: string[] = []
  readonly #data: string
  /** All clients of the spec have one address, and ask for hundreds of things at once. */
  readonly #config: string
  readonly #random: Random
  readonly #totals: Totals
  readonly #clients: Client[]
  readonly #signal: 'SIGKILL' | 'SIGTERM'
  readonly #longestLife: number
  #token = ''
  #process: Served | undefined

  constructor(data: string, { seed, maxLifetimeMs, signal = 'SIGKILL' }: Options, totals: Totals) {
    this.#data = data
    this.#config = `${data}.toml`
    writeFileSync(this.#config, '[server]\nmax_connections_per_address = 1000\n')
    this.#totals = totals
    this.#random = createRandom(seed)
    this.#signal = signal
    this.#longestLife = maxLifetimeMs
    this.#clients = Array.from({ length: CLIENTS }, (_, at) => new Client(`f${at}`, this.#random.fork()))
  }

  /** On an empty folder, whose first start is cut short too. */
  async prepare(): Promise<void> {
    await this.#killEarly()
    const { code, out, err } = await allot(['user', 'add', 'ops', '--admin', '--token', '--data', this.#data])
    if (code !== 0) throw new Error(`no administrator could be made: ${err}`)
    this.#token = out.trim()
    const { server, process } = await this.#start()
    for (const path of SHARED_REPOSITORIES)
      await server.ask('POST', '/user/repos', { token: this.#token, body: { name: path.split('/')[1] } })
    await Promise.all(this.#clients.map((client) => client.createAccounts(server)))
    await this.#kill(process, server)
  }

  /** Starts, compares, writes, and is killed in the midst of it. */
  async round(recounts: boolean): Promise<void> {
    for (let starts = this.#random.likely(0.2) ? 1 + this.#random.below(2) : 0; starts > 0; starts--)
      await this.#killEarly()
    if (recounts) await this.#verify()
    const { server, process } = await this.#start()
    await this.#compare(server, recounts)
    if (this.faults.length > 0) return void (await process.stop())
    const writing = this.#clients.map((client) => client.write(server).catch((error) => this.#fault(error)))
    await new Promise((resolve) => setTimeout(resolve, this.#random.below(this.#longestLife)))
    await this.#kill(process, server)
    await Promise.all(writing)
    const sum = (of: (client: Client) => number) => this.#clients.reduce((total, one) => total + of(one), 0)
    this.#totals.acknowledged = sum((client) => client.acknowledged)
    this.#totals.inFlight += sum((client) => (client.unanswered === undefined ? 0 : 1))
  }

  /** After the last kill. */
  async end(): Promise<void> {
    await this.#verify()
    const { server, process } = await this.#start()
    await this.#compare(server, true)
    await process.stop()
  }

  /** No process outlives the run, whatever has gone wrong. */
  async dispose(): Promise<void> {
    await this.#process?.stop('SIGKILL')
  }

  async #start(): Promise<{ server: Server; process: Served }> {
    const process = await served(['--data', this.#data, '--config', this.#config])
    this.#process = process
    return { process, server: { ask: createSender(process.api), token: this.#token, killed: false } }
  }

  async #kill(process: Served, server: Server): Promise<void> {
    server.killed = true
    const told = performance.now()
    const code = await process.stop(this.#signal)
    this.#totals.kills++
    if (this.#signal === 'SIGKILL') return
    const took = performance.now() - told
    if (code !== 0 || took > 10_000)
      this.#fault(new Error(`told to stop, it ended with ${code} in ${took} ms`))
  }

  /** At any moment of a start. */
  async #killEarly(): Promise<void> {
    const child = begin(['serve', '--port', '0', '--data', this.#data])
    const ended = new Promise((resolve) => child.once('close', resolve))
    await new Promise((resolve) => setTimeout(resolve, this.#random.below(START_MS)))
    child.kill('SIGKILL')
    await ended
    this.#totals.kills++
  }

  /** Every index and every counter of the store as the kill has left it. */
  async #verify(): Promise<void> {
    const driver = level(join(this.#data, 'store'))
    await driver.open()
    const { faults, named } = await verify(driver).finally(() => driver.close())
    this.#totals.inconsistent += faults
    this.faults.push(...named)
  }

  async #compare(eyes: Server, recounts: boolean): Promise<void> {
    const directory = join(this.#data, 'repositories')
    const { lost, inconsistent } = await compare(this.#clients, eyes, {
      directory,
      recounts,
      isStarted: true,
    })
    this.#totals.lost += lost.length
    this.#totals.inconsistent += inconsistent.length
    this.faults.push(...lost.map((one) => `lost: ${one}`), ...inconsistent)
  }

  #fault(error: Error): void {
    this.#totals.inconsistent++
    this.faults.push(String(error.cause === undefined ? error : `${error}: ${error.cause}`))
  }
}
