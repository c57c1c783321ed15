import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { level } from '../../drivers/level/index.ts'
import { verify } from '../../lib/verify.ts'
import { allot, begin, type Served, served } from '../bin/program.ts'
import { signal } from '../driver-spec/fixture.ts'
import { createSender } from '../support/request.ts'
import { Client, type Server } from './client.ts'
import { compare } from './compare.ts'
import { SHARED_REPOSITORIES } from './operation.ts'
import { createRandom, type Random } from './random.ts'

export interface Totals {
  rounds: number
  kills: number
  acknowledged: number
  /** Writes that were unanswered when the server was killed. */
  inFlight: number
  lost: number
  inconsistent: number
}

export interface Options {
  rounds: number
  seed: number
  /** The most writes that are acknowledged between a start and the kill. */
  maxWrites: number
  /** Rounds between two full recounts; damage does not go away, so a later recount finds it. */
  recountEvery: number
  /** How the server is ended under load; after SIGTERM it must exit with 0. */
  signal?: 'SIGKILL' | 'SIGTERM'
  /** Called after each round. */
  progress?: (totals: Totals) => void
}

export interface Outcome extends Totals {
  /** Messages of all faults. */
  faults: string[]
  /** The data directory, which is not removed when there are faults. */
  data: string
}

const CLIENTS = 16
/** About the duration of a start. */
const START_MS = 1000

/**
 * Starts a server, loads it, kills it and checks its data, round after round on one data directory, until a
 * fault is found.
 */
export const crash = async (options: Options): Promise<Outcome> => {
  const { rounds, recountEvery, progress } = options
  const data = await mkdtemp(join(tmpdir(), 'allot-crash-'))
  const totals: Totals = { rounds: 0, kills: 0, acknowledged: 0, inFlight: 0, lost: 0, inconsistent: 0 }
  const run = new Run(data, options, totals)
  try {
    await run.prepare()
    while (totals.rounds < rounds && run.faults.length === 0) {
      await run.round((totals.rounds + 1) % recountEvery === 0)
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
  /**
   * A configuration file that raises the limit of connections per address, which all clients share, and keeps
   * connections that a slow recount leaves idle: a request would meet one that the server is closing.
   */
  readonly #config: string
  readonly #random: Random
  readonly #totals: Totals
  readonly #clients: Client[]
  readonly #signal: 'SIGKILL' | 'SIGTERM'
  readonly #maxWrites: number
  #token = ''
  #process: Served | undefined

  constructor(data: string, { seed, maxWrites, signal = 'SIGKILL' }: Options, totals: Totals) {
    this.#data = data
    this.#config = `${data}.toml`
    writeFileSync(
      this.#config,
      '[server]\nmax_connections_per_address = 1000\nkeep_alive_timeout = 600000\nidle_timeout = 600000\n',
    )
    this.#totals = totals
    this.#random = createRandom(seed)
    this.#signal = signal
    this.#maxWrites = maxWrites
    this.#clients = Array.from(
      { length: CLIENTS },
      (_, index) => new Client(`f${index}`, this.#random.fork()),
    )
  }

  /** Creates the accounts; the first start on the empty directory is killed too. */
  async prepare(): Promise<void> {
    await this.#killEarly()
    const { code, out, err } = await allot(['user', 'add', 'ops', '--admin', '--token', '--data', this.#data])
    if (code !== 0) throw new Error(`the administrator could not be created: ${err}`)
    this.#token = out.trim()
    const { server, process } = await this.#start()
    for (const path of SHARED_REPOSITORIES)
      await server.ask('POST', '/user/repos', { token: this.#token, body: { name: path.split('/')[1] } })
    await Promise.all(this.#clients.map((client) => client.createAccounts(server)))
    await this.#kill(process, server)
  }

  /** Starts the server, checks its data, and kills it while clients write. */
  async round(recounts: boolean): Promise<void> {
    for (let starts = this.#random.likely(0.2) ? 1 + this.#random.below(2) : 0; starts > 0; starts--)
      await this.#killEarly()
    if (recounts) await this.#verify()
    const { server, process } = await this.#start()
    await this.#compare(server, recounts)
    if (this.faults.length > 0) return void (await process.stop())
    const { isDue, ended } = this.#load(server)
    await isDue
    await this.#kill(process, server)
    await ended
    this.#totals.acknowledged = this.#sum((client) => client.acknowledged)
    this.#totals.inFlight += this.#sum((client) => (client.unanswered === undefined ? 0 : 1))
  }

  #sum(of: (client: Client) => number): number {
    return this.#clients.reduce((total, client) => total + of(client), 0)
  }

  /**
   * Lets all clients write until the kill.
   * @returns `isDue`, when it is time for the kill: one client has sent a write after the last of a random
   * number of acknowledged ones, or all have stopped after a fault; and `ended`
   */
  #load(server: Server): { isDue: Promise<unknown>; ended: Promise<unknown> } {
    const acknowledged = () => this.#sum((client) => client.acknowledged)
    const last = acknowledged() + 1 + this.#random.below(this.#maxWrites)
    const due = signal()
    const onSent = () => acknowledged() >= last && due.happen()
    const ended = Promise.all(
      this.#clients.map((client) => client.write(server, onSent).catch((error) => this.#fault(error))),
    )
    return { isDue: Promise.race([due.happened, ended]), ended }
  }

  /** Checks the data after the last kill. */
  async end(): Promise<void> {
    await this.#verify()
    const { server, process } = await this.#start()
    await this.#compare(server, true)
    await process.stop()
  }

  /** Kills the server if the run failed. */
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
    const code = await process.stop(this.#signal)
    this.#totals.kills++
    if (this.#signal === 'SIGKILL') return
    if (code !== 0) this.#fault(new Error(`after SIGTERM the server exited with ${code}`))
  }

  /** Kills the server at a random moment of its start. */
  async #killEarly(): Promise<void> {
    const child = begin(['serve', '--port', '0', '--data', this.#data])
    const ended = new Promise((resolve) => child.once('close', resolve))
    await new Promise((resolve) => setTimeout(resolve, this.#random.below(START_MS)))
    child.kill('SIGKILL')
    await ended
    this.#totals.kills++
  }

  /** Runs the consistency check on the store as the kill left it. */
  async #verify(): Promise<void> {
    const driver = level(join(this.#data, 'store'))
    await driver.open()
    const { faults, messages } = await verify(driver).finally(() => driver.close())
    this.#totals.inconsistent += faults
    this.faults.push(...messages)
  }

  async #compare(server: Server, recounts: boolean): Promise<void> {
    const directory = join(this.#data, 'repositories')
    const { lost, inconsistent } = await compare(this.#clients, server, {
      directory,
      recounts,
      isStarted: true,
    })
    this.#totals.lost += lost.length
    this.#totals.inconsistent += inconsistent.length
    this.faults.push(...lost.map((fact) => `lost: ${fact}`), ...inconsistent)
  }

  #fault(error: Error): void {
    this.#totals.inconsistent++
    this.faults.push(String(error.cause === undefined ? error : `${error}: ${error.cause}`))
  }
}
