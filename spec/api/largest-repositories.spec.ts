import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { assertError, assertList, assertNotFound } from '../support/expectations.ts'
import { peopleBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })
const [alice, bob] = peopleBefore(allot, 'alice', 'bob')
before(async () => {
  for (const [person, name, isPrivate] of [
    [alice, 'code', false],
    [alice, 'builds', true],
    [bob, 'media', false],
    [bob, 'empty', false],
  ] as const)
    await allot.as(person, 'POST', '/user/repos', { name, private: isPrivate })
  const code = await allot.as(alice, 'GET', '/repos/alice/code')
  await allot.allot.hosting.repositories.resize(code.body.id, 1000)
  const entries: [kind: string, repository: string, fields: object][] = [
    ['lfs', 'alice/code', { size: 20 }],
    ['artifacts', 'alice/builds', { size: 1500, run: 1 }],
    ['packages', 'alice/builds', { size: 300, type: 'npm', version: '1' }],
    ['attachments', 'bob/media', { size: 4, on: 'issue', index: 1 }],
    ['attachments', 'bob/media', { size: 5, on: 'release', index: 1 }],
  ]
  for (const [index, [kind, repository, fields]] of entries.entries()) {
    const entry = { repository, name: 'x', ...fields }
    assert.equal((await asRoot('PUT', `/admin/ledger/${kind}/${index}`, entry)).status, 201)
  }
})
const asRoot = (method: string, path: string, body?: unknown) => allot.as(allot.root, method, path, body)

describe('GET /admin/quota/repositories', () => {
  it('lists the repositories of all owners by all bytes that they use, largest first', async () => {
    const answer = await asRoot('GET', '/admin/quota/repositories')
    assertList(answer, 'full_name', ['alice/builds', 'alice/code', 'bob/media', 'bob/empty'])
    assertList(answer, 'used', [1800, 1020, 9, 0])
    const { id, updated_at: _, ...builds } = answer.body[0]
    assert.equal(id, (await asRoot('GET', '/repos/alice/builds')).body.id)
    assert.deepEqual(builds, {
      full_name: 'alice/builds',
      html_url: `${allot.base}/alice/builds`,
      private: true,
      used: 1800,
      size: { git: 0, LFS: 0, attachments: { issues: 0, releases: 0 }, artifacts: 1500, packages: 300 },
    })
    assert.deepEqual(answer.body[2].size.attachments, { issues: 4, releases: 5 })
  })

  it('has the pages that limit and page ask for', async () => {
    for (const [page, name] of ['alice/builds', 'alice/code', 'bob/media', 'bob/empty'].entries())
      assertList(
        await asRoot('GET', `/admin/quota/repositories?limit=1&page=${page + 1}`),
        'full_name',
        [name],
        4,
      )
    assertList(await asRoot('GET', '/admin/quota/repositories?page=9'), 'full_name', [], 4)
    assertError(await asRoot('GET', '/admin/quota/repositories?page=-1'), 422, /^page: /)
  })

  it('adds up to what GET /user/quota has, and follows a transfer', async () => {
    await allot.as(bob, 'POST', '/user/repos', { name: 'moving' })
    await asRoot('PUT', '/admin/ledger/lfs/moving', { repository: 'bob/moving', name: 'x', size: 77 })
    const moved = await asRoot('POST', '/repos/bob/moving/transfer', { new_owner: 'alice' })
    assert.equal(moved.status, 202)
    const of = async (name: string): Promise<{ full_name: string; used: number }[]> =>
      (await asRoot('GET', `/admin/users/${name}/quota/repositories`)).body
    assert.deepEqual(
      (await of('alice')).map(({ full_name, used }) => [full_name, used]),
      [
        ['alice/builds', 1800],
        ['alice/code', 1020],
        ['alice/moving', 77],
      ],
    )
    for (const { name } of [alice, bob]) {
      const { used } = await allot.allot.quota.explain(name, 'size:all')
      assert.equal(
        (await of(name)).reduce((sum, repository) => sum + repository.used, 0),
        used,
      )
    }
    await asRoot('DELETE', '/repos/alice/moving')
    assert.equal((await of('alice')).length, 2)
  })
})

describe('GET /admin/users/{username}/quota/repositories', () => {
  it('lists those of one owner, and of an organization', async () => {
    assertList(await asRoot('GET', '/admin/users/BOB/quota/repositories'), 'used', [9, 0])
    await allot.as(bob, 'POST', '/orgs', { username: 'acme' })
    assertList(await asRoot('GET', '/admin/users/acme/quota/repositories'), 'used', [])
    assertNotFound(await asRoot('GET', '/admin/users/nobody/quota/repositories'))
    assertError(await asRoot('GET', '/admin/users/bob/quota/repositories?limit=x'), 422, /^limit: /)
  })
})
