// Allot in a plain node:http server, with everything in one folder.
// Run it with: npx tsx examples/node-http.ts
import { createServer } from 'node:http'
import { createAllot } from 'allot'

const allot = await createAllot({ data: './data' })
const server = createServer(allot.handler).listen(Number(process.env.PORT ?? 3000), '127.0.0.1')

server.on('listening', async () => {
  const { port } = server.address() as { port: number }
  console.log(`try: curl http://127.0.0.1:${port}/api/v1/version`)

  // Only the first start returns a token.
  const { token } = await allot.setUp({ admin: 'root' })
  if (token !== undefined)
    console.log(`and: curl -H 'Authorization: token ${token}' http://127.0.0.1:${port}/api/v1/user`)
})

process.once('SIGTERM', async () => {
  server.close()
  await allot.close()
})
