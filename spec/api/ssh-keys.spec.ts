import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { generateSshKey } from '../support/keygen.ts'
import { type Person, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

const add = (person: Person, title: string, key: string) =>
  allot.as(person, 'POST', '/user/keys', { title, key })

describe('POST /user/keys', () => {
  for (const read_only of [true, false])
    it(`adds a key that is ${read_only ? '' : 'not '}read-only, and shows that`, async () => {
      const alice = await allot.person()
      const body = { title: 'laptop', key: generateSshKey('ed25519').key, read_only }
      const made = await allot.as(alice, 'POST', '/user/keys', body)
      assert.deepEqual([made.status, made.body.read_only], [201, read_only])
      assert.equal(
        (await allot.as(undefined, 'GET', `/users/${alice.name}/keys`)).body[0].read_only,
        read_only,
      )
    })

  it('accepts the key of an account that is hidden from the caller, and answers 422 when the caller can see the account', async () => {
    const [hidden, bob, carol] = [await allot.person(), await allot.person(), await allot.person()]
    const { key } = generateSshKey('ed25519')
    assert.equal((await add(hidden, 'mine', key)).status, 201)
    const path = `/admin/users/${hidden.name}`
    assert.equal((await allot.as(allot.root, 'PATCH', path, { visibility: 'private' })).status, 200)
    const fresh = await add(bob, 'new', generateSshKey('ed25519').key)
    const taken = await add(carol, 'new', key)
    assert.deepEqual([taken.status, Object.keys(taken.body)], [201, Object.keys(fresh.body)])
    assert.deepEqual([taken.body.key, taken.body.user.login], [key, carol.name])
    for (const who of [allot.root, hidden]) assertError(await add(who, 'x', key), 422, /has been used/)
    const { items } = await allot.allot.hosting.sshKeys.list(hidden.id, { offset: 0, limit: 9 })
    assert.deepEqual([items.length, items[0]!.key], [1, key])
  })

  it('adds one of several concurrent keys with the same title', async () => {
    const alice = await allot.person()
    const keys = Array.from({ length: 5 }, () => generateSshKey('ed25519').key)
    // A busy machine may refuse a key that waits for others of the account, and the client tries again.
    const added = async (key: string): Promise<number> => {
      const { status } = await add(alice, 'same', key)
      return status === 503 ? added(key) : status
    }
    const statuses = await Promise.all(keys.map(added))
    assert.deepEqual(statuses.sort(), [201, 422, 422, 422, 422])
  })
})

describe('SSH keys', () => {
  it('can be read and deleted by their owner only', async () => {
    const [alice, eve] = [await allot.person(), await allot.person()]
    const { id } = (
      await allot.as(alice, 'POST', '/user/keys', { title: 'x', key: generateSshKey('ed25519').key })
    ).body
    assertNotFound(await allot.as(eve, 'GET', `/user/keys/${id}`))
    assertError(await allot.as(eve, 'DELETE', `/user/keys/${id}`), 403)
    await allot.allot.accounts.edit(alice.id, { visibility: 'private' })
    assertNotFound(await allot.as(eve, 'DELETE', `/user/keys/${id}`))
    assertNoContent(await allot.as(alice, 'DELETE', `/user/keys/${id}`))
    assertNotFound(await allot.as(alice, 'DELETE', `/user/keys/${id}`))
    assertNotFound(await allot.as(alice, 'GET', `/user/keys/${id}`))
  })
})
