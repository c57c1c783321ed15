import { parentPort } from 'node:worker_threads'
import { AllotError } from '../errors.ts'
import type { MarkdownInput } from './input.ts'
import { render } from './render.ts'
import type { Message } from './thread.ts'

const say = (message: Message) => parentPort?.postMessage(message)

/** The other end of lib/markdown/thread.ts: one text at a time. */
parentPort?.on('message', (input: MarkdownInput) => {
  try {
    say({ html: render(input) })
  } catch (error) {
    // An error loses its class on the way between threads, so a refusal is said apart.
    say(error instanceof AllotError ? { refused: error.message } : { failed: String(error) })
  }
})
say({ ready: true })
