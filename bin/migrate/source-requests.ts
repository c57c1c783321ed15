import { setTimeout as pause } from 'node:timers/promises'

/**
 * Requests to the source. Every answer is bounded in time and size, and redirects are not followed: the token goes to the
 * address that it was given for and nowhere else.
 */
export interface Limits {
  /** Milliseconds for one answer with its body. */
  timeoutMs: number
  /** Bytes of one body, after decompression. */
  maxBytes: number
  /** Pages of one list. */
  maxPages: number
}

export const LIMITS: Limits = { timeoutMs: 120_000, maxBytes: 32 * 1024 * 1024, maxPages: 20_000 }

export interface Answer {
  status: number
  headers: Headers
  text: string
}

/** How often a request is sent to a server that is busy. */
const TRIES = 4

/** @throws Error when the server cannot be reached, or its answer is too slow or too large */
export const request = async (
  base: string,
  url: string,
  headers: Record<string, string>,
  { timeoutMs, maxBytes }: Limits,
): Promise<Answer> => {
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await fetch(url, { headers, redirect: 'manual', signal })
    return { status: answer.status, headers: answer.headers, text: await bodyOf(answer, maxBytes) }
  } catch (cause) {
    if (cause instanceof TooLarge) throw new Error(`${url.split('?')[0]} ${cause.message}`)
    if ((cause as Error).name === 'TimeoutError')
      throw new Error(`${url.split('?')[0]} did not answer within ${timeoutMs / 1000} s`, { cause })
    throw new Error(`${base} cannot be reached: ${reasonOf(cause as Error)}`, { cause })
  }
}

/** Sends the request again, after a pause, while the server says that it is busy. */
export const patientRequest = async (send: () => Promise<Answer>): Promise<Answer> => {
  for (let attempts = 1; ; attempts++) {
    const answer = await send()
    if ((answer.status !== 429 && answer.status !== 503) || attempts === TRIES) return answer
    const seconds = Number(answer.headers.get('retry-after'))
    await pause(Math.min(seconds > 0 ? seconds : attempts, 60) * 1000)
  }
}

class TooLarge extends Error {}

const bodyOf = async ({ body }: Response, maxBytes: number): Promise<string> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    // Leaving the loop closes the connection.
    if (size > maxBytes) throw new TooLarge(`answered more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** When every address of a name fails, the reasons are in the AggregateError, whose own message is empty. */
const reasonOf = ({ cause, message }: Error): string => {
  if (!(cause instanceof Error)) return message
  return cause instanceof AggregateError ? (cause.errors[0] as Error).message : cause.message
}
