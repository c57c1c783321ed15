import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { follows, stars } from '../../lib/records/schema/index.ts'
import { MAX_READ } from '../../lib/repositories/visible.ts'
import { countReads } from '../counted.ts'
import { assertError, assertNoContent } from '../support/expectations.ts'
import { madeBefore, type Person, peopleBefore, start } from '../support/test-server.ts'

/**
 * Other users must not be able to slow down the requests of a user. The specs count reads of records, not
 * milliseconds.
 */
const counted = countReads(memory())
const allot = madeBefore(() => start({ driver: counted.driver, repositories: false }))
const [victim] = peopleBefore(allot, 'victim')

const readsOf = (who: Person | undefined, path: string) =>
  counted.during(async () => assert.equal((await allot.as(who, 'GET', path)).status, 200, path))

/** Creates organizations with a private repository each, and adds the victim to them as an owner. */
const putInto = async (attacker: Person, count: number) => {
  const statuses: number[] = []
  for (let number = 0; number < count; number++) {
    const name = `${attacker.name}-${number}`
    const { hosting } = allot.allot
    const organization = await hosting.organizations.create(attacker.id, { name })
    const account = (await hosting.accounts.byId(attacker.id))!
    if (number % 2 === 0)
      await hosting.repositories.create(organization, account, { name: 'trap', private: true })
    const put = await allot.as(attacker, 'PUT', `/orgs/${name}/members/victim`, { role: 'owner' })
    statuses.push(put.status)
  }
  return statuses
}

const PATHS = [
  '/repos/search',
  '/repos/search?q=tra',
  '/user/repos',
  '/user/orgs',
  '/user',
  '/users/victim',
  '/user/starred',
  '/user/followers',
]

describe('The requests of a user', () => {
  it('about quota read as little when groups are assigned to others, or taken from them', async () => {
    const { quota } = allot.allot
    const other = await allot.person('other')
    await quota.groups.create({ name: 'some' })
    await quota.groups.create({ name: 'more' })
    const readsOfStatus = () => counted.during(() => quota.isOver('victim', 'size:all'))
    await readsOfStatus()
    const known = await readsOfStatus()
    await quota.groups.assign(other.name, 'some')
    assert.equal(await readsOfStatus(), known)
    await quota.groups.setFor(other.name, ['more'])
    assert.equal(await readsOfStatus(), known)
    await quota.groups.unassign(other.name, 'more')
    assert.equal(await readsOfStatus(), known)
    await quota.groups.assign('victim', 'some')
    assert.ok((await readsOfStatus()) > known)
  })

  it('read a bounded number of records when others add the user to many organizations', async () => {
    const reads = new Map<string, number>()
    for (const path of PATHS) reads.set(path, await readsOf(victim, path))
    const attackers = [await allot.person(), await allot.person(), await allot.person()]
    const results = new Map<number, number>()
    for (const attacker of attackers)
      for (const status of await putInto(attacker, 52)) results.set(status, (results.get(status) ?? 0) + 1)
    // At most 50 by one user, 100 in total.
    assert.deepEqual(Object.fromEntries(results), { 204: 100, 409: 56 })
    for (const path of PATHS) {
      const more = (await readsOf(victim, path)) - reads.get(path)!
      // For each organization its membership, its counts of repositories and an index entry; and one page of
      // repositories, each with what gives the user a right on it.
      assert.ok(more <= 100 * 10 + 50 * 2, `${path}: ${more} more records`)
    }
  })

  it('read no repositories of organizations that have none', async () => {
    const [user, other] = [await allot.person(), await allot.person()]
    const before = await readsOf(user, '/repos/search?q=none')
    for (let number = 0; number < 40; number++) {
      await allot.allot.hosting.organizations.create(other.id, { name: `empty-${number}` })
      assertNoContent(await allot.as(other, 'PUT', `/orgs/empty-${number}/members/${user.name}`))
    }
    const more = (await readsOf(user, '/repos/search?q=none')) - before
    assert.ok(more <= 40 * 4 + 2, `${more} more records`)
  })

  it('may read more when an administrator adds the user to more organizations', async () => {
    const [name] = (await allot.as(allot.root, 'GET', '/admin/orgs?limit=1')).body.map(
      (one: { username: string }) => one.username,
    )
    const user = await allot.person()
    assertNoContent(await allot.as(allot.root, 'PUT', `/orgs/${name}/members/${user.name}`))
    const { id } = await allot.allot.hosting.organizations.create(allot.root.id, { name: 'one-more' })
    assert.ok(id > 0)
    assertNoContent(await allot.as(allot.root, 'PUT', '/orgs/one-more/members/victim'))
  })

  it('can change the role of a member of very many organizations', async () => {
    const attacker = await allot.person()
    const { hosting } = allot.allot
    const { id } = await hosting.organizations.create(attacker.id, { name: 'changing' })
    assertError(
      await allot.as(attacker, 'PUT', '/orgs/changing/members/victim'),
      409,
      /already in 100 organizations/,
    )
    await hosting.organizations.setMember(id, victim.id)
    assertNoContent(await allot.as(attacker, 'PUT', '/orgs/changing/members/victim', { role: 'owner' }))
  })

  it(`read no more records of a profile for what exceeds ${MAX_READ} hidden followers and stars`, async () => {
    const followed = await allot.person()
    const { id } = followed
    const createdAt = 0
    const FIRST = 1_000_000
    /** Adds relations to what does not exist, which nobody can see, or removes them. */
    const change = (what: 'save' | 'removeLoaded', from: number, to: number) =>
      counted.driver.write(async (tx) => {
        for (let other = FIRST + from; other < FIRST + to; other++) {
          await follows[what](tx, { follower: other, followed: id, createdAt })
          await follows[what](tx, { follower: id, followed: other, createdAt })
          await stars[what](tx, { account: id, repository: other, createdAt })
        }
      })
    const path = `/users/${followed.name}`
    /** As one sees them to whom no reply was sent before. */
    const countsOf = async () => {
      const viewer = await allot.person()
      const { followers_count, following_count, starred_repos_count } = (await allot.as(viewer, 'GET', path))
        .body
      return [followers_count, following_count, starred_repos_count]
    }
    await change('save', 0, MAX_READ)
    assert.deepEqual(await countsOf(), [0, 0, 0])
    await change('save', MAX_READ, MAX_READ + 500)
    assert.deepEqual(await countsOf(), [undefined, undefined, undefined])
    const before = await readsOf(await allot.person(), path)
    await change('save', MAX_READ + 500, MAX_READ + 1500)
    for (const who of [await allot.person(), followed, undefined]) {
      const more = (await readsOf(who, path)) - before
      assert.ok(more <= 3, `${more} more records`)
    }
    await change('removeLoaded', 0, MAX_READ + 1500)
  })
})
