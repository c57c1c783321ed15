import { Worker } from 'node:worker_threads'
import { AllotError, invalid } from '../errors.ts'
import type { MarkdownInput } from './input.ts'

/** Milliseconds that a worker may take to load the parsers, which are not the text's fault. */
const STARTING = 10_000

/** A text of a mebibyte can grow a thousandfold on its way to HTML. */
const LIMITS = { maxOldGenerationSizeMb: 192 }

/** What a worker says: that it has started, or how its text ended. */
export interface Message {
  ready?: true
  html?: string
  refused?: string
  failed?: string
}

/** A worker thread that renders one text at a time. */
export interface Thread {
  /** False once it has been ended or has died: it renders no more. */
  readonly alive: boolean
  /** @throws AllotError invalid when the deadline or the memory is exceeded, unavailable when the thread dies. */
  render(input: MarkdownInput): Promise<string>
  end(): Promise<unknown>
}

interface Task {
  input: MarkdownInput
  resolve: (html: string) => void
  reject: (error: Error) => void
}

/** A text past its deadline takes its worker along: there is no other way to stop a parser in the middle. */
export const startThread = (deadline: number): Thread => {
  const worker = startWorker()
  let alive = true
  let ready = false
  let task: Task | undefined
  let timer: NodeJS.Timeout | undefined

  const settle = (how: (task: Task) => void) => {
    clearTimeout(timer)
    const settled = task
    task = undefined
    if (settled !== undefined) how(settled)
  }

  const end = (error: Error) => {
    alive = false
    settle(({ reject }) => reject(error))
    return worker.terminate()
  }

  const give = ({ input }: Task) => {
    clearTimeout(timer)
    timer = setTimeout(() => end(tooSlow(deadline)), deadline)
    worker.postMessage(input)
  }

  worker.on('message', (message: Message) => {
    if (!message.ready) return settle((of) => answer(of, message))
    ready = true
    if (task !== undefined) give(task)
  })
  worker.on('error', (error) => end(isOutOfMemory(error) ? tooLarge() : died(error)))
  worker.on('exit', () => end(died()))
  // A worker that waits for work keeps no process alive; the timer of one that works does.
  worker.unref()

  return {
    get alive() {
      return alive
    },
    render: (input) =>
      new Promise((resolve, reject) => {
        task = { input, resolve, reject }
        if (ready) give(task)
        else timer = setTimeout(() => end(died()), STARTING)
      }),
    end: () => end(new AllotError('unavailable', 'the server is stopping')),
  }
}

const answer = ({ resolve, reject }: Task, { html, refused, failed }: Message) => {
  if (html !== undefined) resolve(html)
  else reject(refused === undefined ? new Error(failed) : invalid(refused))
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

const died = (cause?: unknown) => new AllotError('unavailable', 'the markdown worker ended', { cause })

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
