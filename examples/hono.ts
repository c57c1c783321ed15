// Allot in an application that uses the web's Request and Response, as Hono does: `allot.fetch` maps one to
// the other. Run it with: npx tsx examples/hono.ts
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { createAllot } from 'allot'
import { Hono } from 'hono'

const allot = await createAllot({ data: './example-data/hono' })
const { token } = await allot.setUp({ admin: 'root' })
// Only the first start returns a token.
if (token !== undefined) console.log(`sign in with the token ${token}`)
const app = new Hono()
app.get('/', (context) => context.text('the application'))
app.all('/code/*', (context) => {
  // A Request does not say where it comes from, and failed logins are limited per address.
  const remoteAddress = context.env ? getConnInfo(context).remote.address : undefined
  return allot.fetch(context.req.raw, { prefix: '/code', pages: '/storage', remoteAddress })
})

const server = serve(
  { fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' },
  ({ port }) => {
    console.log(`try: curl http://127.0.0.1:${port}/code/api/v1/version`)
    console.log(`or open http://127.0.0.1:${port}/code/storage`)
  },
)

const close = async () => {
  server.close()
  await allot.close()
}
process.once('SIGTERM', close).once('SIGINT', close)
