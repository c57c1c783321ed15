// The host's own login instead of Allot's tokens. Here a reverse proxy has authenticated the user, and sends
// the name. Run it with: npx tsx examples/own-identity.ts
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAllot } from 'allot'
import { memory } from 'allot/drivers/memory'

const allot = await createAllot({
  driver: memory(),
  repositories: false,
  authenticate: (req) => {
    // The proxy must remove this header from the requests of clients, who could name anyone in it.
    const username = req.headers['x-forwarded-user']
    return typeof username === 'string' ? { id: username, admin: username === 'chief' } : null
  },
})

const server = createServer(allot.handler).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`try: curl -H 'X-Forwarded-User: alice' http://127.0.0.1:${port}/api/v1/user`)
})

const close = async () => {
  server.close()
  await allot.close()
}
process.once('SIGTERM', close).once('SIGINT', close)
