import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

/** Knows the answers that are not out yet, so that a server can wait for them before it stops. */
export const trackInFlight = () => {
  const flying = new Set<ServerResponse>()
  function ended(this: ServerResponse): void {
    flying.delete(this)
  }
  return {
    begin(res: ServerResponse) {
      flying.add(res)
      res.on('close', ended)
    },
    /** Waits for what flies now: whatever begins meanwhile would put the end off for ever. */
    async idle(): Promise<void> {
      await Promise.all([...flying].map((res) => once(res, 'close')))
    },
  }
}
