import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { postgres } from '../../drivers/postgres/index.ts'
import { createAllot } from '../../lib/index.ts'

/** One of several server processes over one database. It prints its port. */
const allot = await createAllot({
  // The machine may be busy with others: limits of time have specs of their own.
  driver: postgres(process.argv[2]!, { connectTimeout: 60_000, writeTimeout: 60_000 }),
  repositories: false,
  webhooks: { allowedHosts: ['127.0.0.1'], timeout: 20_000 },
})
const server = createServer(allot.handler).listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
server.keepAliveTimeout = 60_000
process.once('SIGTERM', () => process.exit())
