// Allot beside the middleware of a Koa application: it answers requests below its paths, and passes on the
// others. Run it with: npx tsx examples/koa.ts
import type { AddressInfo } from 'node:net'
import { createAllot } from 'allot'
import Koa from 'koa'

const allot = await createAllot({ data: './example-data/koa' })
const { token } = await allot.setUp({ admin: 'root' })
// Only the first start returns a token.
if (token !== undefined) console.log(`sign in with the token ${token}`)
const listener = allot.listener({ pages: '/storage' })
const app = new Koa()
app.use((context, next) => {
  // Otherwise Koa sends a response itself once the middleware returns.
  context.respond = false
  return new Promise((resolve, reject) => {
    context.res.once('close', resolve)
    listener(context.req, context.res, () => {
      context.respond = true
      next().then(resolve, reject)
    })
  })
})
app.use((context) => {
  context.body = 'the application'
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`try: curl http://127.0.0.1:${port}/api/v1/version`)
  console.log(`or open http://127.0.0.1:${port}/storage`)
})

const close = async () => {
  server.close()
  await allot.close()
}
process.once('SIGTERM', close).once('SIGINT', close)
