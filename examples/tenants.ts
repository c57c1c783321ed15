// Several tenants in one server, each with its own users, tokens, repositories and rules: one Allot, in one
// folder, for each. Limits of a process, such as `git.maxConcurrent`, hold for each tenant by itself. Run it
// with: npx tsx examples/tenants.ts
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createAllot } from 'allot'

// Yours: the tenants that exist. A name from a request must never become the name of a folder.
const tenants = ['north', 'south']

const openTenant = async (name: string) => {
  const allot = await createAllot({
    data: join('example-data/tenants', name),
    pages: { name: `Storage of ${name}` },
  })
  const { token } = await allot.setUp({ admin: 'root' })
  if (token !== undefined) console.log(`sign in to ${name} with the token ${token}`)
  return { allot, listener: allot.listener({ prefix: `/${name}`, pages: '/storage' }) }
}

// All at the start. With very many tenants, open each with its first request, and close those that are idle.
const opened = new Map(
  await Promise.all(tenants.map(async (name) => [name, await openTenant(name)] as const)),
)

const route: RequestListener = (req, res) => {
  const [, name = ''] = /^\/([^/?]*)/.exec(req.url ?? '') ?? []
  const tenant = opened.get(name)
  if (tenant === undefined) return void res.writeHead(404).end('no such tenant\n')
  tenant.listener(req, res)
}

const server = createServer(route).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`try: curl http://127.0.0.1:${port}/north/api/v1/version`)
  console.log(`or open http://127.0.0.1:${port}/north/storage`)
})

const close = async () => {
  server.close()
  await Promise.all([...opened.values()].map(({ allot }) => allot.close()))
}
process.once('SIGTERM', close).once('SIGINT', close)
