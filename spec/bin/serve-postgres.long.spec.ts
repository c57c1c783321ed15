import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { emptyStore } from '../postgres/empty-store.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'
import { createSender } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { allot } from './in-process.ts'
import { type Served, served } from './program.ts'

const storeUrl = async (t: TestContext): Promise<string> => {
  const { url, drop } = await emptyStore()
  t.after(drop)
  return url
}

/** A cluster of the specs accepts every password on its Unix socket. */
const withPassword = (text: string): string => {
  const url = new URL(text)
  url.password ||= 'secret'
  return url.href
}

const serving = async (t: TestContext, ...args: string[]): Promise<Served> => {
  const server = await served(args)
  t.after(() => server.stop())
  return server
}

describe('allot serve on PostgreSQL', { skip: lacks('PostgreSQL') }, () => {
  it('shares a database with other servers and with the command line', async (t) => {
    const { url, drop } = await emptyStore()
    const data = temporaryDirectory()
    const words = ['--storage', url, '--data', data]
    const servers = await Promise.all([served(words), served(words)])
    t.after(async () => {
      await Promise.all(servers.map((server) => server.stop()))
      await drop()
    })
    const [one, other] = servers.map(({ api }) => createSender(api))
    const tokens = () =>
      servers.flatMap(({ printed }) =>
        [...printed().matchAll(/^ {2}([0-9a-f]{40})$/gm)].map(([, one]) => one!),
      )
    await waitFor(() => tokens().length > 0)
    const token = tokens()[0]!

    const { out } = await allot(['user', 'add', 'alice', '--token', ...words])
    const alice = out.trim()
    assert.equal((await one!('GET', '/user', { token: alice })).body.login, 'alice')
    assert.equal((await one!('POST', '/user/repos', { token: alice, body: { name: 'demo' } })).status, 201)
    assert.equal((await other!('PUT', '/user/starred/alice/demo', { token })).status, 204)
    assert.equal((await one!('GET', '/repos/alice/demo')).body.stars_count, 1)

    assert.equal((await other!('DELETE', '/admin/users/alice?purge=true', { token })).status, 204)
    assert.equal((await one!('GET', '/user', { token: alice })).status, 401)
    assert.equal((await one!('GET', '/repos/alice/demo')).status, 404)
    assert.equal(tokens().length, 1, 'one of them has made the administrator')
  })

  it('reads the options of the driver from the configuration file', async (t) => {
    const url = new URL(await storeUrl(t))
    const schema = url.searchParams.get('schema')!
    url.searchParams.delete('schema')
    const config = join(temporaryDirectory(), 'allot.toml')
    const storage = `[storage]\nschema = "${schema}"\nconnections = 3\nconnect_timeout = 4000\n`
    writeFileSync(config, `[server]\nstorage = "${url.href}"\n${storage}`)
    const server = await serving(t, '--config', config, '--data', temporaryDirectory())
    await waitFor(() => /^ {2}[0-9a-f]{40}$/m.test(server.printed()))
    assert.equal((await createSender(server.api)('GET', '/users/root')).status, 200)
    writeFileSync(config, '[storage]\nconnections = 0\npool = 3\n')
    const { code, err } = await allot(['serve', '--config', config])
    assert.equal(code, 1)
    assert.match(err, /storage\.connections/)
    assert.match(err, /storage\.pool: there is no such option/)
  })

  it('keeps a repair out while it uses the database, unless the repair is forced', async (t) => {
    const words = ['--storage', await storeUrl(t), '--data', temporaryDirectory()]
    const server = await serving(t, ...words)
    assert.equal((await allot(['verify', ...words])).code, 0)
    const refused = await allot(['verify', '--repair', ...words])
    assert.deepEqual([refused.code, refused.out], [1, ''])
    assert.match(
      refused.err,
      /^allot: other processes use the database \(pg_stat_activity has them as \d+(?:, \d+)*\): stop all servers and commands of Allot first, or repair beside them with --force\n$/,
    )
    assert.equal((await allot(['verify', '--repair', '--force', ...words])).code, 0)
    await server.stop()
    assert.equal((await allot(['verify', '--repair', ...words])).code, 0)
  })

  it('is served from a database into which an export was imported', async (t) => {
    const from = ['--data', temporaryDirectory()]
    const to = ['--storage', withPassword(await storeUrl(t)), '--data', temporaryDirectory()]
    const token = (await allot(['user', 'add', 'alice', '--token', ...from])).out.trim()
    const file = join(temporaryDirectory(), 'backup.ndjson')
    assert.equal((await allot(['export', '--out', file, ...from])).code, 0)
    const imported = await allot(['import', file, ...to])
    assert.equal(imported.code, 0)
    assert.match(imported.err, /^imported \d+ lines into the database \S+ at \S+\n$/)
    assert.doesNotMatch(imported.err, /postgres:|secret/)
    const server = await serving(t, ...to)
    assert.equal((await createSender(server.api)('GET', '/user', { token })).body.login, 'alice')
    const again = await allot(['import', file, ...to])
    assert.deepEqual([again.code, again.err], [1, 'allot: the store is not empty: import into a new store\n'])
  })
})
