import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { RepositoryOrder } from '../../lib/repositories/lists.ts'
import { run } from '../support/child.ts'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'

let allot: TestServer
let folder: string
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'allot-git-'))
  allot = await start({ repositories: { directory: folder } })
})
after(async () => {
  await allot.stop()
  rmSync(folder, { recursive: true, force: true })
})

const anOrganization = async (owner: Person, name: string, more = {}) => {
  assert.equal((await allot.as(owner, 'POST', '/orgs', { username: name, ...more })).status, 201)
  return name
}

/** The folder of the latest repository. */
const bare = (id: number) => join(folder, (id % 256).toString(16).padStart(2, '0'), `${id}.git`)
const git = async (id: number, ...args: string[]) =>
  (await run('git', ['--git-dir', bare(id), ...args])).stdout

describe('POST /org/{org}/repos', () => {
  for (const name of ['.profile', '.github', '_us', '-dash', 'dash-', 'a..b', 'git', '...'])
    it(`accepts the name ${name}`, async () => {
      const owner = await allot.person()
      assert.equal((await allot.as(owner, 'POST', '/user/repos', { name, auto_init: true })).status, 201)
      const found = await allot.as(owner, 'GET', `/repos/${owner.name}/${name}`)
      assert.equal(found.body.full_name, `${owner.name}/${name}`)
    })

  for (const branch of ['główna', 'rel@2', 'a/b#1'])
    it(`accepts the branch name ${branch}`, async () => {
      const owner = await allot.person()
      const made = { name: 'x', auto_init: true, default_branch: branch }
      const { status, body } = await allot.as(owner, 'POST', '/user/repos', made)
      assert.equal(status, 201)
      assert.equal(body.default_branch, branch)
      assert.equal((await git(body.id, 'symbolic-ref', 'HEAD')).trim(), `refs/heads/${branch}`)
    })

  const BAD: [what: string, body: unknown, status: number, message?: RegExp][] = [
    ['no name', {}, 422, /Name is required/],
    ['an empty name', { name: '' }, 422],
    ['a name of 101 characters', { name: 'x'.repeat(101) }, 422],
    ['a name with a space', { name: 'a b' }, 422],
    ['a name with a slash', { name: 'a/b' }, 422],
    ['a name that climbs', { name: '../x' }, 422],
    ['a dot alone', { name: '.' }, 422],
    ['two dots alone', { name: '..' }, 422],
    ['a name that ends in .wiki', { name: 'demo.wiki' }, 422],
    ['a name that ends in .rss', { name: 'a.rss' }, 422],
    ['a name that ends in .ATOM', { name: 'a.ATOM' }, 422],
    ['a name that ends in .git', { name: 'demo.git' }, 422],
    ['a name that ends in .GIT', { name: 'demo.GIT' }, 422],
    ['a name in another script', { name: 'дема' }, 422],
    ['a NUL', { name: 'a\u0000b' }, 422],
    ['a number for a name', { name: 5 }, 422, /^name: expected a string/],
    ['a word for private', { name: 'x', private: 'yes' }, 422, /^private: /],
    ['a number for auto_init', { name: 'x', auto_init: 1 }, 422, /^auto_init: /],
    ['a description of 2049 characters', { name: 'x', description: 'x'.repeat(2049) }, 422, /^description: /],
    ['another format of objects', { name: 'x', object_format_name: 'sha256' }, 422, /^object_format_name: /],
    ['a list for gitignores', { name: 'x', gitignores: ['Go'] }, 422, /^gitignores: /],
    ['an unknown license', { name: 'x', auto_init: true, license: 'NOPE-1.0' }, 422, /NOPE-1\.0/],
    ['a license that climbs', { name: 'x', auto_init: true, license: '../../package' }, 422],
    ['an unknown gitignore', { name: 'x', auto_init: true, gitignores: 'Go,Nope' }, 422, /Nope/],
    ['a gitignore that climbs', { name: 'x', auto_init: true, gitignores: '../Go' }, 422],
    [
      'more gitignores than anyone needs',
      { name: 'x', auto_init: true, gitignores: Array.from({ length: 60 }, (_, at) => `g${at}`).join() },
      422,
      /at most 50/,
    ],
    [
      'a list of gitignores without end',
      { name: 'x', auto_init: true, gitignores: 'Go,'.repeat(1000) },
      422,
      /^gitignores: /,
    ],
    ['an unknown readme', { name: 'x', auto_init: true, readme: 'Fancy' }, 422, /Fancy/],
    ['a branch that is an option', { name: 'x', default_branch: '--help' }, 422, /branch/],
    ['a branch with two dots', { name: 'x', default_branch: 'a..b' }, 422, /branch/],
    ['broken JSON', '{', 422],
    ['an unknown license without a first commit', { name: 'x', license: 'Nope' }, 422, /Nope/],
    ['a name that is taken, in other letters', { name: 'TAKEN' }, 422, /already/],
  ]
  for (const [what, body, status, message] of BAD)
    it(`answers ${status} to ${what}, and creates nothing`, async () => {
      const owner = await allot.person()
      const org = await anOrganization(owner, `bad-${owner.name}`)
      await allot.as(owner, 'POST', `/org/${org}/repos`, { name: 'taken' })
      const before = readdirSync(folder, { recursive: true }).length
      const headers = { 'content-type': 'application/json' }
      assertError(
        await allot.request('POST', `/org/${org}/repos`, { token: owner.token, body, headers }),
        status,
        message,
      )
      assertList(await allot.as(owner, 'GET', `/orgs/${org}/repos`), 'name', ['taken'])
      assert.equal(readdirSync(folder, { recursive: true }).length, before, 'no file was left behind')
    })
})

describe('auto_init', () => {
  it('creates a bare repository with one commit of README, .gitignore and LICENSE', async () => {
    const owner = await allot.person('initial', { email: 'initial@example.test' })
    const { status, body } = await allot.as(owner, 'POST', '/user/repos', {
      name: 'real',
      description: 'Really <made>',
      auto_init: true,
      gitignores: 'Node, Go',
      license: 'mit',
      readme: 'Default',
    })
    assert.equal(status, 201)
    assert.equal(body.empty, false)
    assert.ok(body.size >= 1)
    assert.equal((await git(body.id, 'rev-list', '--all', '--count')).trim(), '1')
    assert.equal((await git(body.id, 'symbolic-ref', 'HEAD')).trim(), 'refs/heads/main')
    assert.equal(
      (await git(body.id, 'ls-tree', '--name-only', 'main')).trim(),
      '.gitignore\nLICENSE\nREADME.md',
    )
    assert.equal(await git(body.id, 'show', 'main:README.md'), '# real\n\nReally <made>')
    assert.match(await git(body.id, 'show', 'main:.gitignore'), /node_modules[\s\S]*\*\.test/)
    assert.match(
      await git(body.id, 'show', 'main:LICENSE'),
      new RegExp(`MIT License\\s+Copyright \\(c\\) ${new Date().getUTCFullYear()} initial`),
    )
    assert.equal(
      (await git(body.id, 'log', '-1', '--format=%an <%ae>')).trim(),
      'initial <initial@noreply.127.0.0.1>',
    )
    await git(body.id, 'fsck', '--strict')
  })

  it('counts the size of the repository on disk toward its owner at once', async () => {
    const owner = await allot.person()
    const { body } = await allot.as(owner, 'POST', '/user/repos', {
      name: 'sized',
      auto_init: true,
      license: 'GPL-3.0-only',
    })
    const files = readdirSync(bare(body.id), { recursive: true, withFileTypes: true }).filter((one) =>
      one.isFile(),
    )
    const bytes = files.reduce((sum, one) => sum + readFileSync(join(one.parentPath, one.name)).length, 0)
    const used = (await allot.as(owner, 'GET', '/user/quota')).body.used.size.repos
    assert.deepEqual(used, { public: bytes, private: 0 })
    assert.equal(body.size, Math.floor(bytes / 1024))
  })

  it('is safe against file paths and options in the text of users', async () => {
    const owner = await allot.person()
    await allot.allot.hosting.accounts.edit(owner.id, { fullName: 'A <b>\nM 100644 inline x\u0000' })
    const description = 'data 3\nabc\n`$(touch /tmp/x)` "\'\n'
    const { status, body } = await allot.as(owner, 'POST', '/user/repos', {
      name: 'odd',
      description,
      auto_init: true,
    })
    assert.equal(status, 201)
    assert.equal(await git(body.id, 'show', 'main:README.md'), `# odd\n\n${description}`)
    assert.equal((await git(body.id, 'ls-tree', '--name-only', 'main')).trim(), 'README.md')
    await git(body.id, 'fsck', '--strict')
  })

  it('set to false leaves the repository empty, which can be cloned', async () => {
    const owner = await allot.person()
    const { body } = await allot.as(owner, 'POST', '/user/repos', {
      name: 'bare',
      default_branch: 'trunk',
      license: 'mit',
    })
    assert.equal(body.empty, true)
    assert.equal((await git(body.id, 'rev-list', '--all', '--count')).trim(), '0')
    assert.equal((await git(body.id, 'symbolic-ref', 'HEAD')).trim(), 'refs/heads/trunk')
  })
})

describe('A repository', () => {
  it('of an organization can be read and pushed to by its members, and administered by its owners', async () => {
    const [owner, member] = [await allot.person(), await allot.person()]
    const org = await anOrganization(owner, 'rights')
    await allot.as(owner, 'PUT', `/orgs/${org}/members/${member.name}`)
    await allot.as(owner, 'POST', `/orgs/${org}/repos`, { name: 'secret', private: true })
    const rights = async (one: Person) =>
      (await allot.as(one, 'GET', `/repos/${org}/secret`)).body.permissions
    assert.deepEqual(await rights(member), { admin: false, push: true, pull: true })
    assert.deepEqual(await rights(owner), { admin: true, push: true, pull: true })
    assertError(await allot.as(member, 'DELETE', `/repos/${org}/secret`), 403)
    await allot.as(owner, 'DELETE', `/orgs/${org}/members/${member.name}`)
    assertNotFound(await allot.as(member, 'GET', `/repos/${org}/secret`))
  })

  it('is renamed, described and made private by PATCH, which leaves the rest unchanged', async () => {
    const owner = await allot.person()
    await allot.as(owner, 'POST', '/user/repos', { name: 'old', description: 'kept' })
    await allot.as(owner, 'POST', '/user/repos', { name: 'taken' })
    assertError(await allot.as(owner, 'POST', '/user/repos', { name: 'TAKEN' }), 409)
    const path = `/repos/${owner.name}/old`
    const edited = await allot.as(owner, 'PATCH', path, {
      name: 'new',
      private: true,
      website: 'http://x.test',
    })
    const { name, description, website, private: hidden } = edited.body
    assert.deepEqual([name, description, website, hidden], ['new', 'kept', 'http://x.test', true])
    assert.equal((await allot.as(owner, 'GET', path)).status, 301)
    const renamed = `/repos/${owner.name}/new`
    assertError(await allot.as(owner, 'PATCH', renamed, { name: 'TAKEN' }), 409, /named taken$/)
    assertError(await allot.as(owner, 'PATCH', renamed, { name: 'a b' }), 422)
    assertError(await allot.as(owner, 'PATCH', renamed, { private: 'no' }), 422)
    assertError(await allot.as(owner, 'PATCH', renamed, { default_branch: 'a b' }), 422)
    assert.equal((await allot.as(owner, 'GET', renamed)).body.name, 'new')
    assert.equal(
      (await allot.as(owner, 'PATCH', renamed, { name: 'NEW' })).body.full_name,
      `${owner.name}/NEW`,
    )
  })

  it('is deleted with its files', async () => {
    const owner = await allot.person()
    const { id } = (await allot.as(owner, 'POST', '/user/repos', { name: 'gone', auto_init: true })).body
    assertNoContent(await allot.as(owner, 'DELETE', `/repos/${owner.name}/gone`))
    assertNotFound(await allot.as(owner, 'DELETE', `/repos/${owner.name}/gone`))
    assert.throws(() => readdirSync(bare(id)), { code: 'ENOENT' })
    assert.equal((await allot.as(owner, 'POST', '/user/repos', { name: 'gone' })).status, 201)
  })

  it('can be transferred to the caller or to an organization that the caller owns, and by administrators to any owner', async () => {
    const [owner, other] = [await allot.person(), await allot.person()]
    const org = await anOrganization(owner, `to-${owner.name}`)
    await allot.as(owner, 'POST', '/user/repos', { name: 'moving' })
    const to = (who: Person, from: string, new_owner: string) =>
      allot.as(who, 'POST', `/repos/${from}/moving/transfer`, { new_owner })
    assertNotFound(await to(owner, owner.name, 'nobody'))
    assertError(await allot.as(owner, 'POST', `/repos/${owner.name}/moving/transfer`, {}), 422)
    await allot.as(owner, 'POST', `/orgs/${org}/repos`, { name: 'MOVING' })
    assertError(await to(owner, owner.name, org), 422, /already has/)
    await allot.as(owner, 'DELETE', `/repos/${org}/moving`)
    assert.equal((await to(owner, owner.name, org)).body.full_name, `${org}/moving`)
    assert.equal((await allot.as(owner, 'GET', `/repos/${owner.name}/moving`)).status, 301)
    assert.equal((await to(allot.root, org, other.name)).body.owner.login, other.name)
  })
})

describe('GET /user/repos', () => {
  it("lists the caller's repositories and those of the caller's organizations, by owner and name", async () => {
    const [owner, member] = [await allot.person(), await allot.person('Rita')]
    const org = await anOrganization(owner, 'shared')
    await allot.as(owner, 'PUT', `/orgs/${org}/members/${member.name}`)
    await allot.as(owner, 'POST', `/orgs/${org}/repos`, { name: 'b-org', private: true })
    for (const name of ['c-own', 'A-own'])
      await allot.as(member, 'POST', '/user/repos', { name, private: name === 'c-own' })
    const names = ['A-own', 'c-own', 'b-org']
    assertList(await allot.as(member, 'GET', '/user/repos'), 'name', names)
    assertList(await allot.as(member, 'GET', '/user/repos?limit=2&page=2'), 'name', ['b-org'], 3)
    const reversed = await allot.as(member, 'GET', '/user/repos?order_by=reversealphabetically')
    assertList(reversed, 'name', names.reverse())
  })

  it('has the requested order: size is smallest first, reversesize largest first', async () => {
    const owner = await allot.person()
    const { repositories } = allot.allot.hosting
    const sizes = { 'b-mid': 2000, 'a-large': 3000, 'c-small': 1000 }
    for (const [name, size] of Object.entries(sizes)) {
      const { id } = (await allot.as(owner, 'POST', '/user/repos', { name })).body
      await repositories.resize(id, size)
    }
    await allot.as(owner, 'PUT', `/user/starred/${owner.name}/b-mid`)
    const forked = await allot.as(await allot.person(), 'POST', `/repos/${owner.name}/c-small/forks`)
    assert.equal(forked.status, 202)
    // Undefined: the repositories are changed within one second, or in the next.
    const ORDERS: Record<RepositoryOrder, string[] | undefined> = {
      size: ['c-small', 'b-mid', 'a-large'],
      reversesize: ['a-large', 'b-mid', 'c-small'],
      name: ['a-large', 'b-mid', 'c-small'],
      alphabetically: ['a-large', 'b-mid', 'c-small'],
      reversealphabetically: ['c-small', 'b-mid', 'a-large'],
      id: ['b-mid', 'a-large', 'c-small'],
      oldest: ['b-mid', 'a-large', 'c-small'],
      newest: ['c-small', 'a-large', 'b-mid'],
      moststars: ['b-mid', 'c-small', 'a-large'],
      feweststars: ['a-large', 'c-small', 'b-mid'],
      mostforks: ['c-small', 'a-large', 'b-mid'],
      fewestforks: ['b-mid', 'a-large', 'c-small'],
      recentupdate: undefined,
      leastupdate: undefined,
    }
    for (const [order, names] of Object.entries(ORDERS)) {
      const listed = await allot.as(owner, 'GET', `/user/repos?order_by=${order}`)
      assert.equal(listed.body.length, 3)
      if (names !== undefined) assertList(listed, 'name', names)
    }
    for (const order of ['SIZE', 'nothing', '', '__proto__'])
      assertError(await allot.as(owner, 'GET', `/user/repos?order_by=${order}`), 422, /order_by/)
  })
})
