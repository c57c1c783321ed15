import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ClientBudget } from '../client-budget.ts'
import { AllotError } from '../errors.ts'
import { folderOf, recoverRepository } from './folders.ts'
import {
  type ExitResult,
  environmentFor,
  type GitProcess,
  type ProcessLimits,
  startProcess,
} from './process.ts'

/** The long-running git programs. */
export type Program = 'upload-pack' | 'receive-pack' | 'gc' | 'commit-graph' | ReadCommand

/** The commands that read a repository for one request of the API. */
export type ReadCommand =
  | 'archive'
  | 'cat-file'
  | 'diff-tree'
  | 'for-each-ref'
  | 'format-patch'
  | 'log'
  | 'ls-tree'
  | 'merge-base'
  | 'rev-list'

/** The client that a process works for. */
export interface ProcessClient {
  /** The `Git-Protocol` header. */
  readonly protocol: string | undefined
  /** Whose budget of processes is used, as lib/clients.ts defines it. */
  readonly client: string
  /** Aborted when the client disconnects: stops the process. */
  readonly signal: AbortSignal
}

/** Same names as the options `git.*`. */
export interface ProcessesOptions extends ProcessLimits {
  readonly idleTimeout: number
  readonly timeout: number
  readonly directory: string
  readonly git: string
  /** How many processes may run at once. */
  readonly maxConcurrent: number
  /** How many of them for one client; a quarter when absent. */
  readonly maxConcurrentPerClient?: number | undefined
  readonly onError: (error: Error, fields: object) => void
  /** Message for a client for whom no process can be started. */
  readonly message?: string
  /** Seconds that what a stopped writer left must have been unchanged before it is removed; 0 when absent. */
  readonly leftoverAge?: number
}

/** The long-running git processes, each started within its client's budget. */
export class GitProcesses {
  readonly #options: ProcessesOptions
  readonly #env: Record<string, string>
  readonly #budget: ClientBudget
  readonly #repositories = new Map<number, RepositoryProcesses>()

  /** @param env added to the environment of every process */
  constructor(options: ProcessesOptions, env: Record<string, string>) {
    const { maxConcurrent, maxConcurrentPerClient = Math.ceil(maxConcurrent / 4) } = options
    this.#options = options
    this.#env = env
    this.#budget = new ClientBudget({
      slots: maxConcurrent,
      slotsPerClient: maxConcurrentPerClient,
      queue: 4 * maxConcurrent,
      queuePerClient: 4 * maxConcurrent,
      message: options.message ?? 'too many clients are fetching or pushing: try again',
    })
  }

  /**
   * Starts a program on a repository.
   * @throws AllotError unavailable when too many run; Error when the repository is not on the disk
   */
  async start(
    id: number,
    program: Program,
    args: readonly string[],
    { protocol, client, signal }: ProcessClient,
    { idleTimeout, timeout, maxMemory }: ProcessLimits = this.#options,
  ): Promise<GitProcess> {
    const { directory, git, leftoverAge = 0 } = this.#options
    const release = await this.#budget.acquire(client, signal)
    const repository =
      this.#repositories.get(id) ?? new RepositoryProcesses(folderOf(directory, id), leftoverAge)
    this.#repositories.set(id, repository)
    const env = { ...environmentFor(protocol), ...this.#env }
    const options = { git, env, idleTimeout, timeout, maxMemory, isDetached: isWriter(program) }
    const child = await repository
      .start(program, () => startProcess(args, options))
      .catch((error) => {
        release()
        this.#removeUnused(id)
        throw error
      })
    void child.ended.then((result) => {
      release()
      this.#removeUnused(id)
      reportFailure(this.#options, program, id, result)
    })
    if (signal.aborted) child.stop()
    signal.addEventListener('abort', () => child.stop(), { once: true })
    return child
  }

  /**
   * Removes what a writer that has ended left in a repository. When it was stopped, resolves once that is removed: while other
   * writers run, nothing is. So whoever settles the journal entry of the writer afterwards leaves nothing without an entry.
   * @returns false when some of it may belong to another server, so that it must be looked at again when it is old
   */
  async recover(id: number, writer: GitProcess): Promise<boolean> {
    const isComplete = await this.#repositories.get(id)?.recover(writer)
    this.#removeUnused(id)
    return isComplete ?? true
  }

  /** Stops all processes of a repository. */
  async stop(id: number): Promise<void> {
    await this.#repositories.get(id)?.stop()
  }

  /** Whether as many processes run as may run at once. */
  isBusy(): boolean {
    return this.#budget.running() >= this.#options.maxConcurrent
  }

  /** One promise for each running process; resolves when it ends. */
  endings(): Promise<unknown>[] {
    return [...this.#repositories.values()].flatMap((repository) => repository.endings())
  }

  #removeUnused(id: number): void {
    if (this.#repositories.get(id)?.isUnused) this.#repositories.delete(id)
  }
}

/** Reports what the log must have: not a client's mistakes, which git reports to the client. */
const reportFailure = (
  { onError }: ProcessesOptions,
  program: Program,
  repository: number,
  { cause, stderr, code }: ExitResult,
): void => {
  const isKilled = cause === 'exited' && code === null
  if (cause === 'idle' || cause === 'deadline' || isKilled || stderr !== '')
    onError(new Error(`git ${program}: ${stderr || (isKilled ? 'killed' : cause)}`), {
      repository,
      code,
      cause,
    })
}

/**
 * The failure of a response whose git did not write all of its output. The log already has the reason, unless the server or
 * the client ended git on purpose.
 */
export const incompleteOutput = ({ cause, code }: ExitResult): AllotError => {
  const error = new AllotError('unavailable', `git ended before its output was complete: ${code ?? cause}`)
  error.isLogged = true
  return error
}

const WRITERS: readonly Program[] = ['receive-pack', 'gc', 'commit-graph']

const isWriter = (program: Program): boolean => WRITERS.includes(program)

/**
 * The processes of one repository. Invariant: the repository is recovered only while no writer runs on it, and no writer
 * starts during a recovery.
 */
class RepositoryProcesses {
  readonly #folder: string
  /** Seconds: another server may write to a repository of a shared store. */
  readonly #leftoverAge: number
  readonly #running = new Map<GitProcess, Program>()
  #starting = 0
  #startingWriters = 0
  /** Writers that were stopped. */
  readonly #stopped = new WeakSet<GitProcess>()
  #needsRecovery = false
  #recovery: Promise<boolean> | undefined
  /** Those who wait until the last writer has ended. */
  readonly #waiting: { resolve: (isComplete: boolean) => void; reject: (error: Error) => void }[] = []

  constructor(folder: string, leftoverAge: number) {
    this.#folder = folder
    this.#leftoverAge = leftoverAge
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
      this.#recoverForWaiting()
    }
  }

  #register(child: GitProcess, program: Program): void {
    this.#running.set(child, program)
    void child.ended.then(({ cause, code }) => {
      this.#running.delete(child)
      // A git that is asked to end removes its own temporary files, but not those its children still write.
      if (isWriter(program) && (cause !== 'exited' || code === null)) {
        this.#stopped.add(child)
        this.#needsRecovery = true
      }
      this.#recoverForWaiting()
    })
  }

  async recover(writer: GitProcess): Promise<boolean> {
    if (!this.#stopped.has(writer)) return true
    if (!this.#needsRecovery) return this.#recovery ?? true
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#recoverForWaiting()
    })
  }

  #recoverForWaiting(): void {
    const hasWriter = this.#startingWriters > 0 || [...this.#running.values()].some(isWriter)
    if (this.#waiting.length === 0 || hasWriter || this.#recovery !== undefined) return
    const waiting = this.#waiting.splice(0)
    this.#needsRecovery = false
    this.#recovery = recoverRepository(this.#folder, null, this.#leftoverAge).finally(() => {
      this.#recovery = undefined
    })
    this.#recovery.then(
      (isComplete) => {
        for (const { resolve } of waiting) resolve(isComplete)
      },
      (error: Error) => {
        this.#needsRecovery = true
        for (const { reject } of waiting) reject(error)
      },
    )
  }

  async stop(): Promise<void> {
    const running = [...this.#running.keys()]
    for (const child of running) child.stop()
    await Promise.all(running.map(({ ended }) => ended))
  }
}

/** @throws Error when a repository is not on the disk */
export const checkOnDisk = async (folder: string): Promise<void> => {
  await stat(join(folder, 'HEAD')).catch((cause) => {
    throw new Error(`the git data is not where it should be: ${folder}`, { cause })
  })
}
