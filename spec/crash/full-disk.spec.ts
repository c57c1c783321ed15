import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { level } from '../../drivers/level/index.ts'
import { verify } from '../../lib/verify.ts'
import { allot, type Served, served } from '../bin/program.ts'
import { run } from '../support/child.ts'
import { assertError } from '../support/expectations.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { createSender } from '../support/request.ts'
import { lacks } from '../support/requirements.mjs'

/** Simulates a full disk by a limit on the size of files, since LevelDB's log grows with every write. */
const limitFiles = (server: Served, bytes: number | 'unlimited') =>
  run('prlimit', [`--pid=${server.child.pid}`, `--fsize=${bytes}:`])

const servers: Served[] = []
const startServer = async (data: string): Promise<Served> => {
  const server = await served(['--data', data])
  servers.push(server)
  return server
}
after(async () => {
  for (const server of servers) await server.stop('SIGKILL')
})

const batch = (round: number): string =>
  Array.from({ length: 200 }, (_, index) =>
    JSON.stringify({
      op: 'put',
      kind: 'lfs',
      key: `k${round}-${index}`,
      repository: 'ops/demo',
      name: 'n'.repeat(200),
      size: 1,
    }),
  ).join('\n')

it('A server with a full disk answers 507 to writes, still answers reads, stops cleanly and loses no acknowledged write', {
  skip: lacks('prlimit'),
}, async () => {
  const data = temporaryDirectory()
  const token = (await allot(['user', 'add', 'ops', '--admin', '--token', '--data', data])).out.trim()
  const server = await startServer(data)
  const ask = createSender(server.api)
  await ask('POST', '/user/repos', { token, body: { name: 'demo' } })
  await limitFiles(server, 600_000)

  const headers = { 'content-type': 'application/x-ndjson' }
  const write = (round: number) => ask('POST', '/admin/ledger', { token, headers, body: batch(round) })
  let acknowledged = 0
  let answer = await write(acknowledged)
  while (answer.status === 200 && acknowledged < 100) answer = await write(++acknowledged)
  assert.ok(acknowledged > 0)
  assertError(
    answer,
    507,
    /the disk is full: free some space and restart the server; until then the store refuses writes/,
  )
  // The failed write may be on disk in part, so the store refuses writes until it is opened again.
  await limitFiles(server, 'unlimited')
  assertError(await ask('PUT', '/user/starred/ops/demo', { token }), 507, /restart the server/)
  assertError(await ask('POST', '/user/repos', { token, body: { name: 'more', auto_init: true } }), 507)

  const used = async (from: typeof ask) =>
    (await from('GET', '/user/quota', { token })).body.used.size.git.LFS
  assert.equal(await used(ask), acknowledged * 200)
  assert.equal((await ask('GET', '/user/repos', { token })).body.length, 1)
  assert.match(server.printed(), /"level":50.*File too large/)
  assert.equal(await server.stop(), 0)

  const driver = level(join(data, 'store'))
  await driver.open()
  assert.deepEqual((await verify(driver).finally(() => driver.close())).messages, [])
  const again = await startServer(data)
  const found = await used(createSender(again.api))
  // The failed batch is there wholly or not at all.
  assert.ok(
    [acknowledged * 200, (acknowledged + 1) * 200].includes(found),
    `${found} of ${acknowledged * 200}`,
  )
  assert.equal((await createSender(again.api)('PUT', '/user/starred/ops/demo', { token })).status, 204)
  assert.equal(await again.stop(), 0)
})
