import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Allot, type AllotOptions, createAllot } from '../../lib/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { createSpecStore } from '../support/store.ts'

type Open = (options?: Partial<AllotOptions>) => Promise<Allot>

/** Opens the same new store as often as `body` wants. */
const onNewStore = async (body: (open: Open) => Promise<void>): Promise<void> => {
  const { driver, drop } = await createSpecStore()
  const opened: Allot[] = []
  try {
    await body(async (options) => {
      const allot = await createAllot({ driver, repositories: false, ...options })
      opened.push(allot)
      return allot
    })
  } finally {
    for (const allot of opened) await allot.close()
    await drop?.()
  }
}

const loginOf = async (allot: Allot, token: string): Promise<{ login: string; is_admin: boolean }> => {
  const headers = { authorization: `token ${token}` }
  const answer = await allot.fetch(new Request('http://localhost/api/v1/user', { headers }))
  return (await answer.json()) as { login: string; is_admin: boolean }
}

describe('setUp', () => {
  it('creates an administrator in an empty store, with a token of all scopes', () =>
    onNewStore(async (open) => {
      const allot = await open()
      const { token } = await allot.setUp({ admin: 'chief' })
      const { login, is_admin } = await loginOf(allot, token!)
      assert.deepEqual([login, is_admin], ['chief', true])
      const { id } = (await allot.accounts.byName('chief'))!
      const { items } = await allot.tokens.list(id, { offset: 0, limit: 10 })
      assert.deepEqual(
        items.map(({ scopes }) => scopes),
        [['all']],
      )
    }))

  it('returns a token once, and changes nothing afterwards', () =>
    onNewStore(async (open) => {
      const allot = await open()
      const { token } = await allot.setUp({ admin: 'root' })
      for (const admin of ['root', 'Root', 'other'])
        assert.deepEqual(await allot.setUp({ admin }), { token: undefined })
      assert.equal(await allot.accounts.count('user'), 1)
      // A token that was revoked is not replaced once there are other users.
      await allot.accounts.createUser({ name: 'alice' })
      const { id } = (await allot.accounts.byName('root'))!
      await allot.tokens.remove(id, 'first token')
      assert.deepEqual(await allot.setUp({ admin: 'root' }), { token: undefined })
      assert.equal(token!.length, 40)
    }))

  it('returns one token to all calls at once', () =>
    onNewStore(async (open) => {
      const allot = await open()
      const results = await Promise.all(Array.from({ length: 8 }, () => allot.setUp({ admin: 'root' })))
      const tokens = results.map(({ token }) => token).filter((token) => token !== undefined)
      assert.equal(tokens.length, 1)
      assert.equal((await loginOf(allot, tokens[0]!)).login, 'root')
      assert.equal(await allot.accounts.count('user'), 1)
    }))

  it('gives the token to an only administrator who has neither password nor token', () =>
    onNewStore(async (open) => {
      const allot = await open()
      await allot.accounts.createUser({ name: 'root', admin: true })
      assert.deepEqual(await allot.setUp({ admin: 'other' }), { token: undefined })
      const { token } = await allot.setUp({ admin: 'root' })
      assert.equal((await loginOf(allot, token!)).login, 'root')
      assert.deepEqual(await allot.setUp({ admin: 'root' }), { token: undefined })
    }))

  it('creates no token for an administrator with a password', () =>
    onNewStore(async (open) => {
      const allot = await open()
      await allot.accounts.createUser({ name: 'root', admin: true, password: 'a long password' })
      assert.deepEqual(await allot.setUp({ admin: 'root' }), { token: undefined })
    }))

  it('creates the administrator beside users and organizations', () =>
    onNewStore(async (open) => {
      const allot = await open()
      const alice = await allot.accounts.createUser({ name: 'alice' })
      await allot.organizations.create(alice.id, { name: 'acme' })
      const { token } = await allot.setUp({ admin: 'root' })
      assert.equal((await loginOf(allot, token!)).login, 'root')
    }))

  it('refuses a name that it cannot use, and changes nothing', () =>
    onNewStore(async (open) => {
      const allot = await open()
      await allot.accounts.createUser({ name: 'alice' })
      const wrong: [admin: unknown, code: string, message: RegExp][] = [
        [
          'alice',
          'conflict',
          /^setUp: the store has no administrator, and alice is another account: choose another name/,
        ],
        ['not a name', 'invalid', /^name: /],
        ['', 'invalid', /^name: /],
        [
          undefined,
          'invalid',
          /^setUp: expected the name of the first administrator, such as \{ admin: 'root' \}$/,
        ],
        [7, 'invalid', /^setUp: expected the name/],
      ]
      for (const [admin, code, message] of wrong)
        await assert.rejects(allot.setUp({ admin: admin as string }), { code, message })
      await assert.rejects(allot.setUp(undefined as never), { code: 'invalid' })
      assert.equal(await allot.accounts.count('user'), 1)
    }))

  it('creates the account without a token when tokens are turned off', () =>
    onNewStore(async (open) => {
      const allot = await open({ authenticate: () => null, tokens: false })
      for (let call = 0; call < 2; call++)
        assert.deepEqual(await allot.setUp({ admin: 'root' }), { token: undefined })
      assert.equal((await allot.accounts.byName('root'))!.admin, true)
    }))

  it('reads only, where the store has an administrator and tokens are turned off', async () => {
    const { driver, drop } = await createSpecStore()
    let isSetUp = false
    const write: StorageDriver['write'] = (...given) => {
      assert.ok(!isSetUp, 'setUp writes')
      return driver.write(...given)
    }
    const allot = await createAllot({
      driver: { ...driver, write },
      repositories: false,
      authenticate: () => null,
      tokens: false,
    })
    await allot.setUp({ admin: 'root' })
    isSetUp = true
    assert.deepEqual(await allot.setUp({ admin: 'root' }), { token: undefined })
    isSetUp = false
    await allot.close()
    await drop()
  })
})
