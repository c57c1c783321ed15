import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { assertError, assertList } from '../support/expectations.ts'
import { type Person, start, startBefore } from '../support/test-server.ts'

const asRoot = (method: string, path: string, body?: unknown) => allot.as(allot.root, method, path, body)

/** A user with packages of the given bytes. */
const using = async (size: number, name?: string): Promise<Person> => {
  const person = await allot.person(name)
  const entry = { owner: person.name, name: 'p', size, type: 'npm', version: '1' }
  await asRoot('PUT', `/admin/ledger/packages/of-${person.name}`, entry)
  return person
}

/** A group with one rule on all packages. */
const limiting = async (name: string, limit: number, ...owners: string[]) => {
  const rules = [{ name: `${name}-rule`, limit, subjects: ['size:assets:packages:all'] }]
  await asRoot('POST', '/admin/quota/groups', { name, rules })
  for (const owner of owners) await asRoot('PUT', `/admin/quota/groups/${name}/users/${owner}`)
}

let small: Person
let full: Person
let large: Person
let free: Person
let near: Person
let empty: Person
const allot = startBefore({ repositories: false })
before(async () => {
  ;[small, full, large, free] = [await using(79), await using(100), await using(350), await using(9000)]
  near = await using(80)
  empty = await allot.person()
  await allot.request('POST', '/orgs', { token: large.token, body: { username: 'acme' } })
  await limiting('hundred', 100, small.name, full.name, near.name, large.name)
  await limiting('nothing', 0, 'acme', empty.name)
  await limiting('thousand', 1000)
})
const path = '/admin/quota/over?subject=size:assets:packages:all'

describe('GET /admin/quota/over', () => {
  it('lists the users and organizations that are over, largest excess first', async () => {
    const answer = await asRoot('GET', path)
    assert.deepEqual(
      answer.body.map((one: Over) => [one.owner.login, one.over, one.used, one.limit, one.left]),
      [
        [large.name, true, 350, 100, -250],
        [full.name, true, 100, 100, 0],
        [empty.name, true, 0, 0, 0],
        ['acme', true, 0, 0, 0],
      ],
    )
    assert.equal(answer.headers.get('x-total-count'), '4')
    assert.equal(answer.body[0].subject, 'size:assets:packages:all')
  })

  it('looks at any subject unless one is named, and names the subject and the rule that bind', async () => {
    const { body, headers } = await asRoot('GET', '/admin/quota/over')
    assert.deepEqual(
      body.map((one: Over) => [one.owner.login, one.subject, one.rule, one.used, one.left]),
      [
        [large.name, 'size:assets:packages:all', 'hundred-rule', 350, -250],
        [full.name, 'size:assets:packages:all', 'hundred-rule', 100, 0],
        [empty.name, 'size:assets:packages:all', 'nothing-rule', 0, 0],
        ['acme', 'size:assets:packages:all', 'nothing-rule', 0, 0],
      ],
    )
    assert.equal(headers.get('x-total-count'), '4')
    const near = await asRoot('GET', '/admin/quota/over?within=20%25')
    assert.deepEqual([near.body.length, near.body.at(-1).left], [5, 20])
  })

  it('lists each owner once, with the largest excess, and the broadest subject that has it', async () => {
    const other = await start({ repositories: false })
    const asOther = (method: string, path: string, body?: unknown) => other.as(other.root, method, path, body)
    const { name, token } = await other.person()
    await other.request('POST', '/user/repos', { token, body: { name: 'demo' } })
    const item = { repository: `${name}/demo`, name: 'x', size: 40 }
    await asOther('PUT', '/admin/ledger/lfs/l', item)
    await asOther('PUT', '/admin/ledger/artifacts/a', { ...item, run: 1 })
    const rules = [
      { name: 'git', limit: 30, subjects: ['size:git:all'] },
      { name: 'assets', limit: 15, subjects: ['size:assets:all'] },
      { name: 'lfs', limit: 39, subjects: ['size:git:lfs'] },
    ]
    await asOther('POST', '/admin/quota/groups', { name: 'g', rules })
    await asOther('PUT', `/admin/quota/groups/g/users/${name}`)
    const over = async (query: string) =>
      (await asOther('GET', `/admin/quota/over${query}`)).body.map((one: Over) => [
        one.subject,
        one.rule,
        one.left,
      ])
    assert.deepEqual(await over(''), [['size:assets:all', 'assets', -25]])
    assert.deepEqual(await over('?subject=size:git:lfs'), [['size:git:lfs', 'git', -10]])
  })

  it('lists owners near their limit too, within a percentage of the limit', async () => {
    const over = [large.name, full.name, empty.name, 'acme']
    for (const [within, logins] of [
      ['20%25', [...over, near.name]],
      ['20%', [...over, near.name]],
      ['20', [...over, near.name]],
      ['21', [...over, near.name, small.name]],
      ['19.9%25', over],
      ['0', over],
      ['100%25', [...over, near.name, small.name]],
    ] as const) {
      const answer = await asRoot('GET', `${path}&within=${within}`)
      assert.deepEqual(new Set(answer.body.map((one: Over) => one.owner.login)), new Set(logins), within)
      assert.deepEqual(answer.body.at(-1).over, logins.length === 4)
    }
  })

  it('has the pages that limit and page ask for', async () => {
    for (const [page, login] of [large.name, full.name, empty.name, 'acme'].entries()) {
      const answer = await asRoot('GET', `${path}&limit=1&page=${page + 1}`)
      assert.deepEqual([answer.body.length, answer.body[0].owner.login], [1, login])
      assert.equal(answer.headers.get('x-total-count'), '4')
    }
    assertList(await asRoot('GET', `${path}&page=9`), 'used', [], 4)
  })

  it('agrees with the check of each owner', async () => {
    for (const subject of ['size:all', 'size:assets:packages:all', 'size:assets:all', 'size:wiki']) {
      const over = (await asRoot('GET', `/admin/quota/over?subject=${subject}`)).body as Over[]
      for (const { name, token } of [small, full, large, free, near, empty]) {
        const own = (await allot.request('GET', `/user/quota/explain?subject=${subject}`, { token })).body
        const listed = over.find(({ owner }) => owner.login === name)
        assert.equal(listed !== undefined, own.over)
        if (listed)
          assert.deepEqual([listed.used, listed.limit, listed.left], [own.used, own.limit, own.left])
      }
    }
    const any = (await asRoot('GET', '/admin/quota/over')).body as Over[]
    for (const { name, token } of [small, full, large, free, near, empty]) {
      const own = (await allot.request('GET', '/user/quota/explain', { token })).body
      const listed = any.find(({ owner }) => owner.login === name)
      assert.equal(listed !== undefined, own.over)
      if (listed) assert.deepEqual([listed.subject, listed.left], [own.subject, own.left])
    }
  })

  it('applies the default groups to owners without a group', async () => {
    const other = await start({ quota: { defaultGroups: ['free'], defaultTotal: 10 } })
    const person = await other.person()
    const entry = { owner: person.name, name: 'p', size: 10, type: 'npm', version: '1' }
    await other.as(other.root, 'PUT', '/admin/ledger/packages/x', entry)
    const over = async () => (await other.as(other.root, 'GET', '/admin/quota/over')).body as Over[]
    const logins = async () => (await over()).map(({ owner }) => owner.login)
    assert.deepEqual(await logins(), [person.name])
    assert.equal((await over())[0]!.rule, 'default total')
    const rules = [{ name: 'eleven', limit: 11, subjects: ['size:all'] }]
    await other.as(other.root, 'POST', '/admin/quota/groups', { name: 'free', rules })
    assert.deepEqual(await logins(), [])
  })

  for (const [wrong, message] of [
    ['subject=', /^subject: expected one of/],
    ['subject=size:none', /^subject: expected one of/],
    ['subject=size:all&within=-1', /^within: expected a percentage/],
    ['subject=size:all&within=101', /^within: /],
    ['subject=size:all&within=some', /^within: /],
    ['subject=size:all&page=-1', /^page: /],
    ['subject=size:all&limit=x', /^limit: /],
  ] as const)
    it(`answers 422 to ?${wrong}`, async () => {
      assertError(await asRoot('GET', `/admin/quota/over?${wrong}`), 422, message)
    })
})

interface Over {
  owner: { login: string }
  subject: string
  rule: string
  over: boolean
  used: number
  limit: number
  left: number
}
