// Allot beside the routes of a Fastify application. Allot gets each request first, and passes on those outside its base path.
// Run it with: npx tsx examples/fastify.ts
import { createServer } from 'node:http'
import { createAllot } from 'allot'
import { memory } from 'allot/drivers/memory'
import fastify from 'fastify'

const allot = await createAllot({ driver: memory(), repositories: false })
const app = fastify({
  serverFactory: (handler) => createServer((req, res) => allot.handler(req, res, () => handler(req, res))),
})
app.get('/', async () => 'the application')
app.addHook('onClose', () => allot.close())

await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
const { port } = app.server.address() as { port: number }
console.log(`try: curl http://127.0.0.1:${port}/api/v1/version`)

process.once('SIGTERM', () => void app.close())
