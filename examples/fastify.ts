// Allot as a plugin of a Fastify application, which opens it and closes it with the application.
// Run it with: npx tsx examples/fastify.ts
import type { AddressInfo } from 'node:net'
import { allotFastify } from 'allot/fastify'
import fastify from 'fastify'

const app = fastify()
await app.register(allotFastify, {
  allot: { data: './example-data/fastify' },
  prefix: '/code',
  pages: '/storage',
})
app.get('/', async () => 'the application')

const { token } = await app.allot.setUp({ admin: 'root' })
// Only the first start returns a token.
if (token !== undefined) console.log(`sign in with the token ${token}`)

await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
const { port } = app.server.address() as AddressInfo
console.log(`try: curl http://127.0.0.1:${port}/code/api/v1/version`)
console.log(`or open http://127.0.0.1:${port}/code/storage`)

const close = () => void app.close()
process.once('SIGTERM', close).once('SIGINT', close)
