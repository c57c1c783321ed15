import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertList } from '../support/expectations.ts'
import { type Person, start, startBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

const allot = startBefore({ repositories: false })

const ZERO = {
  repos: { public: 0, private: 0 },
  git: { LFS: 0 },
  assets: { attachments: { issues: 0, releases: 0 }, artifacts: 0, packages: { all: 0 } },
}
const used = async (person: Person) => (await allot.as(person, 'GET', '/user/quota')).body.used.size

/** Puts an entry of an owner's repository into the ledger. */
const put = (kind: string, key: string, body: Record<string, unknown>) =>
  allot.as(allot.root, 'PUT', `/admin/ledger/${kind}/${encodeURIComponent(key)}`, body)

/** A user with a public and a private repository, and one resource of each kind. */
const someone = async () => {
  const person = await allot.person()
  const { repositories } = allot.allot.hosting
  for (const [name, hidden, size] of [
    ['open', false, 1000],
    ['hidden', true, 200],
  ] as const) {
    const { id } = (await allot.as(person, 'POST', '/user/repos', { name, private: hidden })).body
    await repositories.resize(id, size)
  }
  const repository = `${person.name}/open`
  const at = { repository, name: 'x' }
  await put('lfs', `${repository} lfs`, { ...at, size: 40_000 })
  await put('attachments', `${repository} i`, { ...at, size: 3, on: 'issue', index: 1 })
  await put('attachments', `${repository} r`, { ...at, size: 50, on: 'release', index: 2 })
  await put('artifacts', `${repository} a`, { ...at, size: 600_000, run: 7 })
  await put('packages', `${repository} p`, {
    owner: person.name,
    name: 'x',
    size: 7_000_000,
    type: 'npm',
    version: '1',
  })
  return person
}

describe('GET /user/quota', () => {
  it('counts toward the owner of the repository, not toward the creator of the resource', async () => {
    const owner = await allot.person()
    await allot.as(owner, 'POST', '/orgs', { username: 'payer' })
    await allot.as(owner, 'POST', '/org/payer/repos', { name: 'shared' })
    await put('attachments', 'payer a', {
      repository: 'payer/shared',
      name: 'a',
      size: 9,
      on: 'issue',
      index: 1,
    })
    assert.deepEqual(await used(owner), ZERO)
    assert.equal((await allot.allot.quota.info('payer')).used.size.assets.attachments.issues, 9)
  })

  it('follows a repository that turns private, is renamed, transferred and deleted', async () => {
    const person = await someone()
    const total = await used(person)
    await allot.as(person, 'PATCH', `/repos/${person.name}/open`, { private: true, name: 'shut' })
    assert.deepEqual(await used(person), { ...total, repos: { public: 0, private: 1200 } })
    const org = `org-${person.name}`
    await allot.as(person, 'POST', '/orgs', { username: org })
    await allot.as(person, 'POST', `/repos/${person.name}/shut/transfer`, { new_owner: org })
    const own = {
      ...ZERO,
      repos: { public: 0, private: 200 },
      assets: { ...ZERO.assets, packages: { all: 7_000_000 } },
    }
    assert.deepEqual(await used(person), own)
    assert.equal((await allot.allot.quota.info(org)).used.size.repos.private, 1000)
    assert.equal((await allot.allot.quota.info(org)).used.size.assets.artifacts, 600_000)
    await allot.as(person, 'DELETE', `/repos/${org}/shut`)
    assert.deepEqual((await allot.allot.quota.info(org)).used.size, ZERO)
    await allot.as(person, 'DELETE', `/repos/${person.name}/hidden`)
    assert.deepEqual(await used(person), { ...own, repos: { public: 0, private: 0 } })
  })

  it('is never older than the last acknowledged change, with concurrent readers and writers', async () => {
    const person = await allot.person()
    const { id } = (await allot.as(person, 'POST', '/user/repos', { name: 'racing' })).body
    const { repositories } = allot.allot.hosting
    let acknowledged = 0
    let done = false
    const readers = Array.from({ length: 4 }, async () => {
      while (!done) {
        const least = acknowledged
        const seen = (await used(person)).repos.public
        assert.ok(seen >= least, `read ${seen} after ${least} was acknowledged`)
      }
    })
    for (let size = 1; size <= 150; size++) {
      await repositories.resize(id, size)
      acknowledged = size
    }
    done = true
    await Promise.all(readers)
  })
})

describe('GET /user/quota/check', () => {})

describe('The lists of used resources', () => {
  it('are ordered largest first, then by name, and complete over all pages', async () => {
    const person = await someone()
    const repository = `${person.name}/open`
    const things: [name: string, size: number][] = [
      ['c', 5],
      ['a', 5],
      ['b', 5],
      ['zero', 0],
      ['big', 999],
    ]
    for (const [name, size] of things)
      await put('artifacts', `${repository} thing ${name}`, { repository, name, size })
    const expected = ['x', 'big', 'a', 'b', 'c', 'zero']
    assertList(await allot.as(person, 'GET', '/user/quota/artifacts'), 'name', expected)
    const seen: string[] = []
    for (let page = 1; page <= 3; page++)
      seen.push(
        ...(await allot.as(person, 'GET', `/user/quota/artifacts?limit=2&page=${page}`)).body.map(
          (one: { name: string }) => one.name,
        ),
      )
    assert.deepEqual(seen, expected)
    assertList(await allot.as(person, 'GET', '/user/quota/artifacts?limit=2&page=4'), 'name', [], 6)
    const second = await allot.as(person, 'GET', '/user/quota/artifacts?limit=2&page=2')
    const url = `${allot.api}/user/quota/artifacts?limit=2`
    assert.equal(
      second.headers.get('link'),
      `<${url}&page=3>; rel="next", <${url}&page=3>; rel="last", <${url}&page=1>; rel="first", <${url}&page=1>; rel="prev"`,
    )
    assert.match(second.headers.get('access-control-expose-headers') ?? '', /Link, .*X-Total-Count/)
  })
})

describe('The configured defaults', () => {
  it('are logged at the start when no group has their name', async () => {
    const logged: [object, string][] = []
    const log = {
      error: (fields: object, text: string) => void logged.push([fields, text]),
      info: () => undefined,
    }
    const own = await start({ repositories: false, quota: { defaultGroups: ['fre'] }, log })
    await waitFor(() => logged.length > 0)
    await own.person()
    assert.deepEqual(logged, [
      [
        { group: 'fre' },
        'quota.defaultGroups names a group that does not exist; it limits no owner until it is made',
      ],
    ])
  })

  it('apply to owners without an explicit group only', async () => {
    const own = await start({ repositories: false, quota: { defaultGroups: ['free', 'missing'] } })
    const { rules, groups } = own.allot.quota
    await rules.create({ name: 'none', limit: 0, subjects: ['size:all'] })
    await rules.create({ name: 'much', limit: -1, subjects: ['size:all'] })
    await groups.create({ name: 'free', rules: ['none'] })
    await groups.create({ name: 'paid', rules: ['much'] })
    const person = await own.person()
    const isOver = async () =>
      (await own.request('GET', '/user/quota/check?subject=size:all', { token: person.token })).body
    assert.equal(await isOver(), true)
    assert.equal((await own.request('GET', '/user/quota', { token: person.token })).body.groups.length, 1)
    await groups.assign(person.name, 'paid')
    assert.equal(await isOver(), false)
  })

  it('may be one total limit, named "default total", which is not shown as a group', async () => {
    const own = await start({ repositories: false, quota: { defaultTotal: '1 KiB' } })
    const person = await own.person()
    const { id } = (await own.request('POST', '/user/repos', { token: person.token, body: { name: 'x' } }))
      .body
    const isOver = () => own.allot.quota.isOver(person.name, 'size:repos:public')
    await own.allot.hosting.repositories.resize(id, 1023)
    assert.equal(await isOver(), false)
    await own.allot.hosting.repositories.resize(id, 1024)
    assert.equal(await isOver(), true)
    assert.deepEqual((await own.request('GET', '/user/quota', { token: person.token })).body.groups, [])
    assert.deepEqual((await own.allot.quota.info(person.name)).groups, [])
    const path = `/admin/users/${person.name}/quota/explain?subject=size:all`
    const { rule, groups } = (await own.as(own.root, 'GET', path)).body
    assert.deepEqual([rule, groups[0].name, groups[0].rules[0].name], Array(3).fill('default total'))
  })
})

describe('The quota engine enforces nothing', () => {
  it('refuses nothing to an owner who is over every limit', async () => {
    const own = await start({ quota: { defaultTotal: 0 } })
    const person = await own.person()
    const { token } = person
    assert.equal((await own.request('GET', '/user/quota/check?subject=size:all', { token })).body, true)
    const made = await own.request('POST', '/user/repos', {
      token,
      body: { name: 'more', auto_init: true },
    })
    assert.equal(made.status, 201)
  })
})
