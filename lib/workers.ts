import { parentPort, Worker } from 'node:worker_threads'
import { ClientBudget, type ClientBudgetOptions } from './client-budget.ts'
import { AllotError, type ErrorCode, invalid } from './errors.ts'

interface ThreadOptions {
  /** The worker's module: JavaScript in the package, TypeScript in a checkout. */
  file: URL
  /** Milliseconds for one task, from the time that the thread begins it. */
  deadlineMs: number
  maxMemoryMb: number
  messages: { tooSlow: string; outOfMemory: string }
}

interface PoolOptions extends ThreadOptions {
  /** Limits of the clients; each slot is a thread. */
  budget: ClientBudgetOptions
}

/** Milliseconds after which a thread without a task ends. */
const MAX_IDLE_MS = 5 * 60_000

/**
 * Worker threads that parse untrusted input, so that no input can block the event loop of the server. They
 * are started on demand, and end when they have been idle for long. Invariant: the budget lets at most one
 * task run for each thread, so a task with a slot always gets one.
 */
export class WorkerPool<Input, Output> {
  readonly #options: PoolOptions
  readonly #budget: ClientBudget
  /** Idle threads in the order in which they became idle, and the timer that ends each. */
  readonly #idle = new Map<Thread<Input, Output>, NodeJS.Timeout>()
  readonly #busy = new Set<Thread<Input, Output>>()
  #isClosed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#budget = new ClientBudget(options.budget)
  }

  /**
   * @param client whose budget the task counts against: see lib/clients.ts
   * @param prepare makes the input, once a thread is free
   * @throws AllotError invalid when the deadline passes, unavailable when too many tasks wait or one waits
   * too long
   */
  async run(client: string, prepare: () => Input | Promise<Input>): Promise<Output> {
    this.#checkOpen()
    return this.#budget.run(client, async () => this.#runInThread(await prepare()))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#idle.keys(), ...this.#busy].map((thread) => this.#end(thread)))
  }

  async #runInThread(input: Input): Promise<Output> {
    this.#checkOpen()
    const thread = this.#takeIdle() ?? new Thread<Input, Output>(this.#options)
    this.#busy.add(thread)
    try {
      return await thread.run(input)
    } finally {
      this.#busy.delete(thread)
      if (thread.isAlive) this.#keepIdle(thread)
    }
  }

  /** The thread that became idle last, so that those which are not needed end. */
  #takeIdle(): Thread<Input, Output> | undefined {
    for (const [thread, timer] of [...this.#idle].reverse()) {
      clearTimeout(timer)
      this.#idle.delete(thread)
      if (thread.isAlive) return thread
    }
    return undefined
  }

  #keepIdle(thread: Thread<Input, Output>): void {
    const timer = setTimeout(() => void this.#end(thread), MAX_IDLE_MS)
    this.#idle.set(thread, timer.unref())
  }

  #end(thread: Thread<Input, Output>): Promise<unknown> {
    clearTimeout(this.#idle.get(thread))
    this.#idle.delete(thread)
    return thread.end(stopping())
  }

  #checkOpen(): void {
    if (this.#isClosed) throw stopping()
  }
}

const stopping = () => new AllotError('unavailable', 'the server is stopping')

/** Time in which a worker must load modules; it does not count against the deadline of a task. */
const LOAD_TIMEOUT_MS = 30_000

interface Task<Input, Output> {
  input: Input
  resolve: (output: Output) => void
  reject: (error: Error) => void
}

/**
 * Sent by a worker: that it has loaded its modules, that it loads another one or has done so, or the result
 * of a task. Only an AllotError has a code.
 */
export type WorkerMessage<Output> =
  | { kind: 'ready' }
  | { kind: 'loading' }
  | { kind: 'loaded' }
  | { kind: 'done'; output: Output }
  | { kind: 'failed'; code: ErrorCode | undefined; message: string; field?: string | undefined }

/**
 * A worker thread that runs one task at a time. A task that exceeds its deadline ends the thread: a running
 * parser cannot be stopped in another way.
 */
class Thread<Input, Output> {
  readonly #options: ThreadOptions
  readonly #worker: Worker
  #isReady = false
  #task: Task<Input, Output> | undefined
  #timer: NodeJS.Timeout | undefined
  /** What was left of the deadline of the task, in milliseconds, when its time last began to run. */
  #leftMs = 0
  #runsSince = 0
  /** False once the thread has ended. */
  isAlive = true

  constructor(options: ThreadOptions) {
    this.#options = options
    this.#worker = startWorker(options)
    this.#worker.on('message', (message: WorkerMessage<Output>) => this.#receive(message))
    this.#worker.on('error', (error) =>
      this.end(isOutOfMemory(error) ? invalid(options.messages.outOfMemory) : threadEnded(error)),
    )
    this.#worker.on('exit', () => this.end(threadEnded()))
    // An idle worker must not keep the process alive. During a task, the timer does.
    this.#worker.unref()
  }

  /**
   * @throws AllotError invalid when a task exceeds the deadline or the memory, unavailable when the thread
   * ends
   */
  run(input: Input): Promise<Output> {
    return new Promise((resolve, reject) => {
      this.#task = { input, resolve, reject }
      if (this.#isReady) this.#send(input)
      else this.#startTimer(LOAD_TIMEOUT_MS, threadEnded)
    })
  }

  /** @param error of the running task */
  end(error: AllotError): Promise<unknown> {
    this.isAlive = false
    this.#takeTask()?.reject(error)
    return this.#worker.terminate()
  }

  #send(input: Input): void {
    this.#startDeadline(this.#options.deadlineMs)
    this.#worker.postMessage(input)
  }

  #startDeadline(leftMs: number): void {
    this.#leftMs = leftMs
    this.#runsSince = performance.now()
    this.#startTimer(leftMs, () => invalid(this.#options.messages.tooSlow))
  }

  /** Stops the deadline while the task loads a module. */
  #pauseDeadline(): void {
    this.#leftMs -= performance.now() - this.#runsSince
    this.#startTimer(LOAD_TIMEOUT_MS, threadEnded)
  }

  #startTimer(delayMs: number, error: () => AllotError): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.end(error()), delayMs)
  }

  #receive(message: WorkerMessage<Output>): void {
    if (message.kind === 'ready') {
      this.#isReady = true
      if (this.#task !== undefined) this.#send(this.#task.input)
    } else if (message.kind === 'loading') this.#pauseDeadline()
    else if (message.kind === 'loaded') this.#startDeadline(this.#leftMs)
    else if (message.kind === 'done') this.#takeTask()?.resolve(message.output)
    else {
      const { code, message: text, field } = message
      this.#takeTask()?.reject(code === undefined ? new Error(text) : new AllotError(code, text, { field }))
    }
  }

  #takeTask(): Task<Input, Output> | undefined {
    clearTimeout(this.#timer)
    const task = this.#task
    this.#task = undefined
    return task
  }
}

/**
 * A quarter of V8's own limit. Measured with a markdown thread that renders README.md 600 times: the process
 * takes 9 MiB less than with half of the limit, and up to 7 % more processor time. Threads with other work
 * were not measured: they take the same, since a smaller young generation can cost them processor time only.
 */
const MAX_YOUNG_GENERATION_MB = 12

/**
 * Starts a worker. On Node 20, workers do not inherit the TypeScript loader of the main thread, so the worker
 * registers it.
 */
export const startWorker = ({ file, maxMemoryMb }: Pick<ThreadOptions, 'file' | 'maxMemoryMb'>): Worker => {
  const resourceLimits = {
    maxOldGenerationSizeMb: maxMemoryMb,
    maxYoungGenerationSizeMb: MAX_YOUNG_GENERATION_MB,
  }
  // A worker inherits the options of Node. Those of V8 may not be passed on, and one of `node --eval` makes
  // its file an error.
  const isEval = process.execArgv.some((option) => option.startsWith('--input-type'))
  const options = { resourceLimits, ...(isEval ? { execArgv: [] } : {}) }
  if (file.pathname.endsWith('.js')) return new Worker(file, options)
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'))
  const source = `import(${loader}).then(({ register }) => { register(); return import(${JSON.stringify(file.href)}) })`
  return new Worker(source, { eval: true, resourceLimits })
}

const threadEnded = (cause?: unknown) => new AllotError('unavailable', 'a worker thread ended', { cause })

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'

/**
 * Imports a module that only some tasks need. Call it in a worker, during a task, whose deadline does not run
 * meanwhile.
 */
export const importForTask = async <Module>(importModule: () => Promise<Module>): Promise<Module> => {
  const send = (message: WorkerMessage<never>) => parentPort?.postMessage(message)
  send({ kind: 'loading' })
  try {
    return await importModule()
  } finally {
    send({ kind: 'loaded' })
  }
}

/**
 * The worker's side: runs one task after another. Call it once the modules that every task needs are loaded.
 */
export const serveTasks = <Input, Output>(handle: (input: Input) => Output | Promise<Output>): void => {
  const send = (message: WorkerMessage<Output>) => parentPort?.postMessage(message)
  parentPort?.on('message', async (input: Input) => {
    try {
      send({ kind: 'done', output: await handle(input) })
    } catch (error) {
      // Errors lose their class and code between threads.
      if (error instanceof AllotError)
        send({ kind: 'failed', code: error.code, message: error.message, field: error.field })
      else send({ kind: 'failed', code: undefined, message: String(error) })
    }
  })
  send({ kind: 'ready' })
}
