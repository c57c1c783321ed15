// Allot in a plain node:http server, with records in LevelDB.
// Run it with: npx tsx examples/node-http.ts
import { createServer } from 'node:http'
import { createAllot } from 'allot'
import { level } from 'allot/drivers/level'

const allot = await createAllot({
  driver: level('./data/example'),
  repositories: { directory: './data/example-repositories' },
})
const server = createServer(allot.handler).listen(Number(process.env.PORT ?? 3000), '127.0.0.1')

server.on('listening', () => {
  const { port } = server.address() as { port: number }
  console.log(`try: curl http://127.0.0.1:${port}/api/v1/version`)
})

process.once('SIGTERM', async () => {
  server.close()
  await allot.close()
})
