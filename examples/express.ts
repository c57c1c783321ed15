// Allot below a prefix of an Express application, beside the application's own routes.
// Run it with: npx tsx examples/express.ts
import { createAllot } from 'allot'
import { memory } from 'allot/drivers/memory'
import express from 'express'

const allot = await createAllot({ driver: memory(), repositories: false })
const app = express()
app.get('/', (_req, res) => void res.send('the application'))
app.use('/code', allot.handler)

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as { port: number }
  console.log(`try: curl http://127.0.0.1:${port}/code/api/v1/version`)
})

process.once('SIGTERM', async () => {
  server.close()
  await allot.close()
})
