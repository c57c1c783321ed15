import { ClientBudget } from '../client-budget.ts'
import { AllotError } from '../errors.ts'
import {
  type ExitResult,
  environmentFor,
  type GitProcess,
  type ProcessLimits,
  startProcess,
} from './process.ts'
import { RepositoryProcesses } from './repository-processes.ts'

/** The git programs that change a repository. What they leave when they are stopped is removed. */
const WRITERS = ['receive-pack', 'gc', 'commit-graph'] as const

/** Those that would begin before their journal entry is saved: they read no input. */
const HELD: readonly Program[] = ['gc', 'commit-graph']

/** The long-running git programs. */
export type Program =
  | (typeof WRITERS)[number]
  | 'count-objects'
  | 'upload-pack'
  | 'receive-pack --advertise-refs'
  | ReadCommand

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
  /** The account or the address whose budget of processes is used: `clientOf` (lib/clients.ts). */
  readonly client: string
  /** Aborted when the client disconnects: stops the process. */
  readonly signal: AbortSignal
  /** Count of bytes on the client's connection, see {@link ProcessLimits.traffic}. */
  readonly traffic?: ProcessLimits['traffic']
  /** Whether a hook asks the server. */
  readonly hasChannel?: boolean
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
  /** The repositories of processes that may have ended. */
  readonly #repositoryOf = new WeakMap<GitProcess, RepositoryProcesses>()

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
   * Starts a program on a repository. One that maintains it begins when a line is written to its input.
   * @throws AllotError unavailable when too many run; Error when the repository is not on the disk
   */
  async start(
    id: number,
    program: Program,
    args: readonly string[],
    { protocol, client, signal, traffic, hasChannel = false }: ProcessClient,
    { idleTimeout, timeout, maxMemory }: ProcessLimits = this.#options,
  ): Promise<GitProcess> {
    const { git } = this.#options
    const release = await this.#budget.acquire(client, { signal })
    const onUnused = () => void this.#repositories.delete(id)
    const repository = this.#repositories.get(id) ?? new RepositoryProcesses(id, this.#options, onUnused)
    this.#repositories.set(id, repository)
    const env = { ...environmentFor(protocol), ...this.#env }
    const kind = { isDetached: isWriter(program), isHeld: HELD.includes(program), hasChannel }
    const options = { git, env, idleTimeout, traffic, timeout, maxMemory, ...kind }
    const child = await repository
      .start(isWriter(program), () => startProcess(args, options))
      .catch((error) => {
        release()
        throw error
      })
    this.#repositoryOf.set(child, repository)
    const stop = () => child.stop()
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    void child.ended.then((result) => {
      signal.removeEventListener('abort', stop)
      release()
      reportFailure(this.#options, program, id, result)
    })
    return child
  }

  /**
   * Waits until what a stopped writer left is removed. While other writers run, which may be for as long as
   * clients like, nothing is removed: the last of them does it, and the journal entries of those that still
   * run stay until then.
   * @returns false when some of it is not removed: the journal entry must stay
   */
  isCleaned(writer: GitProcess): Promise<boolean> {
    return this.#repositoryOf.get(writer)!.recovered
  }

  /** Stops all processes of a repository. */
  async stop(id: number): Promise<void> {
    await this.#repositories.get(id)?.stop()
  }

  /** Whether as many processes run as may run at once. */
  isBusy(): boolean {
    return this.#budget.running() >= this.#options.maxConcurrent
  }

  /** One promise for each running process and recovery; resolves when it ends. */
  endings(): Promise<unknown>[] {
    return [...this.#repositories.values()].flatMap((repository) => repository.endings())
  }
}

/** git warns of what it goes on with, such as faults of old histories. */
const WARNINGS = /^(?:warning|hint): .*$\n?/gm

/** Reports what the log must have: not a client's mistakes, which git reports to the client. */
const reportFailure = (
  { onError }: ProcessesOptions,
  program: Program,
  repository: number,
  { cause, stderr, code }: ExitResult,
): void => {
  const isKilled = cause === 'exited' && code === null
  const said = stderr.replace(WARNINGS, '').trim()
  if (cause === 'idle' || cause === 'deadline' || isKilled || said !== '')
    onError(new Error(`git ${program}: ${said || (isKilled ? 'killed' : cause)}`), {
      repository,
      code,
      cause,
    })
}

/**
 * Resolves when git has written all of its output, and rejects when it was stopped or has failed: a client
 * must not take a part for the whole. May be left without a reader, since a client may leave, and the reply
 * to a HEAD has no body.
 */
export const completionOf = (
  { ended }: GitProcess,
  isComplete = ({ code }: ExitResult): boolean => code !== null,
): Promise<void> => {
  const completed = ended.then((result) => {
    if (result.cause !== 'exited' || !isComplete(result)) throw incompleteOutput(result)
  })
  completed.catch(() => undefined)
  return completed
}

/** Resolves as {@link completionOf}, and rejects also when git reports a failure. */
export const successOf = (child: GitProcess): Promise<void> => completionOf(child, ({ code }) => code === 0)

/** The log already has the reason, unless the server or the client ended git on purpose. */
const incompleteOutput = ({ cause, code }: ExitResult): AllotError => {
  const error = new AllotError('unavailable', `git ended before its output was complete: ${code ?? cause}`)
  error.isLogged = true
  return error
}

const isWriter = (program: Program): boolean => (WRITERS as readonly Program[]).includes(program)
