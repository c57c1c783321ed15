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
import { waitFor } from '../support/wait-for.ts'

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

it('A server with a full disk answers 507 to writes and still answers reads, takes writes again once there is space, and loses no acknowledged write', {
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
  const FULL = /^the disk is full: the store takes no writes until there is space$/
  assertError(answer, 507, FULL)
  const star = () => ask('PUT', '/user/starred/ops/demo', { token })
  for (let time = 0; time < 20; time++) assertError(await star(), 507, FULL)
  assertError(await ask('POST', '/user/repos', { token, body: { name: 'more', auto_init: true } }), 507)

  const used = async (from: typeof ask) =>
    (await from('GET', '/user/quota', { token })).body.used.size.git.LFS
  assert.equal(await used(ask), acknowledged * 200)
  assert.equal((await ask('GET', '/user/repos', { token })).body.length, 1)
  const lines = server.printed().match(/"level":50.*/g) ?? []
  assert.equal(lines.length, 1, 'one line in the log')
  assert.match(lines[0]!, /File too large/)

  await limitFiles(server, 'unlimited')
  await waitFor(async () => (await star()).status === 204)
  assert.equal(await used(ask), acknowledged * 200, 'nothing of the batch that failed is there')
  assert.equal((await write(acknowledged)).status, 200)
  assert.equal(await server.stop(), 0)

  const driver = level(join(data, 'store'))
  await driver.open()
  assert.deepEqual((await verify(driver).finally(() => driver.close())).messages, [])
  const again = await startServer(data)
  assert.equal(await used(createSender(again.api)), (acknowledged + 1) * 200)
  assert.equal(await again.stop(), 0)
})
