// The host's own login instead of Allot's tokens. Here a reverse proxy has authenticated the user, and sends the name.
// Run it with: npx tsx examples/own-identity.ts
import { createServer } from 'node:http'
import { createAllot } from 'allot'
import { memory } from 'allot/drivers/memory'

const allot = await createAllot({
  driver: memory(),
  repositories: false,
  authenticate: (req) => {
    const username = req.headers['x-forwarded-user']
    return typeof username === 'string' ? { username, admin: username === 'chief' } : null
  },
})

const server = createServer(allot.handler).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as { port: number }
  console.log(`try: curl -H 'X-Forwarded-User: alice' http://127.0.0.1:${port}/api/v1/user`)
})

process.once('SIGTERM', async () => {
  server.close()
  await allot.close()
})
