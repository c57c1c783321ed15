import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the ports that systems give to clients and to servers without a port, so that none of them takes one
 * that was found free.
 */
const [FIRST, LAST] = [10_000, 32_000]

/** A port that no program listens on, for servers that cannot pick one themselves. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(FIRST, LAST)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
      continue
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
