import { AllotError } from '../errors.ts'
import type { MarkdownInput } from './input.ts'
import { startThread, type Thread } from './thread.ts'

/** Two: one hostile text must not hold up the others, and a host's cores are not ours to take. */
const WORKERS = 2
const LONGEST_QUEUE = 100
/** Milliseconds that a text waits for a worker. */
const LONGEST_WAIT = 10_000

interface Waiting {
  input: MarkdownInput
  timer: NodeJS.Timeout
  resolve: (html: Promise<string>) => void
  reject: (error: Error) => void
}

export interface Pool {
  /** @throws AllotError invalid when the deadline passes, unavailable when too many texts wait or one waits too long. */
  render(input: MarkdownInput): Promise<string>
  close(): Promise<void>
}

/** Worker threads that are started when first needed. The deadline counts from when a text begins to be rendered. */
export const createPool = (deadline: number): Pool => {
  const threads = new Set<Thread>()
  const idle = new Set<Thread>()
  const queue = new Set<Waiting>()
  let closed = false

  const idleThread = (): Thread | undefined => {
    for (const thread of threads) if (!thread.alive) threads.delete(thread)
    for (const thread of idle) {
      idle.delete(thread)
      if (thread.alive) return thread
    }
    if (threads.size >= WORKERS) return undefined
    const thread = startThread(deadline)
    threads.add(thread)
    return thread
  }

  const next = () => {
    const [waiting] = queue
    const thread = waiting && idleThread()
    if (waiting === undefined || thread === undefined) return
    leave(waiting)
    const html = thread.render(waiting.input)
    waiting.resolve(html)
    const done = () => {
      idle.add(thread)
      next()
    }
    html.then(done, done)
  }

  const leave = (waiting: Waiting) => {
    clearTimeout(waiting.timer)
    queue.delete(waiting)
  }

  const refuse = (waiting: Waiting, reason: string) => {
    leave(waiting)
    waiting.reject(unavailable(reason))
  }

  const enter = (input: MarkdownInput) =>
    new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => refuse(waiting, TOO_MANY), LONGEST_WAIT)
      const waiting = { input, timer, resolve, reject }
      queue.add(waiting)
      next()
    })

  return {
    async render(input) {
      if (closed) throw unavailable(STOPPING)
      if (queue.size >= LONGEST_QUEUE) throw unavailable(TOO_MANY)
      return enter(input)
    },
    async close() {
      closed = true
      for (const waiting of queue) refuse(waiting, STOPPING)
      await Promise.all([...threads].map((thread) => thread.end()))
    },
  }
}

const TOO_MANY = 'too many long texts are waiting to be rendered'
const STOPPING = 'the server is stopping'

const unavailable = (reason: string) => new AllotError('unavailable', reason)
