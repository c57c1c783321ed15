// Files of tenants: each has a limit, and a page that shows how much of it is used. An upload reserves its
// bytes before the first of them is stored, so any number at once stays within the limit, to the byte.
// Run it with: npx tsx examples/saas-files.ts
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createQuota, OverQuotaError } from 'allot'

const quota = await createQuota({ data: './example-data/saas-files', defaultTotal: '1 MiB' })
const folder = './example-data/saas-files-stored'
await mkdir(folder, { recursive: true })

// The same at each start: applying a plan again changes nothing.
await quota.apply({
  rules: [{ name: 'paid total', limit: 10 * 1024 ** 2, subjects: ['size:all'] }],
  groups: [{ name: 'paid', rules: ['paid total'] }],
  assignments: { globex: ['paid'] },
})

const HOUR_MS = 60 * 60 * 1000
const prefixOf = (tenant: string) => `${encodeURIComponent(tenant)}/`
const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

const upload = async (req: IncomingMessage, res: ServerResponse, owner: string, name: string) => {
  const size = Number(req.headers['content-length'])
  if (Number.isNaN(size)) return res.writeHead(411, { Connection: 'close' }).end('announce the size\n')
  const id = crypto.randomUUID()
  const entry = { kind: 'artifacts', key: prefixOf(owner) + id, owner, name, size } as const
  try {
    await quota.ledger.put({ ...entry, expiresAt: Date.now() + HOUR_MS }, { within: true })
    await pipeline(req, createWriteStream(join(folder, id)))
    await quota.ledger.put(entry, { within: true })
    res.writeHead(201).end(`stored ${size} bytes as ${id}\n`)
  } catch (error) {
    await rm(join(folder, id), { force: true })
    await quota.ledger.delete(entry)
    if (!(error instanceof OverQuotaError)) throw error
    res.writeHead(413, { Connection: 'close' }).end(`only ${error.explanation.left} bytes are left\n`)
  }
}

const page = async (owner: string) => {
  const { used, limit } = await quota.explain(owner, 'size:all')
  const files = await quota.ledger.list({ kind: 'artifacts', prefix: prefixOf(owner), limit: 100 })
  const rows = files.map(
    ({ name, size, expiresAt }) =>
      `<li>${escaped(name)}: ${size} bytes${expiresAt ? ', uploading' : ''}</li>`,
  )
  return `<!doctype html><title>Files</title><h1>${escaped(owner)}</h1>
<p><meter max="${limit}" value="${used}"></meter> ${used} of ${limit} bytes</p><ul>${rows.join('')}</ul>`
}

const serve = async (req: IncomingMessage, res: ServerResponse) => {
  // Set by a proxy that you trust, which must remove this header from the requests of clients.
  const tenant = req.headers['x-forwarded-user']
  if (typeof tenant !== 'string') return res.writeHead(401).end('sign in first\n')
  const name = new URL(req.url ?? '', 'http://localhost').searchParams.get('name') || 'file'
  if (req.method === 'POST') return upload(req, res, tenant, name)
  res.setHeader('Content-Type', 'text/html;charset=utf-8').end(await page(tenant))
}

const server = createServer((req, res) => {
  serve(req, res).catch(() => res.destroy())
}).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(
    `try: curl -H 'X-Forwarded-User: acme' --data-binary 'a file' http://127.0.0.1:${port}/?name=notes`,
  )
})

const close = async () => {
  server.close()
  await quota.close()
}
process.once('SIGTERM', close).once('SIGINT', close)
