import { createClientBudget } from '../client-budget.ts'
import { AllotError } from '../errors.ts'
import type { MarkdownInput } from './input.ts'
import { startThread, type Thread } from './thread.ts'

/** One client keeps at most two workers busy, so that the third is free for the others. */
const WORKERS = 3
const WORKERS_PER_CLIENT = 2
const QUEUE = 128
const QUEUE_PER_CLIENT = 64

export interface Pool {
  /**
   * @param client whose share of the workers the text counts against
   * @param prepare reads what the text needs, once a worker is free for it
   * @throws AllotError invalid when the deadline passes, unavailable when the client's texts wait too long or are too many
   */
  render(client: string, prepare: () => Promise<MarkdownInput>): Promise<string>
  close(): Promise<void>
}

/**
 * Worker threads that are started when first needed, as many as the budget has slots: whatever is given a slot finds a worker.
 *
 * @param deadline milliseconds that a text may take, counted from when a worker begins to render it
 */
export const createPool = (deadline: number): Pool => {
  const idle: Thread[] = []
  const busy = new Set<Thread>()
  const budget = createClientBudget({
    ...{ slots: WORKERS, slotsPerClient: WORKERS_PER_CLIENT, queue: QUEUE, queuePerClient: QUEUE_PER_CLIENT },
    message: 'too many texts are waiting to be rendered',
  })
  let closed = false
  const refuseWhenClosed = () => {
    if (closed) throw new AllotError('unavailable', 'the server is stopping')
  }

  const idleThread = (): Thread => {
    for (let thread = idle.pop(); thread !== undefined; thread = idle.pop()) if (thread.alive) return thread
    return startThread(deadline)
  }

  const render = async (input: MarkdownInput): Promise<string> => {
    refuseWhenClosed()
    const thread = idleThread()
    busy.add(thread)
    try {
      return await thread.render(input)
    } finally {
      busy.delete(thread)
      if (thread.alive) idle.push(thread)
    }
  }

  return {
    async render(client, prepare) {
      refuseWhenClosed()
      return budget.run(client, async () => render(await prepare()))
    },
    async close() {
      closed = true
      await Promise.all([...idle, ...busy].map((thread) => thread.end()))
    },
  }
}
