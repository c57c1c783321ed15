import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { assertSearchError } from '../support/expectations.ts'
import { type Person, peopleBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })
const [alice, bob] = peopleBefore(allot, 'alice', 'bob')
before(async () => {
  for (const [owner, name, hidden] of [
    [alice, 'Apple-tree', false],
    [alice, 'apple-secret', true],
    [bob, 'pineapple', false],
    [bob, 'cherry', false],
  ] as const)
    await allot.request('POST', '/user/repos', { token: owner.token, body: { name, private: hidden } })
  await allot.request('POST', '/orgs', { token: bob.token, body: { username: 'orchard' } })
  await allot.request('POST', '/org/orchard/repos', {
    token: bob.token,
    body: { name: 'apple-press', private: true },
  })
})

const found = async (query: string, person?: Person) => {
  const { status, body, headers } = await allot.request(
    'GET',
    `/repos/search${query}`,
    person ? { token: person.token } : {},
  )
  assert.equal(status, 200)
  assert.equal(body.ok, true)
  return {
    names: body.data.map((one: { name: string }) => one.name),
    total: Number(headers.get('x-total-count')),
  }
}

describe('GET /repos/search', () => {
  it('finds users by a part of the name in capitals that ends in a sigma, whose small form depends on its place', async () => {
    const nikos = await allot.person('nikos')
    await allot.allot.hosting.accounts.edit(nikos.id, { fullName: 'ΟΔΟΣΑ' })
    for (const part of ['ΟΔΟΣ', 'ΟΔΟΣΑ', 'οδοσ', 'ς']) {
      const found = await allot.as(nikos, 'GET', `/users/search?q=${encodeURIComponent(part)}`)
      assert.deepEqual(
        found.body.map(({ login }: { login: string }) => login),
        ['nikos'],
        part,
      )
    }
  })

  it('finds private repositories for their owner, members of their organization and administrators', async () => {
    assert.deepEqual((await found('?q=apple', alice)).names, ['apple-secret', 'Apple-tree', 'pineapple'])
    assert.deepEqual((await found('?q=apple', bob)).names, ['apple-press', 'Apple-tree', 'pineapple'])
    assert.equal((await found('?q=apple', allot.root)).total, 4)
  })

  it('finds nothing for an id beyond 2^53', async () => {
    for (const id of ['9007199254740992', '9007199254740993', '9223372036854775807', '9'.repeat(30), '-1'])
      for (const query of [`?uid=${id}`, `?starredBy=${id}`, `?uid=${id}&q=apple`])
        assert.deepEqual(await found(query), { names: [], total: 0 }, query)
    const users = await allot.request('GET', '/users/search?uid=9007199254740993')
    assert.deepEqual(users.body, [])
  })

  it('refuses an id or a page that is not an integer, and names it', async () => {
    for (const value of ['1.5', '1.0', '1e3', '-0.5', '1e400', 'abc'])
      for (const name of ['uid', 'starredBy', 'page', 'limit'])
        assertSearchError(
          await allot.request('GET', `/repos/search?${name}=${value}`),
          422,
          new RegExp(`^${name}: expected a`),
        )
  })

  it('does not repeat unknown parameters in headers, which a client could make long', async () => {
    for (const path of ['/repos/search', '/users/search']) {
      const { status, headers } = await allot.request('GET', `${path}?limit=1&x=${'x'.repeat(12_000)}`)
      assert.equal(status, 200)
      assert.match(headers.get('link') ?? '', /\?limit=1&page=2>; rel="next"/)
      assert.ok([...headers].join().length < 1_500)
    }
  })
})
