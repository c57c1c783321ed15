// Refuses uploads of owners that are over quota with 413, and records all others. Allot itself refuses
// nothing. Run it with: npx tsx examples/refuse-upload.ts
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createQuota } from 'allot'

const quota = await createQuota({ data: './example-data/refuse-upload', defaultTotal: '1 KiB' })
const folder = './example-data/refuse-upload-files'
await mkdir(folder, { recursive: true })

const upload = async (req: IncomingMessage, res: ServerResponse) => {
  // Set by a proxy that you trust, which must remove this header from the requests of clients.
  const owner = req.headers['x-forwarded-user']
  if (req.method !== 'POST' || typeof owner !== 'string') return res.writeHead(404).end()
  // The body is not read, so the connection cannot be used again.
  const refuse = (why: string) => res.writeHead(413, { Connection: 'close' }).end(`${why}\n`)
  if (await quota.isOver(owner, 'size:all')) return refuse('over quota')
  const { left } = await quota.explain(owner, 'size:all')
  // A chunked body announces no size and counts as 0: such an upload can exceed the limit by its size.
  const announced = Number(req.headers['content-length'] ?? 0)
  if (left !== null && announced > left) return refuse(`only ${left} bytes are left`)

  const key = crypto.randomUUID()
  const file = createWriteStream(join(folder, key))
  try {
    await pipeline(req, file)
    const size = file.bytesWritten
    await quota.ledger.put({ kind: 'artifacts', key, owner, name: key, size })
    res.writeHead(201).end(`stored ${size} bytes as ${key}\n`)
  } catch (error) {
    await rm(file.path, { force: true })
    throw error
  }
}

const server = createServer((req, res) => {
  upload(req, res).catch(() => res.destroy())
}).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`try: curl -H 'X-Forwarded-User: alice' --data-binary 'a file' http://127.0.0.1:${port}/`)
})

const close = async () => {
  server.close()
  await quota.close()
}
process.once('SIGTERM', close).once('SIGINT', close)
