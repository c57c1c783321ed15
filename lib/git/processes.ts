import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ClientBudget } from '../clients.ts'
import { folderOf, recover } from './folders.ts'
import { type ExitResult, environmentFor, type GitProcess, startProcess, type Timeouts } from './process.ts'

/** The long-running git programs. */
export type Program = 'upload-pack' | 'receive-pack' | 'gc'

/** The client that a process works for. */
export interface ProcessClient {
  /** The `Git-Protocol` header. */
  readonly protocol: string | undefined
  /** Whose budget of processes is used, as lib/clients.ts defines it. */
  readonly client: string
  /** Aborted when the client disconnects: stops the process. */
  readonly signal: AbortSignal
}

export interface ProcessesOptions {
  directory: string
  git: string
  timeouts: Timeouts
  /** How many processes may run at once, and how many of them for one client. */
  maxProcesses: number
  maxProcessesPerClient: number
  /** Bytes of memory for each process. */
  memory: number
  onError: (error: Error, fields: object) => void
}

/** The long-running git processes, each started within its client's budget. */
export interface Processes {
  /**
   * Starts a program on a repository.
   * @throws AllotError unavailable when too many run; Error when the repository is not on the disk
   */
  start(
    id: number,
    program: Program,
    args: readonly string[],
    client: ProcessClient,
    timeouts?: Timeouts,
  ): Promise<GitProcess>
  /** Removes what stopped writers left in a repository, unless another writer runs. */
  recoverStopped(id: number): Promise<void>
  /** Stops all processes of a repository. */
  stop(id: number): Promise<void>
  /** Whether as many processes run as may run at once. */
  isBusy(): boolean
  /** One promise for each running process; resolves when it ends. */
  endings(): Promise<unknown>[]
}

/** @param env added to the environment of every process */
export const createProcesses = (options: ProcessesOptions, env: Record<string, string>): Processes => {
  const { directory, git, memory, maxProcesses } = options
  const repositories = new Map<number, RepositoryProcesses>()
  const budget = new ClientBudget({
    ...{ slots: maxProcesses, slotsPerClient: options.maxProcessesPerClient },
    ...{ queue: 4 * maxProcesses, queuePerClient: 4 * maxProcesses },
    message: 'too many clients are fetching or pushing: try again',
  })
  const removeUnused = (id: number) => {
    if (repositories.get(id)?.isUnused) repositories.delete(id)
  }

  return {
    async start(id, program, args, { protocol, client, signal }, timeouts = options.timeouts) {
      const folder = folderOf(directory, id)
      const release = await budget.acquire(client, signal)
      const entry = repositories.get(id) ?? new RepositoryProcesses(folder)
      repositories.set(id, entry)
      const processOptions = { env: { ...environmentFor(protocol), ...env }, isDetached: isWriter(program) }
      const starting = entry.start(program, () =>
        startProcess(args, { git, timeouts, memory, ...processOptions }),
      )
      const child = await starting.catch((error) => {
        release()
        removeUnused(id)
        throw error
      })
      void child.ended.then((result) => {
        release()
        removeUnused(id)
        reportFailure(options, program, id, result)
      })
      if (signal.aborted) child.stop()
      signal.addEventListener('abort', () => child.stop(), { once: true })
      return child
    },
    async recoverStopped(id) {
      await repositories.get(id)?.recoverStopped()
      removeUnused(id)
    },
    stop: async (id) => repositories.get(id)?.stop(),
    isBusy: () => budget.running() >= maxProcesses,
    endings: () => [...repositories.values()].flatMap((entry) => entry.endings()),
  }
}

/** Not for a client's mistakes, which git reports to the client. */
const reportFailure = (
  { onError }: ProcessesOptions,
  program: Program,
  repository: number,
  { cause, stderr, code }: ExitResult,
): void => {
  if (cause === 'idle' || cause === 'deadline' || stderr !== '')
    onError(new Error(`git ${program}: ${stderr || cause}`), { repository, code, cause })
}

const isWriter = (program: Program): boolean => program !== 'upload-pack'

/**
 * The processes of one repository. Invariant: the repository is recovered only while no writer runs on it, and no writer
 * starts during a recovery.
 */
class RepositoryProcesses {
  readonly #folder: string
  readonly #running = new Map<GitProcess, Program>()
  #starting = 0
  #startingWriters = 0
  #needsRecovery = false
  #recovery: Promise<void> | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  get isUnused(): boolean {
    return this.#running.size + this.#starting === 0 && !this.#needsRecovery && this.#recovery === undefined
  }

  endings(): Promise<ExitResult>[] {
    return [...this.#running.keys()].map(({ ended }) => ended)
  }

  /** Waits for a recovery to end, when the program is a writer. */
  async start(program: Program, start: () => Promise<GitProcess>): Promise<GitProcess> {
    const writers = isWriter(program) ? 1 : 0
    this.#starting++
    this.#startingWriters += writers
    try {
      while (writers > 0 && this.#recovery !== undefined) await this.#recovery
      await checkOnDisk(this.#folder)
      const child = await start()
      this.#register(child, program)
      return child
    } finally {
      this.#starting--
      this.#startingWriters -= writers
    }
  }

  #register(child: GitProcess, program: Program): void {
    this.#running.set(child, program)
    void child.ended.then(({ cause, code }) => {
      this.#running.delete(child)
      // A git that is asked to end removes its own temporary files, but not those its children still write.
      if (isWriter(program) && (cause !== 'itself' || code === null)) this.#needsRecovery = true
    })
  }

  async recoverStopped(): Promise<void> {
    const hasWriter = this.#startingWriters > 0 || [...this.#running.values()].some(isWriter)
    if (!this.#needsRecovery || hasWriter) return
    this.#needsRecovery = false
    this.#recovery = recover(this.#folder, null)
    try {
      await this.#recovery
    } finally {
      this.#recovery = undefined
    }
  }

  async stop(): Promise<void> {
    const running = [...this.#running.keys()]
    for (const child of running) child.stop()
    await Promise.all(running.map(({ ended }) => ended))
  }
}

const checkOnDisk = async (folder: string): Promise<void> => {
  await stat(join(folder, 'HEAD')).catch((cause) => {
    throw new Error(`the git data is not where it should be: ${folder}`, { cause })
  })
}
