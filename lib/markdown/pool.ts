import { createPool as createWorkerPool, type Pool } from '../workers/pool.ts'
import type { MarkdownInput } from './input.ts'

/** In the package the module has been bundled into another folder than the worker's source. */
const WORKER = new URL(import.meta.url.endsWith('.js') ? './worker.js' : './worker.ts', import.meta.url)

/**
 * Renders texts in worker threads. One client keeps at most two of them busy, so that the third is free for the others.
 *
 * @param deadlineMs how long a text may take, counted from when a worker begins to render it
 */
export const createPool = (deadlineMs: number): Pool<MarkdownInput, string> =>
  createWorkerPool({
    ...{ file: WORKER, threads: 3, threadsPerClient: 2, queue: 128, deadlineMs },
    // A text of a mebibyte can grow a thousandfold on its way to HTML.
    maxMemoryMb: 192,
    messages: {
      tooSlow: `Text: it could not be rendered within ${deadlineMs} milliseconds`,
      outOfMemory: 'Text: its HTML would be too large',
      busy: 'too many texts are waiting to be rendered',
    },
  })
