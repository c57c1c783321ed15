import type { ServerResponse } from 'node:http'

/** Counts the answers that are not out yet, so that a server can wait for them before it stops. */
export const countFlights = () => {
  let flying = 0
  let landed: (() => void)[] = []
  const end = () => {
    if (--flying > 0) return
    for (const tell of landed) tell()
    landed = []
  }
  return {
    begin(res: ServerResponse) {
      flying++
      res.once('close', end)
    },
    idle: () => (flying === 0 ? Promise.resolve() : new Promise<void>((resolve) => landed.push(resolve))),
  }
}
