import { parentPort } from 'node:worker_threads'
import { AllotError } from '../errors.ts'
import type { MarkdownInput } from './input.ts'
import { render } from './render.ts'

/** The other end of lib/markdown/pool.ts: one text at a time. */
parentPort?.on('message', (input: MarkdownInput) => {
  try {
    parentPort?.postMessage({ html: render(input) })
  } catch (error) {
    // An error loses its class on the way between threads, so a refusal is said apart.
    const refused = error instanceof AllotError ? error.message : undefined
    parentPort?.postMessage({ refused, failed: String(error) })
  }
})
