// Allot in a plain node:http server: the API and git at the root, the pages at /storage, everything in one
// folder. Run it with: npx tsx examples/node-http.ts
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAllot } from 'allot'

const allot = await createAllot({ data: './example-data/node-http' })
const { token } = await allot.setUp({ admin: 'root' })
// Only the first start returns a token.
if (token !== undefined) console.log(`sign in with the token ${token}`)
const listener = allot.listener({ pages: '/storage' })
const server = createServer(listener).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`try: curl http://127.0.0.1:${port}/api/v1/version`)
  console.log(`or open http://127.0.0.1:${port}/storage`)
})

const close = async () => {
  server.close()
  await allot.close()
}
process.once('SIGTERM', close).once('SIGINT', close)
