import { Worker } from 'node:worker_threads'
import { AllotError, invalid } from '../errors.ts'
import type { MarkdownInput } from './input.ts'

/** Two: one hostile text must not hold up the others, and a host's cores are not ours to take. */
const WORKERS = 2
const LONGEST_QUEUE = 100

/** A text of a mebibyte can grow a thousandfold on its way to HTML. */
const LIMITS = { maxOldGenerationSizeMb: 192 }

interface Task {
  input: MarkdownInput
  resolve: (html: string) => void
  reject: (error: Error) => void
}

interface Outcome {
  html?: string
  refused?: string
  failed?: string
}

export interface Pool {
  /** @throws AllotError invalid when the deadline passes, unavailable when too many texts are waiting. */
  render(input: MarkdownInput): Promise<string>
  close(): Promise<void>
}

/**
 * Worker threads that are started when first needed. The deadline counts from when a text begins to be rendered, and a
 * worker that is past it is ended: there is no other way to stop a parser in the middle.
 */
export const createPool = (deadline: number): Pool => {
  const idle: Worker[] = []
  const working = new Set<Worker>()
  const queue: Task[] = []

  const start = (): Worker => {
    const worker = startWorker()
    // A worker that waits for work keeps no process alive.
    worker.unref()
    return worker
  }

  /** One that dies while it waits for work is not given any. */
  const forget = (worker: Worker) => {
    const at = idle.indexOf(worker)
    if (at !== -1) idle.splice(at, 1)
  }

  const next = () => {
    if (working.size >= WORKERS) return
    const task = queue.shift()
    if (task !== undefined) run(idle.pop() ?? start(), task)
  }

  const run = (worker: Worker, task: Task) => {
    working.add(worker)
    const finish = (reusable: boolean, settle: () => void) => {
      clearTimeout(timer)
      worker.removeAllListeners()
      worker.on('error', () => forget(worker))
      working.delete(worker)
      if (reusable) idle.push(worker)
      else void worker.terminate()
      settle()
      next()
    }
    const failed = (error: Error) => finish(false, () => task.reject(error))
    const timer = setTimeout(() => failed(tooSlow(deadline)), deadline)
    worker.once('message', ({ html, refused, failed }: Outcome) =>
      finish(true, () => {
        if (html !== undefined) task.resolve(html)
        else task.reject(refused === undefined ? new Error(failed) : invalid(refused))
      }),
    )
    worker.once('error', (error) => failed(isOutOfMemory(error) ? tooLarge() : error))
    worker.once('exit', () => failed(new AllotError('unavailable', 'the markdown worker ended')))
    worker.postMessage(task.input)
  }

  return {
    render: (input) =>
      new Promise((resolve, reject) => {
        if (queue.length >= LONGEST_QUEUE)
          return reject(new AllotError('unavailable', 'too many long texts are waiting to be rendered'))
        queue.push({ input, resolve, reject })
        next()
      }),
    async close() {
      for (const { reject } of queue.splice(0))
        reject(new AllotError('unavailable', 'the server is stopping'))
      await Promise.all([...idle.splice(0), ...working].map((worker) => worker.terminate()))
    },
  }
}

/**
 * The package has the worker as JavaScript. In a checkout it is TypeScript, and Node 20 does not hand the loader of the
 * main thread on to a worker: so it registers its own first.
 */
const startWorker = (): Worker => {
  if (import.meta.url.endsWith('.js'))
    return new Worker(new URL('./worker.js', import.meta.url), { resourceLimits: LIMITS })
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'))
  const file = JSON.stringify(new URL('./worker.ts', import.meta.url).href)
  return new Worker(`import(${loader}).then(({ register }) => { register(); return import(${file}) })`, {
    eval: true,
    resourceLimits: LIMITS,
  })
}

const tooSlow = (deadline: number) =>
  invalid(`Text: it could not be rendered within ${deadline} milliseconds`)

const tooLarge = () => invalid('Text: its HTML would be too large')

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
