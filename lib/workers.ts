import { createClientBudget } from './client-budget.ts'
import { AllotError } from './errors.ts'
import { startThread, type Thread, type ThreadOptions } from './workers/thread.ts'

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
