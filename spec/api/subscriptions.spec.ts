import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

describe('/repos/{owner}/{repo}/subscription and /users/{username}/subscriptions', () => {
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
