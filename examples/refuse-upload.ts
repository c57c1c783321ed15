// Refuses uploads that do not fit with 413, also when many come at once: each one reserves its bytes before
// the first of them is stored. Run it with: npx tsx examples/refuse-upload.ts
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createQuota, OverQuotaError } from 'allot'

const quota = await createQuota({ data: './example-data/refuse-upload', defaultTotal: '1 KiB' })
const folder = './example-data/refuse-upload-files'
await mkdir(folder, { recursive: true })

const upload = async (req: IncomingMessage, res: ServerResponse) => {
  // Set by a proxy that you trust, which must remove this header from the requests of clients.
  const owner = req.headers['x-forwarded-user']
  if (req.method !== 'POST' || typeof owner !== 'string') return res.writeHead(404).end()
  // A chunked body announces no size, so it could not be reserved.
  const size = Number(req.headers['content-length'])
  if (Number.isNaN(size)) return res.writeHead(411, { Connection: 'close' }).end('announce the size\n')

  const key = crypto.randomUUID()
  const entry = { kind: 'artifacts', key, owner, name: key, size } as const
  const file = join(folder, key)
  try {
    // The reservation expires when this process ends before the upload does.
    await quota.ledger.put({ ...entry, expiresAt: Date.now() + 60 * 60 * 1000 }, { within: true })
    await pipeline(req, createWriteStream(file))
    await quota.ledger.put(entry, { within: true })
    res.writeHead(201).end(`stored ${size} bytes as ${key}\n`)
  } catch (error) {
    await rm(file, { force: true })
    await quota.ledger.delete(entry)
    if (!(error instanceof OverQuotaError)) throw error
    // The body may not be read, so the connection cannot be used again.
    res.writeHead(413, { Connection: 'close' }).end(`only ${error.explanation.left} bytes are left\n`)
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
