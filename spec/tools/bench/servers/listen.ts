import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

// The pipe from the parent process ends when the parent ends for any reason, so that no server outlives the
// run.
process.stdin.resume().once('end', () => process.exit())
process.once('SIGTERM', () => process.exit())

/** Serves in a process of a benchmark, and tells the parent the port, with what else it must know. */
export const listen = (listener: RequestListener, told: object): void => {
  const server = createServer(listener).listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    process.stdout.write(JSON.stringify({ port, ...told }))
  })
}
