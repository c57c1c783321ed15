// Allot in an application that uses the web's Request and Response, as Hono does: `allot.fetch` maps one to the other.
// Run it with: npx tsx examples/hono.ts
import { serve } from '@hono/node-server'
import { createAllot } from 'allot'
import { memory } from 'allot/drivers/memory'
import { Hono } from 'hono'

const allot = await createAllot({ driver: memory(), repositories: false })
const app = new Hono()
app.get('/', (context) => context.text('the application'))
app.all('/api/*', (context) => allot.fetch(context.req.raw))

const server = serve(
  { fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' },
  ({ port }) => console.log(`try: curl http://127.0.0.1:${port}/api/v1/version`),
)

process.once('SIGTERM', async () => {
  server.close()
  await allot.close()
})
