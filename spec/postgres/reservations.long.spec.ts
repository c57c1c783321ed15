import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { postgres } from '../../drivers/postgres/index.ts'
import { createAllot, createQuota, OverQuotaError, type Quota } from '../../lib/index.ts'
import { atEnd } from '../support/cleanup.ts'
import { waitFor } from '../support/wait-for.ts'
import { missing } from './cluster.ts'
import { emptyStore } from './empty-store.ts'
import { type ServerProcess, startServerProcess } from './server-processes.ts'

const MIB = 1024 ** 2
const LIMIT = 10 * MIB
const quiet = { error: () => undefined, info: () => undefined }
const patient = { connectTimeout: 60_000, writeTimeout: 60_000 }
const file = (owner: string, at: number, size = MIB) =>
  ({ kind: 'artifacts', key: `${owner}/${at}`, owner, name: 'file', size }) as const

describe('Two servers over one PostgreSQL', { skip: missing }, () => {
  let servers: ServerProcess[]
  let token: string
  before(async () => {
    const { url } = await emptyStore()
    const allot = await createAllot({ driver: postgres(url, patient), repositories: false, log: quiet })
    const root = await allot.accounts.createUser({ name: 'root', admin: true })
    token = (await allot.tokens.create(root.id, 'spec', ['all'])).secret
    await allot.quota.rules.create({ name: 'total', limit: LIMIT, subjects: ['size:all'] })
    await allot.quota.groups.create({ name: 'free', rules: ['total'] })
    for (const name of ['alice', 'bob']) {
      await allot.accounts.createUser({ name })
      await allot.quota.groups.assign(name, 'free')
    }
    await allot.close()
    servers = await Promise.all([startServerProcess(url), startServerProcess(url)])
  })
  const put = (at: number, owner: string, size: number, expires_at?: string) =>
    servers[at % 2]!.send('PUT', `/admin/ledger/artifacts/${owner}-${at}?within=true`, {
      token,
      body: { owner, name: 'file', size, expires_at },
    })
  const used = async ({ send }: ServerProcess, owner: string) =>
    (await send('GET', `/admin/users/${owner}/quota/explain?subject=size:all`, { token })).body.used

  it('store exactly 10 of 50 files of 1 MiB that are put at once, with a limit of 10 MiB', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => put(at, 'alice', MIB)))
    const statuses = answers.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [...Array(10).fill(201), ...Array(40).fill(413)])
    for (const server of servers) assert.equal(await used(server, 'alice'), LIMIT)
  })

  it('count a reservation of the other one until its time, and not in any read afterwards', async () => {
    const time = Math.ceil(Date.now() / 1000) * 1000 + 2000
    assert.equal((await put(0, 'bob', LIMIT, new Date(time).toISOString())).status, 201)
    const seen: [begun: number, ended: number, used: number][] = []
    await waitFor(async () => {
      const begun = Date.now()
      const bytes = await used(servers[1]!, 'bob')
      seen.push([begun, Date.now(), bytes])
      return begun > time
    })
    for (const [begun, ended, bytes] of seen) {
      if (ended < time) assert.equal(bytes, LIMIT)
      if (begun >= time) assert.equal(bytes, 0)
    }
    assert.equal((await put(1, 'bob', LIMIT)).status, 201)
    assert.equal((await put(2, 'bob', 1)).status, 413)
  })
})

describe('The recipe for uploads, in two hosts over one PostgreSQL', { skip: missing }, () => {
  let hosts: Quota[]
  before(async () => {
    const { url } = await emptyStore()
    const open = () => createQuota({ driver: postgres(url, patient), defaultTotal: LIMIT, log: quiet })
    hosts = await Promise.all([open(), open()])
    atEnd(() => Promise.all(hosts.map((host) => host.close())))
  })
  /** @returns whether the upload was stored */
  const upload = async ({ ledger }: Quota, entry: ReturnType<typeof file>) => {
    try {
      await ledger.put({ ...entry, expiresAt: Date.now() + 3_600_000 }, { within: true })
      await ledger.put(entry, { within: true })
      return true
    } catch (error) {
      if (error instanceof OverQuotaError) return false
      throw error
    }
  }

  for (const [owner, count, size, fit] of [
    ['alice', 50, MIB, 10],
    ['bob', 10, 0.9 * LIMIT, 1],
  ] as const)
    it(`stores exactly ${fit} of ${count} uploads of ${size} bytes, with a limit of 10 MiB`, async () => {
      const uploads = Array.from({ length: count }, (_, at) => upload(hosts[at % 2]!, file(owner, at, size)))
      assert.equal((await Promise.all(uploads)).filter((isStored) => isStored).length, fit)
      for (const host of hosts) assert.equal((await host.explain(owner, 'size:all')).used, fit * size)
      assert.deepEqual((await hosts[0]!.verify()).messages, [])
    })
})
