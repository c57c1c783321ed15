import { parentPort, Worker } from 'node:worker_threads'
import { AllotError, type ErrorCode, invalid } from '../errors.ts'

export interface ThreadOptions {
  /** The worker's module: JavaScript in the package, TypeScript in a checkout. */
  file: URL
  /** How long a task may take. */
  deadlineMs: number
  maxMemoryMb: number
  messages: { tooSlow: string; outOfMemory: string }
}

/** A worker thread that answers one task at a time. */
export interface Thread<Input, Output> {
  /** False once the thread has ended: it takes no more tasks. */
  readonly isAlive: boolean
  /** @throws AllotError invalid when the deadline or the memory is exceeded, unavailable when the thread dies. */
  run(input: Input): Promise<Output>
  end(): Promise<unknown>
}

/** How long a worker may take to load its modules, which is not the task's fault. */
const START_TIMEOUT_MS = 10_000

interface Task<Input, Output> {
  input: Input
  resolve: (output: Output) => void
  reject: (error: Error) => void
}

/** A task past its deadline ends its thread: nothing else stops a parser in the middle. */
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
    if (message.kind !== 'ready') return settle((of) => settleWith(of, message))
    isReady = true
    if (task !== undefined) send(task)
  })
  worker.on('error', (error) =>
    end(isOutOfMemory(error) ? invalid(options.messages.outOfMemory) : died(error)),
  )
  worker.on('exit', () => end(died()))
  // An idle worker keeps no process alive; the timer of a running task does.
  worker.unref()

  return {
    get isAlive() {
      return isAlive
    },
    run: (input) =>
      new Promise((resolve, reject) => {
        task = { input, resolve, reject }
        if (isReady) send(task)
        else timer = setTimeout(() => end(died()), START_TIMEOUT_MS)
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

/** Node 20 does not hand the TypeScript loader of the main thread on to a worker, so in a checkout the worker registers it. */
const startWorker = ({ file, maxMemoryMb }: ThreadOptions): Worker => {
  const resourceLimits = { maxOldGenerationSizeMb: maxMemoryMb }
  if (file.pathname.endsWith('.js')) return new Worker(file, { resourceLimits })
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'))
  const source = `import(${loader}).then(({ register }) => { register(); return import(${JSON.stringify(file.href)}) })`
  return new Worker(source, { eval: true, resourceLimits })
}

const died = (cause?: unknown) => new AllotError('unavailable', 'a worker thread ended', { cause })

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'

/** What a worker sends: that it is ready, or how a task ended. */
export type Message<Output> =
  | { kind: 'ready' }
  | { kind: 'done'; output: Output }
  | { kind: 'refused'; code: ErrorCode; message: string }
  | { kind: 'failed'; message: string }

/** The worker's side of lib/workers/thread.ts: answers one task after another. Call this once everything is loaded. */
export const serveTasks = <Input, Output>(handle: (input: Input) => Output | Promise<Output>): void => {
  const send = (message: Message<Output>) => parentPort?.postMessage(message)
  parentPort?.on('message', async (input: Input) => {
    try {
      send({ kind: 'done', output: await handle(input) })
    } catch (error) {
      // An error loses its class between threads, so its code is sent apart.
      if (error instanceof AllotError) send({ kind: 'refused', code: error.code, message: error.message })
      else send({ kind: 'failed', message: String(error) })
    }
  })
  send({ kind: 'ready' })
}
