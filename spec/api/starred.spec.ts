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
  it('PUT stars once, GET answers 204 while the star is set, and DELETE removes it', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const demo = await aRepository(alice, 'demo')
    const stars = async () => (await allot.as(bob, 'GET', `/repos/${demo}`)).body.stars_count
    assertNotFound(await allot.as(bob, 'GET', `/user/starred/${demo}`))
    for (const _ of [1, 2]) assertNoContent(await allot.as(bob, 'PUT', `/user/starred/${demo.toUpperCase()}`))
    assertNoContent(await allot.as(bob, 'GET', `/user/starred/${demo}`))
    assert.equal(await stars(), 1)
    assertList(await allot.as(bob, 'GET', '/user/starred'), 'full_name', [demo])
    assertList(await allot.as(undefined, 'GET', `/users/${bob.name}/starred`), 'full_name', [demo])
    for (const _ of [1, 2]) assertNoContent(await allot.as(bob, 'DELETE', `/user/starred/${demo}`))
    assert.equal(await stars(), 0)
    assertList(await allot.as(bob, 'GET', '/user/starred'), 'full_name', [])
  })

  it('count each star when many users star at the same time', async () => {
    const alice = await allot.person()
    const demo = await aRepository(alice, 'busy')
    const people = await Promise.all(Array.from({ length: 20 }, () => allot.person()))
    await Promise.all(
      people.flatMap((one) => [1, 2].map(() => allot.as(one, 'PUT', `/user/starred/${demo}`))),
    )
    assert.equal((await allot.as(undefined, 'GET', `/repos/${demo}`)).body.stars_count, 20)
  })

  it('show the star of a private repository to its readers only', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const [open, secret] = [
      await aRepository(alice, 'open'),
      await aRepository(alice, 'secret', { private: true }),
    ]
    for (const name of [open, secret]) assertNoContent(await allot.as(alice, 'PUT', `/user/starred/${name}`))
    assertList(await allot.as(alice, 'GET', '/user/starred'), 'full_name', [open, secret])
    for (const viewer of [undefined, bob]) {
      assertList(await allot.as(viewer, 'GET', `/users/${alice.name}/starred`), 'full_name', [open])
      assert.equal((await allot.as(viewer, 'GET', `/users/${alice.name}`)).body.starred_repos_count, 1)
    }
    assertList(await allot.as(allot.root, 'GET', `/users/${alice.name}/starred`), 'full_name', [open, secret])
    for (const method of ['GET', 'PUT', 'DELETE'])
      assertNotFound(await allot.as(bob, method, `/user/starred/${secret}`))
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

  it('list every star once, page by page', async () => {
    const alice = await allot.person()
    const names: string[] = []
    for (let at = 0; at < 7; at++)
      names.push(await aRepository(alice, `paged-${at}`, { private: at % 2 === 0 }))
    for (const name of names) await allot.as(alice, 'PUT', `/user/starred/${name}`)
    const seen: string[] = []
    for (let page = 1; page <= 4; page++) {
      const { body } = await allot.as(alice, 'GET', `/user/starred?limit=2&page=${page}`)
      seen.push(...body.map((one: { full_name: string }) => one.full_name))
    }
    assert.deepEqual(seen, names)
    assertList(await allot.as(alice, 'GET', '/user/starred?limit=2&page=5'), 'full_name', [], 7)
  })

  for (const method of ['GET', 'PUT', 'DELETE'])
    for (const path of ['nobody/demo', 'root/nothing', '__proto__/constructor', 'a%2Fb/c', 'root/..%2Fx'])
      it(`${method} answers 404 for the repository ${path}, which does not exist`, async () => {
        assertNotFound(await allot.as(allot.root, method, `/user/starred/${path}`))
      })
})
