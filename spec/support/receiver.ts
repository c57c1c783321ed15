import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AllotOptions } from '../../lib/index.ts'
import { listen } from './listen.ts'
import { waitFor } from './wait-for.ts'

/** A delivery, as a receiver of webhooks got it. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The JSON of the body; undefined for a form. */
  // biome-ignore lint/suspicious/noExplicitAny: specs look at members of any event.
  readonly body: any
  /** Milliseconds on the clock of `performance.now`. */
  readonly time: number
}

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  /** Deliveries at a path, once there are so many of them. */
  at(path: string, count: number): Promise<Received[]>
  stop(): Promise<void>
}

/** Options of a server that sends to such receivers. */
export const TO_RECEIVERS = {
  repositories: false,
  webhooks: { allowedHosts: ['127.0.0.1'] },
} satisfies Partial<AllotOptions>

/** The body of a request that creates a webhook. */
export const hookTo = (url: string, ...events: string[]) => ({
  ...{ type: 'gitea', config: { url, content_type: 'json' }, events, active: true },
})

/**
 * Starts a receiver of webhooks.
 * @param answer the deliveries; 200 when absent
 */
export const startReceiver = async (
  answer: (received: Received, res: ServerResponse) => void = (_, res) => void res.end('thanks'),
): Promise<Receiver> => {
  const received: Received[] = []
  const { origin, stop } = await listen(async (req, res) => {
    let text = ''
    for await (const chunk of req.setEncoding('utf8')) text += chunk
    const isJson = req.headers['content-type'] === 'application/json'
    const body = isJson ? JSON.parse(text) : undefined
    const one = { path: req.url!, headers: req.headers, text, body, time: performance.now() }
    received.push(one)
    answer(one, res)
  })
  const atPath = (path: string) => received.filter((one) => one.path === path)
  return {
    url: origin,
    received,
    async at(path, count) {
      await waitFor(() => atPath(path).length >= count)
      return atPath(path)
    },
    stop,
  }
}
