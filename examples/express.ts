// Allot below a prefix of an Express application, with its pages at /code/storage, beside the application's
// own routes. Run it with: npx tsx examples/express.ts
import type { AddressInfo } from 'node:net'
import { createAllot } from 'allot'
import express from 'express'

const allot = await createAllot({ data: './example-data/express' })
const { token } = await allot.setUp({ admin: 'root' })
// Only the first start returns a token.
if (token !== undefined) console.log(`sign in with the token ${token}`)
const app = express()
app.get('/', (_req, res) => void res.send('the application'))
app.use('/code', allot.listener({ pages: '/storage' }))

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`try: curl http://127.0.0.1:${port}/code/api/v1/version`)
  console.log(`or open http://127.0.0.1:${port}/code/storage`)
})

const close = async () => {
  server.close()
  await allot.close()
}
process.once('SIGTERM', close).once('SIGINT', close)
