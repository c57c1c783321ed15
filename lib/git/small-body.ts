import type { Readable } from 'node:stream'

/**
 * Reads a body to its end when it is small, so that git starts after the whole request has arrived.
 * @returns undefined when the body is larger than `maxBytes`; the stream then still has all of it
 */
export const readSmallBody = async (body: Readable, maxBytes: number): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size <= maxBytes) continue
    body.unshift(Buffer.concat(chunks))
    return undefined
  }
  return Buffer.concat(chunks)
}
