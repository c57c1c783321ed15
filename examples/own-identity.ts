// Your own login beside Allot's access tokens: a session of the application signs in to the pages and the
// API, and git pushes with a token. Run it with: npx tsx examples/own-identity.ts
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAllot } from 'allot'

const ALICE = { id: '4711', username: 'alice@example.org', name: 'Alice', admin: true }
const sessions = new Map<string, typeof ALICE>()
const sessionIn = ({ headers }: IncomingMessage) => /\bsid=(\w+)/.exec(headers.cookie ?? '')?.[1] ?? ''

const allot = await createAllot({
  data: './example-data/own-identity',
  // Undefined without a session: then Allot looks for a token of its own.
  authenticate: (req) => sessions.get(sessionIn(req)),
  pages: { loginUrl: '/login?next={to}', logoutUrl: '/logout?next={to}' },
})
const listener = allot.listener({ pages: '/' })

const server = createServer((req, res) => {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost')
  if (pathname === '/login') {
    // Your page asks for a password here. Only a path of this site may be what follows.
    const session = randomBytes(16).toString('hex')
    sessions.set(session, ALICE)
    const next = /^\/(?![/\\])/.test(searchParams.get('next') ?? '') ? searchParams.get('next')! : '/'
    res
      .writeHead(303, { 'Set-Cookie': `sid=${session}; HttpOnly; SameSite=Lax; Path=/`, Location: next })
      .end()
  } else if (pathname === '/logout') {
    sessions.delete(sessionIn(req))
    res.end('You are signed out.')
  } else listener(req, res)
}).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`try: curl -sLb '' 'http://127.0.0.1:${port}/login?next=/api/v1/user'
or open http://127.0.0.1:${port}/, create a token there, and push:
  git push http://alice:TOKEN@127.0.0.1:${port}/alice/REPOSITORY.git main`)
})

const close = async () => {
  server.close()
  await allot.close()
}
process.once('SIGTERM', close).once('SIGINT', close)
