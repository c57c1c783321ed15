import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

/** Tracks responses that have not ended, so that a server can wait for them before it stops. */
export const trackInFlight = () => {
  const inFlight = new Set<ServerResponse>()
  function ended(this: ServerResponse): void {
    inFlight.delete(this)
  }
  return {
    begin(res: ServerResponse) {
      inFlight.add(res)
      res.on('close', ended)
    },
    /** Waits for the present responses only: with later ones it might never end. */
    async idle(): Promise<void> {
      await Promise.all([...inFlight].map((res) => once(res, 'close')))
    },
  }
}
