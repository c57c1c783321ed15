import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { allot, type Served, served } from '../bin/program.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { times } from '../support/long.ts'
import { seededRandom } from '../support/seed.ts'
import { createSender } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { aCheckout, attempt, commit, git } from './client.ts'
import { bytesIn } from './served.ts'

/** Number of kills; set ALLOT_SPEC_KILLS for more. */
const KILLS = Number(process.env.ALLOT_SPEC_KILLS ?? times(1, 4))
const CLIENTS = 3

interface Client {
  checkout: string
  branch: string
  /** The last acknowledged commit. */
  acknowledged: string | undefined
  /** A commit whose push was not acknowledged; the server may have it. */
  tried: string | undefined
  /** How many pushes were acknowledged. */
  pushes: number
}

/** Pushes one commit after another until the server is killed. */
const pushOn = async (client: Client, url: string, isOver: () => boolean): Promise<void> => {
  while (!isOver()) {
    client.tried = await commit(client.checkout, { big: randomBytes(200_000) })
    const { code } = await attempt(client.checkout, ['push', '--quiet', url, `HEAD:${client.branch}`])
    if (code !== 0) continue
    client.acknowledged = client.tried
    client.pushes++
  }
}

const assertSound = async (server: Served, data: string, token: string, clients: Client[]): Promise<void> => {
  const { body } = await createSender(server.api)('GET', '/user/quota', { token })
  const repositories = join(data, 'repositories')
  // The folder beside the shards contains the hook.
  const [shard] = readdirSync(repositories).filter((name) => /^[0-9a-f]{2}$/.test(name)) as [string]
  const stored = bytesIn(join(repositories, shard))
  assert.equal(body.used.size.repos.public, stored, 'what is counted is what lies there')
  const [name] = readdirSync(join(repositories, shard)) as [string]
  const folder = join(repositories, shard, name)
  await git(folder, 'fsck', '--strict', '--no-dangling')
  for (const client of clients) {
    const found = await attempt(folder, ['rev-parse', '--verify', '--quiet', `refs/heads/${client.branch}`])
    const there = found.code === 0 ? found.out.trim() : undefined
    assert.ok(there === client.acknowledged || there === client.tried, `${client.branch}: ${there}`)
    // The present references must survive the next round.
    client.acknowledged = there
  }
}

it(`keeps acknowledged pushes and counts the files on disk, when the server is killed while ${CLIENTS} clients push`, async (t) => {
  const data = temporaryDirectory()
  const serving = async (): Promise<Served> => {
    const server = await served(['--data', data])
    t.after(() => server.stop('SIGKILL'))
    return server
  }
  const { out } = await allot(['user', 'add', 'alice', '--token', '--data', data])
  const token = out.trim()
  const clients: Client[] = await Promise.all(
    Array.from({ length: CLIENTS }, async (_, at) => ({
      checkout: await aCheckout(),
      branch: `branch-${at}`,
      acknowledged: undefined,
      tried: undefined,
      pushes: 0,
    })),
  )
  const random = seededRandom()
  const acknowledged = () => clients.reduce((sum, { pushes }) => sum + pushes, 0)
  for (let round = 0; round < KILLS; round++) {
    const server = await serving()
    if (round === 0) await createSender(server.api)('POST', '/user/repos', { token, body: { name: 'demo' } })
    else await assertSound(server, data, token, clients)
    const url = `http://alice:${token}@${new URL(server.api).host}/alice/demo.git`
    let isOver = false
    const pushing = clients.map((client) => pushOn(client, url, () => isOver))
    const count = acknowledged() + 3 + Math.floor(random() * 12)
    try {
      await waitFor(() => acknowledged() >= count)
    } finally {
      isOver = true
      await server.stop('SIGKILL')
      await Promise.all(pushing)
    }
  }
  const server = await serving()
  await assertSound(server, data, token, clients)
  await server.stop()
})
