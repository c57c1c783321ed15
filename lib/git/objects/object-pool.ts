import { resolve } from 'node:path'
import { ClientBudget } from '../../client-budget.ts'
import { AllotError } from '../../errors.ts'
import { folderOf } from '../folders.ts'
import { checkOnDisk } from '../repository-processes.ts'
import { BatchEnded, BatchProcess } from './batch-process.ts'

interface ObjectPoolOptions {
  readonly directory: string
  readonly git: string
  /** Maximum number of processes, busy or idle, of all repositories. */
  readonly processes: number
  /** Milliseconds after which an idle process is ended. */
  readonly idleTimeout: number
  /** Milliseconds for one use of a process. */
  readonly timeout: number
  /** Bytes of memory of each process; undefined: not limited. */
  readonly maxMemory?: number | undefined
}

interface IdleProcess {
  readonly repository: number
  readonly batch: BatchProcess
  readonly timer: NodeJS.Timeout
}

/**
 * `git cat-file` processes, kept open for the next read of the same repository. Invariant: at most
 * `processes` exist or start, since a client must have a slot of the budget for each busy one, and idle ones
 * end before another one starts.
 */
export class ObjectPool {
  readonly #options: ObjectPoolOptions
  readonly #budget: ClientBudget
  /** The one that was used last is the last. */
  #idle: IdleProcess[] = []
  readonly #all = new Map<BatchProcess, number>()
  /** How many are about to be in `#all`. */
  #starting = 0
  #isClosed = false

  constructor(options: ObjectPoolOptions) {
    this.#options = { ...options, directory: resolve(options.directory) }
    const { processes } = options
    this.#budget = new ClientBudget({
      slots: processes,
      queue: 64 * processes,
      message: 'too many clients are reading repositories: try again',
    })
  }

  /**
   * Lends a process of a repository to `body`. When an idle one turns out to have ended, `body` runs again
   * with a new one.
   * @param client account or address whose budget is used: `clientOf` (lib/clients.ts)
   * @throws AllotError unavailable when too many clients read, when git ends, or after the timeout
   */
  use<T>(repository: number, client: string, body: (batch: BatchProcess) => Promise<T>): Promise<T> {
    return this.#budget.run(client, async () => {
      const idle = this.#takeIdle(repository)
      if (idle !== undefined)
        try {
          return await this.#run(repository, idle, body)
        } catch (error) {
          if (!(error instanceof BatchEnded)) throw error
        }
      return this.#run(repository, await this.#start(repository), body)
    })
  }

  /** Ends the processes of a repository, before it is deleted. */
  async stop(repository: number): Promise<void> {
    await this.#end([...this.#all].filter(([, id]) => id === repository).map(([batch]) => batch))
  }

  /** Ends all processes. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#end([...this.#all.keys()])
  }

  async #run<T>(
    repository: number,
    batch: BatchProcess,
    body: (batch: BatchProcess) => Promise<T>,
  ): Promise<T> {
    const { timeout } = this.#options
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      batch.stop()
    }, timeout)
    try {
      return await body(batch)
    } catch (error) {
      if (isLate) throw new AllotError('unavailable', 'reading the repository took too long: try again')
      throw error
    } finally {
      clearTimeout(timer)
      this.#giveBack(repository, batch)
    }
  }

  async #start(repository: number): Promise<BatchProcess> {
    const { directory, git, maxMemory } = this.#options
    const folder = folderOf(directory, repository)
    this.#starting++
    try {
      await this.#endSurplus()
      await checkOnDisk(folder)
      if (this.#isClosed) throw new AllotError('unavailable', 'the server is stopping')
      const batch = await BatchProcess.start(folder, { git, maxMemory })
      this.#all.set(batch, repository)
      void batch.ended.then(() => this.#forget(batch))
      return batch
    } finally {
      this.#starting--
    }
  }

  /** Ends idle processes until there is room for those that start. */
  async #endSurplus(): Promise<void> {
    while (this.#all.size + this.#starting > this.#options.processes) {
      const surplus = this.#idle.shift()?.batch ?? [...this.#all.keys()].find((batch) => !batch.isAlive)
      if (surplus === undefined) return
      await this.#end([surplus])
      this.#forget(surplus)
    }
  }

  #takeIdle(repository: number): BatchProcess | undefined {
    const index = this.#idle.findLastIndex((idle) => idle.repository === repository && idle.batch.isAlive)
    if (index === -1) return undefined
    const [{ batch, timer }] = this.#idle.splice(index, 1) as [IdleProcess]
    clearTimeout(timer)
    return batch
  }

  #giveBack(repository: number, batch: BatchProcess): void {
    if (!batch.isAlive) return
    if (this.#isClosed) return batch.stop()
    const timer = setTimeout(() => batch.stop(), this.#options.idleTimeout).unref()
    this.#idle.push({ repository, batch, timer })
  }

  #forget(batch: BatchProcess): void {
    this.#all.delete(batch)
    for (const { timer } of this.#idle.filter((idle) => idle.batch === batch)) clearTimeout(timer)
    this.#idle = this.#idle.filter((idle) => idle.batch !== batch)
  }

  async #end(batches: readonly BatchProcess[]): Promise<void> {
    for (const batch of batches) batch.stop()
    await Promise.all(batches.map((batch) => batch.ended))
  }
}
