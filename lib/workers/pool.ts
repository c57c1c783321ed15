import { createClientBudget } from '../client-budget.ts'
import { AllotError } from '../errors.ts'
import { startThread, type Thread, type ThreadOptions } from './thread.ts'

export interface PoolOptions extends ThreadOptions {
  /** How many threads run at once. */
  threads: number
  /** How many of them one client uses at most; by default half. */
  threadsPerClient?: number
  /** How many tasks wait, of all clients together. One client has half of the places. */
  queue: number
  messages: ThreadOptions['messages'] & { busy: string }
}

/** Worker threads for parsers of foreign bytes. */
export interface Pool<Input, Output> {
  /**
   * @param client whose budget the task counts against: see lib/client-budget.ts
   * @param prepare makes the input, once a thread is free for it
   * @throws AllotError invalid when the deadline passes, unavailable when too many tasks wait or one waits too long
   */
  run(client: string, prepare: () => Input | Promise<Input>): Promise<Output>
  close(): Promise<void>
}

/**
 * Starts threads when they are first needed and keeps them. The budget lets at most as many tasks run as there may be
 * threads, so a task that has its slot always finds one.
 */
export const createPool = <Input, Output>(options: PoolOptions): Pool<Input, Output> => {
  const { threads: slots, threadsPerClient: slotsPerClient, queue, messages } = options
  const share = slotsPerClient === undefined ? {} : { slotsPerClient }
  const budget = createClientBudget({ slots, ...share, queue, message: messages.busy })
  const idle: Thread<Input, Output>[] = []
  const busy = new Set<Thread<Input, Output>>()
  let isClosed = false
  const refuseWhenClosed = () => {
    if (isClosed) throw new AllotError('unavailable', 'the server is stopping')
  }

  const aliveThread = (): Thread<Input, Output> => {
    for (let thread = idle.pop(); thread !== undefined; thread = idle.pop()) if (thread.isAlive) return thread
    return startThread<Input, Output>(options)
  }

  const runInThread = async (input: Input): Promise<Output> => {
    refuseWhenClosed()
    const thread = aliveThread()
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
      refuseWhenClosed()
      return budget.run(client, async () => runInThread(await prepare()))
    },
    async close() {
      isClosed = true
      await Promise.all([...idle, ...busy].map((thread) => thread.end()))
    },
  }
}
