import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { type Person, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

const HIDDEN = 1500
const LISTED = ['x-total-count', 'link'] as const

const aRepository = async (owner: Person, name: string, more = {}) => {
  await allot.made(owner, '/user/repos', { name, ...more })
  return `${owner.name}/${name}`
}

describe('/user/starred/{owner}/{repo} and /users/{username}/starred', () => {
  it('count each star when many users star at the same time', async () => {
    const alice = await allot.person()
    const demo = await aRepository(alice, 'busy')
    const people = await Promise.all(Array.from({ length: 20 }, () => allot.person()))
    await Promise.all(
      people.flatMap((one) => [1, 2].map(() => allot.as(one, 'PUT', `/user/starred/${demo}`))),
    )
    assert.equal((await allot.as(undefined, 'GET', `/repos/${demo}`)).body.stars_count, 20)
  })

  it('leave out a repository while it is private', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const demo = await aRepository(alice, 'turning')
    await allot.as(bob, 'PUT', `/user/starred/${demo}`)
    await allot.as(alice, 'PATCH', `/repos/${demo}`, { private: true })
    assertList(await allot.as(bob, 'GET', '/user/starred'), 'full_name', [])
    await allot.as(alice, 'PATCH', `/repos/${demo}`, { private: false })
    assertList(await allot.as(bob, 'GET', '/user/starred'), 'full_name', [demo])
  })

  it('answer as if hidden stars did not exist, however many there are', async () => {
    const [eve, other] = [await allot.person('eve'), await allot.person()]
    await allot.as(eve, 'PUT', `/user/starred/${await aRepository(eve, 'open')}`)
    const paths = ['', '/starred?limit=1', '/starred?limit=2', '/starred?limit=1&page=2']
    const answers = async (person: Person | undefined) => {
      const all = await Promise.all(paths.map((path) => allot.as(person, 'GET', `/users/eve${path}`)))
      const { updated_at: _, ...profile } = all[0]!.body
      return [
        profile,
        ...all.slice(1).map(({ body, headers }) => [body, ...LISTED.map((it) => headers.get(it))]),
      ]
    }
    const before = await Promise.all([answers(undefined), answers(other)])
    const { accounts, repositories, relations } = allot.allot.hosting
    const owner = (await accounts.byName('eve'))!
    const star = async (name: string) => {
      await repositories.create(owner, owner, { name, private: true })
      await relations.stars.set({ id: owner.id, admin: false }, { owner: 'eve', name })
    }
    await Promise.all(Array.from({ length: HIDDEN }, (_, at) => star(`hidden-${at}`)))
    assert.deepEqual(await Promise.all([answers(undefined), answers(other)]), before)
    assert.equal((await allot.as(undefined, 'GET', '/users/eve/starred?limit=1')).headers.get(LISTED[0]), '1')
  })

  it('leave out a deleted repository', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const demo = await aRepository(alice, 'ending')
    await allot.as(bob, 'PUT', `/user/starred/${demo}`)
    assertNoContent(await allot.as(alice, 'DELETE', `/repos/${demo}`))
    assertList(await allot.as(bob, 'GET', '/user/starred'), 'full_name', [])
    assertNotFound(await allot.as(bob, 'GET', `/user/starred/${demo}`))
  })
})
