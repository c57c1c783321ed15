import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { waitFor } from '../support/wait-for.ts'

interface Asked {
  status: number | undefined
  headers: IncomingHttpHeaders
}

/**
 * Stops a server while clients send it one request after another: each is answered with 200, and only those
 * are refused that come later.
 * @param ask sends a request over a connection that is kept
 */
export const stopAmidRequests = async (
  server: { stop(): Promise<unknown> },
  clients: number,
  ask: () => Promise<Asked>,
): Promise<void> => {
  const statuses: (number | undefined)[] = []
  let stoppedAt = Number.POSITIVE_INFINITY
  const client = async () => {
    for (;;) {
      try {
        const { status, headers } = await ask()
        statuses.push(status)
        if (headers.connection === 'close') return
      } catch (error) {
        const { code } = error as { code?: string }
        // The server closes a connection that is quiet for 300 ms, and a slow client may use it then.
        const isLate = code === 'ECONNRESET' && performance.now() - stoppedAt > 300
        const isStopping = performance.now() > stoppedAt
        assert.ok(
          isStopping && (isLate || code === 'ECONNREFUSED'),
          `only later requests are refused: ${code}`,
        )
        return
      }
    }
  }
  const asking = Array.from({ length: clients }, client)
  await waitFor(() => statuses.length > 100)
  stoppedAt = performance.now()
  assert.equal(await server.stop(), 0)
  await Promise.all(asking)
  assert.deepEqual(new Set(statuses), new Set([200]))
}
