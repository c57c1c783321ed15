import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { type Person, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

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

  it('leave out a deleted repository', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const demo = await aRepository(alice, 'ending')
    await allot.as(bob, 'PUT', `/user/starred/${demo}`)
    assertNoContent(await allot.as(alice, 'DELETE', `/repos/${demo}`))
    assertList(await allot.as(bob, 'GET', '/user/starred'), 'full_name', [])
    assertNotFound(await allot.as(bob, 'GET', `/user/starred/${demo}`))
  })
})
