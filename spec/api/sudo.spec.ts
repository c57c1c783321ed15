import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError } from '../support/expectations.ts'
import { createSender, peopleBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore()
const [alice] = peopleBefore(allot, 'alice')

/** Sends the request with the header, and again with the query parameter. */
const both = async (token: string | undefined, name: string, path = '/user', method = 'GET') =>
  Promise.all([
    createSender(allot.api)(method, path, { ...(token ? { token } : {}), headers: { sudo: name } }),
    createSender(allot.api)(method, `${path}?sudo=${name}`, token ? { token } : {}),
  ])

describe('Sudo', () => {
  it('answers 404 when there is no such user, and for an organization', async () => {
    await allot.as(alice, 'POST', '/orgs', { username: 'acme' })
    for (const name of ['nosuch', 'acme'])
      for (const { status } of await both(allot.root.token, name)) assert.equal(status, 404)
  })

  it('lets an administrator act for a disabled user, whose own credentials are refused', async () => {
    const person = await allot.person('disabled')
    await allot.as(allot.root, 'PATCH', '/admin/users/disabled', { active: false })
    assertError(await allot.as(person, 'GET', '/user'), 403)
    for (const { status, body } of await both(allot.root.token, 'disabled'))
      assert.deepEqual([status, body.login, body.active], [200, 'disabled', false])
  })

  it('is bound by the scopes of the administrator’s token', async () => {
    const without = await allot.scoped(allot.root, 'read:user')
    for (const answer of await both(without, 'alice')) assertError(answer, 403, /read:admin/)
    const reading = await allot.scoped(allot.root, 'read:user', 'read:admin')
    for (const { status } of await both(reading, 'alice')) assert.equal(status, 200)
    const starring = await allot.scoped(allot.root, 'write:user', 'read:admin')
    for (const answer of await both(starring, 'alice', '/user/following/root', 'PUT'))
      assertError(answer, 403, /write:admin/)
  })

  it('may be percent-encoded in the query', async () => {
    const path = '/user?%73udo=root'
    assertError(await createSender(allot.api)('GET', path, { token: alice.token }), 403)
  })

  it('is not confused with a parameter whose name ends in the same letters', async () => {
    const answer = await allot.as(alice, 'GET', '/user?pseudo=root')
    assert.equal(answer.body.login, 'alice')
  })
})
