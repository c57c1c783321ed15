import type { Readable } from 'node:stream'
import { AllotError } from '../errors.ts'

/**
 * The chunks of a request body, which stays open when the reader stops early.
 * @param idleTimeout milliseconds that may pass without a byte: the option `git.idleTimeout`
 * @throws AllotError bad_request when more pass
 */
export async function* chunksOf(body: Readable, idleTimeout: number): AsyncGenerator<Buffer> {
  const chunks = body.iterator({ destroyOnReturn: false })
  let isIdle = false
  try {
    for (;;) {
      const next = await orIdle(chunks.next(), idleTimeout)
      isIdle = next === undefined
      if (next === undefined)
        throw new AllotError(
          'bad_request',
          `no data of the request arrived for ${idleTimeout / 1000} seconds`,
        )
      if (next.done === true) return
      yield next.value as Buffer
    }
  } finally {
    const returned = chunks.return?.()
    // An idle stream returns only once it gets more, or is closed.
    if (!isIdle) await returned
  }
}

/** @returns undefined when the promise takes longer */
const orIdle = async <T>(promise: Promise<T>, timeoutMs: number): Promise<T | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const idle = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), timeoutMs)
  })
  return Promise.race([promise, idle]).finally(() => clearTimeout(timer))
}

/**
 * Reads a body to its end when it is small, so that git starts after the whole request has arrived.
 * @returns undefined when the body is larger than `maxBytes`; the stream then still has all of it
 * @throws AllotError as {@link chunksOf}
 */
export const readSmallBody = async (
  body: Readable,
  maxBytes: number,
  idleTimeout: number,
): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of chunksOf(body, idleTimeout)) {
    chunks.push(chunk)
    size += chunk.length
    if (size <= maxBytes) continue
    body.unshift(Buffer.concat(chunks))
    return undefined
  }
  return Buffer.concat(chunks)
}
