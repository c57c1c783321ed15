import { parentPort } from 'node:worker_threads'
import { AllotError, type ErrorCode } from '../errors.ts'

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
