import { createClientBudget } from '../client-budget.ts'
import { AllotError } from '../errors.ts'
import { startThread, type Thread, type ThreadOptions } from './thread.ts'

export interface PoolOptions extends ThreadOptions {
  /** How many threads run at once. One client uses at most half of them. */
  threads: number
  /** How many tasks wait, of all clients together. */
  queue: number
  messages: ThreadOptions['messages'] & { busy: string }
}

/** Worker threads for parsers of foreign bytes. */
export interface Pool<Input, Output> {
  /**
   * @param client whose budget the task counts against: see lib/client-budget.ts
   * @throws AllotError invalid when the deadline passes, unavailable when too many tasks wait or one waits too long
   */
  run(client: string, input: Input): Promise<Output>
  close(): Promise<void>
}

/**
 * Starts threads when they are first needed and keeps them. The budget lets at most as many tasks run as there may be
 * threads, so a task that has its slot always finds one.
 */
export const createPool = <Input, Output>(options: PoolOptions): Pool<Input, Output> => {
  const { threads: slots, queue, messages } = options
  const budget = createClientBudget({ slots, queue, message: messages.busy })
  const threads = new Set<Thread<Input, Output>>()
  const idle: Thread<Input, Output>[] = []
  let isClosed = false

  const aliveThread = (): Thread<Input, Output> => {
    for (const thread of threads) if (!thread.isAlive) threads.delete(thread)
    for (let thread = idle.pop(); thread !== undefined; thread = idle.pop()) if (thread.isAlive) return thread
    const started = startThread<Input, Output>(options)
    threads.add(started)
    return started
  }

  const runInThread = async (input: Input): Promise<Output> => {
    if (isClosed) throw stopping()
    const thread = aliveThread()
    try {
      return await thread.run(input)
    } finally {
      idle.push(thread)
    }
  }

  return {
    async run(client, input) {
      if (isClosed) throw stopping()
      return budget.run(client, () => runInThread(input))
    },
    async close() {
      isClosed = true
      await Promise.all([...threads].map((thread) => thread.end()))
    },
  }
}

const stopping = () => new AllotError('unavailable', 'the server is stopping')
