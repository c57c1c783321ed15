import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { Allot } from '../../lib/allot.ts'

/** Milliseconds in which a store that is there has answered. */
const TIMEOUTS = 3000

/**
 * Two paths for whoever watches over the process. `/-/healthz` is 200 as long as requests are answered at all;
 * `/-/readyz` is 200 when the store answers too, and 503 when it does not: traffic is to go elsewhere then, and a restart
 * would not help.
 */
export const withHealthChecks =
  (allot: Pick<Allot, 'hosting'>, listener: RequestListener): RequestListener =>
  (req, res) => {
    const path = req.url?.split('?', 1)[0]
    if (path === '/-/healthz') return answer(req, res, 200, 'alive')
    if (path !== '/-/readyz') return listener(req, res)
    isReady(allot).then(
      () => answer(req, res, 200, 'ready'),
      () => answer(req, res, 503, 'the store does not answer'),
    )
  }

const isReady = async ({ hosting }: Pick<Allot, 'hosting'>): Promise<void> => {
  const late = new AbortController()
  try {
    await Promise.race([hosting.accounts.count('user'), lateAfter(late.signal)])
  } finally {
    late.abort()
  }
}

const lateAfter = async (signal: AbortSignal): Promise<never> => {
  await setTimeout(TIMEOUTS, undefined, { signal, ref: false })
  throw new Error('too late')
}

const answer = (req: IncomingMessage, res: ServerResponse, status: number, words: string): void =>
  answerText(req, res, status, `${words}\n`)

/** To whoever reads; anything else is 405. */
export const answerText = (
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  words: string,
  headers: Record<string, string> = {},
): void => {
  const isRead = req.method === 'GET' || req.method === 'HEAD'
  const text = isRead ? words : ''
  res.writeHead(isRead ? status : 405, {
    'Content-Type': 'text/plain;charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(isRead ? headers : { Allow: 'GET, HEAD' }),
  })
  res.end(text)
}
