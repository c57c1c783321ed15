import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { postgres } from '../../drivers/postgres/index.ts'
import { createAllot } from '../../lib/index.ts'

/** One of several server processes over one database. It prints its port. */
const allot = await createAllot({
  driver: postgres(process.argv[2]!),
  repositories: false,
  webhooks: { allowedHosts: ['127.0.0.1'], timeout: 1000 },
})
const server = createServer(allot.handler).listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit())
