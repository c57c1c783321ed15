import { Readable } from 'node:stream'

/** Bytes of a request that may be held in memory: those of most fetches. */
const HELD = 64 * 1024

/**
 * Waits until a body has come whole, or more of it than is held in memory. Invariant: a client that sends headers and no
 * body takes nothing that others wait for.
 * @returns the same bytes; the rest of a larger body is still to come
 */
export const arrived = async (body: Readable): Promise<Readable> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size <= HELD) continue
    body.unshift(Buffer.concat(chunks))
    return body
  }
  return Readable.from(chunks)
}
