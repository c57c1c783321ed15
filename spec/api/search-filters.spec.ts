import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { assertSearchError } from '../support/expectations.ts'
import { type Person, peopleBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore()
const [alice, bob] = peopleBefore(allot, 'alice', 'bob')
before(async () => {
  for (const [owner, name, more] of [
    [alice, 'sea', { auto_init: true }],
    [alice, 'search', { private: true }],
    [bob, 'seal', {}],
    [bob, 'seat', {}],
    [bob, 'other', { description: 'By the sea' }],
  ] as const)
    assert.equal((await allot.as(owner, 'POST', '/user/repos', { name, ...more })).status, 201)
  await allot.as(bob, 'PATCH', '/repos/bob/seat', { archived: true })
  await allot.as(bob, 'PUT', '/repos/bob/seal/topics', { topics: ['water'] })
  for (const name of ['sea', 'search']) await allot.as(alice, 'PUT', `/user/starred/alice/${name}`)
  await allot.as(alice, 'PUT', '/user/starred/bob/seal')
  await allot.as(bob, 'PUT', '/user/starred/bob/seal')
  await allot.allot.hosting.repositories.resize(await idOf('bob/seal'), 1_000_000)
})

const idOf = async (path: string): Promise<number> =>
  (await allot.as(allot.root, 'GET', `/repos/${path}`)).body.id

const assertFound = async (query: string, names: string[], viewer: Person | undefined = alice) => {
  const { status, body, headers } = await allot.as(viewer, 'GET', `/repos/search?${query}`)
  assert.equal(status, 200, query)
  assert.deepEqual(
    body.data.map(({ name }: { name: string }) => name),
    names,
    query,
  )
  assert.equal(headers.get('x-total-count'), String(names.length))
}

describe('GET /repos/search with filters', () => {
  const FOUND: [query: string, names: string[]][] = [
    ['q=sea&is_private=true', ['search']],
    ['q=sea&is_private=false', ['sea', 'seal', 'seat']],
    ['q=sea&private=false', ['sea', 'seal', 'seat']],
    ['q=sea&private=true', ['sea', 'seal', 'search', 'seat']],
    ['q=sea&archived=true', ['seat']],
    ['q=sea&archived=false', ['sea', 'seal', 'search']],
    ['q=sea&mode=source', ['sea', 'seal', 'search', 'seat']],
    ['q=sea&mode=fork', []],
    ['q=sea&mode=mirror', []],
    ['q=sea&mode=collaborative', ['sea', 'seal', 'search', 'seat']],
    ['q=sea&sort=alpha', ['sea', 'seal', 'search', 'seat']],
    ['q=sea&mode=', ['sea', 'seal', 'search', 'seat']],
    ['q=sea&sort=alpha&order=desc', ['seat', 'search', 'seal', 'sea']],
    ['q=sea&order=desc', ['seat', 'search', 'seal', 'sea']],
    ['q=sea&sort=id', ['sea', 'search', 'seal', 'seat']],
    ['q=sea&sort=id&order=desc', ['seat', 'seal', 'search', 'sea']],
    ['q=sea&sort=created', ['sea', 'search', 'seal', 'seat']],
    ['q=sea&sort=stars', ['seat', 'sea', 'search', 'seal']],
    ['q=sea&sort=stars&order=desc', ['seal', 'sea', 'search', 'seat']],
    ['q=seal,arch', ['seal', 'search']],
    ['q=SEA,seal,%20other,,', ['other', 'sea', 'seal', 'search', 'seat']],
    ['q=seal,seat&sort=id&order=desc', ['seat', 'seal']],
    ['q=seal,seat&limit=50&archived=true', ['seat']],
    ['q=alice/sea', ['sea', 'search']],
    ['q=ALICE/', ['sea', 'search']],
    ['q=alice/sea,bob/other', ['other', 'sea', 'search']],
    ['q=alice/nothing', []],
    ['q=nothing/sea', []],
    ['q=/sea', []],
    ['q=alice/sea/', []],
    ['q=sea&sort=size&order=desc&is_private=false', ['seal', 'sea', 'seat']],
    ['q=SEA&includeDesc=true', ['other', 'sea', 'seal', 'search', 'seat']],
    ['q=alice/sea&includeDesc=true', ['sea', 'search']],
    ['q=BOB/sea&includeDesc=true', ['other', 'seal', 'seat']],
    ['q=alice/sea,other&includeDesc=true', ['other', 'sea', 'search']],
    ['q=nothing/sea,other&includeDesc=true', ['other']],
    ['q=bob/&includeDesc=true', ['other', 'seal', 'seat']],
    ['q=bob/water&topic=true', ['seal']],
    ['q=alice/water&topic=true', []],
  ]
  for (const [query, names] of FOUND) it(`finds for ${query}`, () => assertFound(query, names))

  it('finds what a user has starred, limited to what the viewer can see', async () => {
    await assertFound(`starredBy=${alice.id}`, ['sea', 'seal', 'search'])
    await assertFound(`starredBy=${alice.id}&q=l`, ['seal'])
    await assertFound(`starredBy=${alice.id}`, ['sea', 'seal'], bob)
    await assertFound('starredBy=999999', [])
    const hidden = await allot.person('hidden')
    await allot.as(hidden, 'PUT', '/user/starred/bob/seal')
    await allot.as(allot.root, 'PATCH', '/admin/users/hidden', { visibility: 'private' })
    await assertFound(`starredBy=${hidden.id}`, [], bob)
    await assertFound(`starredBy=${hidden.id}`, ['seal'], hidden)
  })

  it('filters within an owner', () => assertFound(`uid=${bob.id}&archived=true`, ['seat']))

  it('finds only repositories of both owners when q and uid name one each', async () => {
    await assertFound(`uid=${bob.id}&q=bob/sea`, ['seal', 'seat'])
    await assertFound(`uid=${bob.id}&q=alice/sea`, [])
  })

  it('finds nothing by the name of an owner whom the viewer cannot see', async () => {
    const unseen = await allot.person('unseen')
    await allot.as(unseen, 'POST', '/user/repos', { name: 'cave' })
    await allot.as(allot.root, 'PATCH', '/admin/users/unseen', { visibility: 'private' })
    await assertFound('q=unseen/cave', [])
    await assertFound('q=unseen/cave', ['cave'], unseen)
  })

  it('leaves out with private=false what is not visible to everyone', async () => {
    const limited = await allot.person('limited')
    await allot.as(limited, 'POST', '/user/repos', { name: 'dusk' })
    await allot.as(allot.root, 'PATCH', '/admin/users/limited', { visibility: 'limited' })
    await assertFound('q=dusk&is_private=false', ['dusk'])
    await assertFound('q=dusk&private=false', [])
  })

  it('accepts exclusive, which changes nothing, and repeats it in the links', async () => {
    await assertFound(`uid=${bob.id}&exclusive=true&q=sea`, ['seal', 'seat'])
    const { headers } = await allot.as(alice, 'GET', `/repos/search?uid=${bob.id}&exclusive=true&limit=1`)
    assert.match(headers.get('link')!, /\?exclusive=true&limit=1&page=2&uid=\d+>; rel="next"/)
  })

  const BAD = [
    'sort=nosuch',
    'order=up',
    'mode=nosuch',
    'is_private=abc',
    'private=abc',
    'archived=2',
    'exclusive=maybe',
    'includeDesc=maybe',
    'topic=2',
    'team_id=1',
    'priority_owner_id=3',
    'q=a,b,c,d,e,f',
  ]
  for (const query of BAD)
    it(`answers 422 with the name of the parameter for ${query}`, async () => {
      const name = query.split('=')[0]!
      assertSearchError(await allot.as(alice, 'GET', `/repos/search?${query}`), 422, new RegExp(`^${name}: `))
    })
})

describe('A search that reads many records', () => {
  it('leaves slots to other clients while one client sends many', async () => {
    const { search } = allot.allot.hosting
    const find = (client: string) =>
      search.repositories(null, { filter: { archived: false } }, { offset: 0, limit: 1 }, client)
    const flood = Array.from({ length: 200 }, () => find('flood'))
    const [other, ...settled] = await Promise.allSettled([find('other'), ...flood])
    assert.equal(other.status, 'fulfilled')
    const refused = settled.filter(({ status }) => status === 'rejected')
    assert.ok(refused.length >= 100, `${refused.length} of 200 were refused`)
    assert.match(String((refused[0] as PromiseRejectedResult).reason), /too many searches/)
  })
})
