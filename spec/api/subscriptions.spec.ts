import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertList, assertNoContent, assertNotFound, RFC3339 } from '../support/expectations.ts'
import { startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

describe('/repos/{owner}/{repo}/subscription and /users/{username}/subscriptions', () => {
  it('PUT watches, GET answers WatchInfo while the repository is watched, and DELETE ends it', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    await allot.as(alice, 'POST', '/user/repos', { name: 'demo' })
    const path = `/repos/${alice.name}/demo/subscription`
    assertNotFound(await allot.as(bob, 'GET', path))
    for (const method of ['PUT', 'PUT', 'GET']) {
      const { status, body } = await allot.as(bob, method, path)
      assert.equal(status, 200)
      const { created_at, ...rest } = body
      assert.match(created_at, RFC3339)
      const url = `${allot.api}/repos/${alice.name}/demo`
      assert.deepEqual(rest, {
        subscribed: true,
        ignored: false,
        reason: null,
        url: `${url}/subscription`,
        repository_url: url,
      })
    }
    const watchers = async () => (await allot.as(bob, 'GET', `/repos/${alice.name}/demo`)).body.watchers_count
    assert.equal(await watchers(), 2, 'the creator of a repository watches it')
    assertList(await allot.as(bob, 'GET', '/user/subscriptions'), 'name', ['demo'])
    assertList(await allot.as(undefined, 'GET', `/users/${bob.name}/subscriptions`), 'name', ['demo'])
    for (const _ of [1, 2]) assertNoContent(await allot.as(bob, 'DELETE', path))
    assertNotFound(await allot.as(bob, 'GET', path))
    assert.equal(await watchers(), 1)
  })

  it('PUT takes no body, or one that says to watch', async () => {
    const alice = await allot.person()
    await allot.as(alice, 'POST', '/user/repos', { name: 'demo' })
    const path = `/repos/${alice.name}/demo/subscription`
    const { token } = alice
    const json = { 'content-type': 'application/json' }
    assert.equal((await allot.request('PUT', path, { token, headers: json })).status, 200)
    const watch = { subscribed: true, ignored: false }
    assert.equal((await allot.as(alice, 'PUT', path, watch)).status, 200)
    for (const body of ['{broken', '[]', '{"ignored":true}', '{"subscribed":false}'])
      assert.equal((await allot.request('PUT', path, { token, headers: json, body })).status, 422)
    assert.equal((await allot.request('DELETE', path, { token, headers: json })).status, 204)
  })

  it('tell the time of the subscription', async (t) => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1) })
    await allot.as(alice, 'POST', '/user/repos', { name: 'demo' })
    t.mock.timers.setTime(Date.UTC(2026, 0, 2))
    const path = `/repos/${alice.name}/demo/subscription`
    for (const method of ['PUT', 'GET'])
      assert.equal((await allot.as(bob, method, path)).body.created_at, '2026-01-02T00:00:00Z')
  })
})
