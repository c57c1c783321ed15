import { parentPort, Worker } from 'node:worker_threads'
import { createClientBudget } from './client-budget.ts'
import { AllotError, type ErrorCode, invalid } from './errors.ts'

interface PoolOptions extends ThreadOptions {
  /** How many threads run at once. */
  threads: number
  /** How many of them one client uses at most; by default half. */
  threadsPerClient?: number
  /** How many tasks of all clients may wait; one client has half of these places. */
  queue: number
  messages: ThreadOptions['messages'] & { busy: string }
}

/** Worker threads that parse untrusted input, so that no input can block the event loop of the server. */
interface Pool<Input, Output> {
  /**
   * @param client whose budget the task counts against: see lib/client-budget.ts
   * @param prepare makes the input, once a thread is free
   * @throws AllotError invalid when the deadline passes, unavailable when too many tasks wait or one waits too long
   */
  run(client: string, prepare: () => Input | Promise<Input>): Promise<Output>
  close(): Promise<void>
}

/**
 * Starts threads on demand and keeps them. Invariant: the budget lets at most `threads` tasks run, so a task with a slot
 * always gets a thread.
 */
export const createPool = <Input, Output>(options: PoolOptions): Pool<Input, Output> => {
  const { threads: slots, threadsPerClient: slotsPerClient, queue, messages } = options
  const share = slotsPerClient === undefined ? {} : { slotsPerClient }
  const budget = createClientBudget({ slots, ...share, queue, message: messages.busy })
  const idle: Thread<Input, Output>[] = []
  const busy = new Set<Thread<Input, Output>>()
  let isClosed = false

  const checkOpen = () => {
    if (isClosed) throw new AllotError('unavailable', 'the server is stopping')
  }
  const liveThread = (): Thread<Input, Output> => {
    for (let thread = idle.pop(); thread !== undefined; thread = idle.pop()) if (thread.isAlive) return thread
    return startThread<Input, Output>(options)
  }
  const runInThread = async (input: Input): Promise<Output> => {
    checkOpen()
    const thread = liveThread()
    busy.add(thread)
    try {
      return await thread.run(input)
    } finally {
      busy.delete(thread)
      if (thread.isAlive) idle.push(thread)
    }
  }

  return {
    async run(client, prepare) {
      checkOpen()
      return budget.run(client, async () => runInThread(await prepare()))
    },
    async close() {
      isClosed = true
      await Promise.all([...idle, ...busy].map((thread) => thread.end()))
    },
  }
}

export interface ThreadOptions {
  /** The worker's module: JavaScript in the package, TypeScript in a checkout. */
  file: URL
  /** For one task, from the time that the thread begins it. */
  deadlineMs: number
  maxMemoryMb: number
  messages: { tooSlow: string; outOfMemory: string }
}

/** A worker thread that runs one task at a time. */
export interface Thread<Input, Output> {
  /** False once the thread has ended. */
  readonly isAlive: boolean
  /** @throws AllotError invalid when a task exceeds the deadline or the memory, unavailable when the thread ends */
  run(input: Input): Promise<Output>
  end(): Promise<unknown>
}

/** For loading the worker's modules, which does not count against the deadline of a task. */
const START_TIMEOUT_MS = 10_000

interface Task<Input, Output> {
  input: Input
  resolve: (output: Output) => void
  reject: (error: Error) => void
}

/** Sent by the worker: that it has loaded its modules, or the result of a task. */
type Message<Output> =
  | { kind: 'ready' }
  | { kind: 'done'; output: Output }
  | { kind: 'refused'; code: ErrorCode; message: string }
  | { kind: 'failed'; message: string }

/** A task that exceeds its deadline ends the thread: a running parser cannot be stopped in another way. */
export const startThread = <Input, Output>(options: ThreadOptions): Thread<Input, Output> => {
  const worker = startWorker(options)
  let [isAlive, isReady] = [true, false]
  let task: Task<Input, Output> | undefined
  let timer: NodeJS.Timeout | undefined

  const settle = (how: (task: Task<Input, Output>) => void) => {
    clearTimeout(timer)
    const settled = task
    task = undefined
    if (settled !== undefined) how(settled)
  }
  const end = (error: Error) => {
    isAlive = false
    settle(({ reject }) => reject(error))
    return worker.terminate()
  }
  const send = ({ input }: Task<Input, Output>) => {
    clearTimeout(timer)
    timer = setTimeout(() => end(invalid(options.messages.tooSlow)), options.deadlineMs)
    worker.postMessage(input)
  }

  worker.on('message', (message: Message<Output>) => {
    if (message.kind !== 'ready') return settle((current) => settleWith(current, message))
    isReady = true
    if (task !== undefined) send(task)
  })
  worker.on('error', (error) =>
    end(isOutOfMemory(error) ? invalid(options.messages.outOfMemory) : threadEnded(error)),
  )
  worker.on('exit', () => end(threadEnded()))
  // An idle worker must not keep the process alive. During a task, the timer does.
  worker.unref()

  return {
    get isAlive() {
      return isAlive
    },
    run: (input) =>
      new Promise((resolve, reject) => {
        task = { input, resolve, reject }
        if (isReady) send(task)
        else timer = setTimeout(() => end(threadEnded()), START_TIMEOUT_MS)
      }),
    end: () => end(new AllotError('unavailable', 'the server is stopping')),
  }
}

const settleWith = <Input, Output>(
  { resolve, reject }: Task<Input, Output>,
  message: Exclude<Message<Output>, { kind: 'ready' }>,
) => {
  if (message.kind === 'done') resolve(message.output)
  else if (message.kind === 'refused') reject(new AllotError(message.code, message.message))
  else reject(new Error(message.message))
}

/** On Node 20 workers do not inherit the TypeScript loader of the main thread, so the worker registers it. */
const startWorker = ({ file, maxMemoryMb }: ThreadOptions): Worker => {
  const resourceLimits = { maxOldGenerationSizeMb: maxMemoryMb }
  if (file.pathname.endsWith('.js')) return new Worker(file, { resourceLimits })
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'))
  const source = `import(${loader}).then(({ register }) => { register(); return import(${JSON.stringify(file.href)}) })`
  return new Worker(source, { eval: true, resourceLimits })
}

const threadEnded = (cause?: unknown) => new AllotError('unavailable', 'a worker thread ended', { cause })

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'

/** The worker's side: runs one task after another. Call it once all modules are loaded. */
export const serveTasks = <Input, Output>(handle: (input: Input) => Output | Promise<Output>): void => {
  const send = (message: Message<Output>) => parentPort?.postMessage(message)
  parentPort?.on('message', async (input: Input) => {
    try {
      send({ kind: 'done', output: await handle(input) })
    } catch (error) {
      // Errors lose their class and code between threads.
      if (error instanceof AllotError) send({ kind: 'refused', code: error.code, message: error.message })
      else send({ kind: 'failed', message: String(error) })
    }
  })
  send({ kind: 'ready' })
}
