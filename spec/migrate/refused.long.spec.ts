import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { connectSource } from '../../bin/migrate/connect.ts'
import { Report } from '../../bin/migrate/report.ts'
import { git } from '../git/client.ts'
import { startBefore } from '../support/test-server.ts'
import { type Replay, type Reply, replay } from './replay.ts'
import { pushed, refsOf, startTarget, type Target } from './two.ts'

let target: Target

const source = startBefore({ dialect: 'forgejo' })
before(async () => {
  const ann = await source.person('ann')
  await source.as(ann, 'POST', '/orgs', { username: 'acme' })
  for (const name of ['one', 'two']) {
    await source.as(ann, 'POST', '/user/repos', { name })
    await pushed(source, ann, `ann/${name}`)
  }
  target = await startTarget()
})

/** The source, with some of its answers changed. */
const changed = (table: Record<string, Reply>): Promise<Replay> => replay(table, source.allot.handler)

describe('A source', () => {
  const secret = 'f'.repeat(40)

  it('that redirects to another address is not sent the token there', async () => {
    const moved = await replay({}, (_, res) =>
      res.writeHead(301, { location: 'https://git.example.org/api/v1/version' }).end(),
    )
    await assert.rejects(
      connectSource(moved.base, secret),
      /redirects \/api\/v1\/version to https:\/\/git\.example\.org\/api\/v1\/version, and the token is not sent there/,
    )
    moved.stop()
  })

  it('may be given by the address of its API', async () => {
    assert.equal((await connectSource(`${source.api}/`, source.root.token)).base, source.base)
  })

  const READ = ['admin', 'issue', 'organization', 'package', 'user'].map((one) => `read:${one}`)
  const SCOPES = [...READ, 'write:repository']
  for (const lacking of SCOPES.filter((one) => one !== 'read:user'))
    it(`whose token lacks ${lacking} is refused with the name of the scope, and nothing is copied`, async () => {
      const token = await source.scoped(source.root, ...SCOPES.filter((one) => one !== lacking))
      await assert.rejects(
        target.from({ base: source.base, root: { ...source.root, token } }),
        new RegExp(`lacks the scope ${lacking}: nothing was copied; use .* the scopes ${SCOPES.join(', ')}$`),
      )
      assert.equal(await target.allot.hosting.accounts.byName('ann'), undefined)
    })

  it('whose token only reads repositories is refused, since it may not see drafts', async () => {
    const connect = async (repository: string) =>
      connectSource(source.base, await source.scoped(source.root, ...READ, repository))
    await assert.rejects(
      connect('read:repository'),
      /lacks the scope write:repository: nothing was copied; use /,
    )
    assert.equal((await connect('write:repository')).login, 'root')
  })

  it('whose token sees only what is public is refused, and nothing is copied', async () => {
    const secret = source.root.token
    const own = { name: 'one', token_last_eight: secret.slice(-8), scopes: ['all', 'public-only'] }
    const narrow = await changed({ '/users/root/tokens': { body: [own] } })
    await assert.rejects(
      target.from({ base: narrow.base, root: source.root }),
      /sees only a part of http\S+: nothing was copied; use one for all repositories/,
    )
    narrow.stop()
  })

  it('whose token is one of many, and sees only what is public, is refused', async () => {
    const secret = source.root.token
    const tokens = Array.from({ length: 51 }, (_, index) => ({
      ...{ name: `token${index}`, scopes: ['all', ...(index === 50 ? ['public-only'] : [])] },
      token_last_eight: index === 50 ? secret.slice(-8) : `other${index}`,
    }))
    const narrow = await replay({}, (req, res) => {
      const { pathname, searchParams } = new URL(req.url!, 'http://localhost')
      if (pathname !== '/api/v1/users/root/tokens') return source.allot.handler(req, res)
      const [page, limit] = [Number(searchParams.get('page') ?? 1), Number(searchParams.get('limit'))]
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify(tokens.slice((page - 1) * limit, page * limit)))
    })
    await assert.rejects(
      target.from({ base: narrow.base, root: source.root }),
      /sees only a part of http\S+: nothing was copied; use one for all repositories/,
    )
    narrow.stop()
  })

  it('may lack packages, and is refused when it lacks users, organizations or repositories', async () => {
    const none = { status: 404, body: {} }
    const withoutPackages = await changed({ '/packages/root': none })
    assert.equal((await connectSource(withoutPackages.base, source.root.token)).login, 'root')
    withoutPackages.stop()
    for (const path of ['/admin/users', '/user/orgs', '/user/repos']) {
      const lacking = await changed({ [path]: none })
      await assert.rejects(
        connectSource(lacking.base, source.root.token),
        new RegExp(`/api/v1${path}\\?limit=1 answered 404: nothing was copied$`),
      )
      lacking.stop()
    }
  })

  it('that answers something other than a list is not treated as empty', async () => {
    for (const body of ['<html>', '{"users":[]}', '[{"name":"ann"}]']) {
      const odd = await changed({ '/admin/users': { body } })
      await assert.rejects(
        target.from({ base: odd.base, root: source.root }),
        /\/admin\/users.* did not answer as Gitea or Forgejo does: /,
      )
      odd.stop()
    }
  })

  it('that lacks a named owner fails the migration, and nothing is copied', async () => {
    await assert.rejects(
      target.from(source, ['ann', 'nobody']),
      /there is no user or organization named nobody/,
    )
    assert.equal(await target.allot.hosting.accounts.byName('ann'), undefined)
  })

  it('that becomes unreachable leaves what was copied, and the next run continues', async () => {
    let left = 12
    const flaky = await replay({}, (req, res) => {
      if (left-- > 0) source.allot.handler(req, res)
      else req.socket.destroy()
    })
    const given = { base: flaky.base, root: source.root }
    target.pauses.length = 0
    await assert.rejects(target.from(given), /cannot be reached/)
    assert.deepEqual(target.pauses, [1000, 2000, 3000])
    assert.ok(await target.allot.hosting.accounts.byName('ann'))
    left = Number.POSITIVE_INFINITY
    const report = await target.from(given)
    assert.ok(report.isComplete(), report.text)
    for (const path of ['ann/one', 'ann/two'])
      assert.equal(await refsOf(target, target.root, path), await refsOf(source, source.root, path))
    flaky.stop()
  })

  it('that becomes unreachable during a fetch ends the migration, and no repository is reported for it', async () => {
    let isDown = false
    const flaky = await replay({}, (req, res) => {
      isDown ||= req.url!.includes('.git/')
      if (isDown) req.socket.destroy()
      else source.allot.handler(req, res)
    })
    const report = new Report()
    const empty = await startTarget()
    const given = { base: flaky.base, root: source.root }
    await assert.rejects(empty.from(given, [], { report }), /cannot be reached/)
    assert.ok(report.isComplete(), report.lines().join('\n'))
    await empty.stop()
    flaky.stop()
  })

  it('that does not list the branches of a repository is reported, since those that it removed stay', async () => {
    let fails = false
    const flaky = await replay({}, (req, res) => {
      if (!fails || !req.url!.includes('.git/info/refs')) return source.allot.handler(req, res)
      fails = false
      res.writeHead(500).end()
    })
    await source.as(source.root, 'POST', '/user/repos', { name: 'three' })
    const checkout = await pushed(source, source.root, 'root/three')
    const other = await startTarget()
    const run = () => other.from({ base: flaky.base, root: source.root }, ['root'])
    assert.ok((await run()).isComplete())
    await git(checkout, 'push', '--quiet', 'origin', ':other')
    fails = true
    assert.match((await run()).text, /^ {2}the repository root\/three: the source did not list its branches/m)
    assert.ok((await run()).isComplete())
    assert.equal(
      await refsOf(other, other.root, 'root/three'),
      await refsOf(source, source.root, 'root/three'),
    )
    await other.stop()
    flaky.stop()
  })

  it('that closes a connection in the place of an answer is sent the request again after a pause', async () => {
    const seen = new Set<string>()
    const flaky = await replay({}, (req, res) => {
      if (!req.url!.startsWith('/api/') || seen.has(req.url!) || seen.size === 6)
        return source.allot.handler(req, res)
      seen.add(req.url!)
      req.socket.destroy()
    })
    target.pauses.length = 0
    const report = await target.from({ base: flaky.base, root: source.root }, ['ann'])
    assert.ok(report.isComplete(), report.text)
    assert.equal(seen.size, 6)
    assert.deepEqual(target.pauses, Array(6).fill(1000))
    flaky.stop()
  })

  it('that is busy is sent the request again', async () => {
    let isBusy = true
    const busy = await replay({}, (req, res) => {
      if (!isBusy) return source.allot.handler(req, res)
      isBusy = false
      res.writeHead(503, { 'retry-after': '7' }).end()
    })
    target.pauses.length = 0
    assert.ok((await target.from({ base: busy.base, root: source.root }, ['ann'])).isComplete())
    assert.deepEqual(target.pauses, [7000])
    busy.stop()
  })
})

describe('Something that cannot be copied', () => {
  const repository = (id: number, name: string) => ({
    ...{ id, name, full_name: `ann/${name}`, owner: { login: 'ann' }, private: false, empty: false },
  })

  it('is reported by name, whatever its kind, and everything else is copied', async () => {
    const odd = await changed({
      '/admin/users': {
        body: [
          { id: 901, login: 'ann', is_admin: false },
          { id: 902, login: 'login' },
          { id: 903, login: 'acme' },
          { id: 904, login: 'yan', email: 'yan@one@two' },
          { id: 905, login: 'zoe', email: 'zoe@noreply.example.org' },
        ],
        total: 5,
      },
      '/users/ann/repos': {
        body: [repository(1, 'odd.wiki'), repository(2, 'gone'), repository(3, 'one')],
        total: 3,
      },
      '/users/login/repos': { body: [] },
      '/users/acme/repos': { body: [] },
      '/users/yan/repos': { body: [] },
      '/users/zoe/repos': { body: [] },
      '/users/ann/keys': { body: [{ key: 'ssh-rsa AAAA', title: 'old' }], total: 1 },
      '/admin/quota/rules': { body: [{ name: 'odd', limit: 1, subjects: ['size:moon'] }] },
      '/admin/quota/groups': { body: [{ name: 'g', rules: [{ name: 'odd' }] }] },
    })
    const report = await target.from({ base: odd.base, root: source.root })
    odd.stop()
    assert.equal(report.isComplete(), false)
    for (const line of [
      /^ {2}the user login: name: login is reserved$/m,
      /^ {2}the user acme: name: an organization here has this name$/m,
      /^ {2}the repository ann\/odd\.wiki: name: the name of a repository must not end in .*$/m,
      /^ {2}the repository ann\/gone: its git data could not be fetched: fatal: .*not found$/m,
      /^ {2}the SSH key old of ann: .+$/m,
      /^ {2}the quota rule odd: subjects\[0\]: unknown subject "size:moon"; expected one of: size:all, .*$/m,
      /^ {2}the quota group g: there is no rule named odd.*$/m,
      /^ {2}no email: .*: ann, yan, zoe$/m,
    ])
      assert.match(report.text, line)
    assert.match(report.text, /^users: 2 copied, 1 already there$/m)
  })
})
