import assert from 'node:assert/strict'
import { before, describe, it, mock } from 'node:test'
import { LastUses } from '../../lib/accounts/last-uses.ts'
import { tokens } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { createSpecStore } from '../support/store.ts'
import { basic, start, type TestServer } from '../support/test-server.ts'

let allot: TestServer
let store: Store
before(async () => {
  const made = await createSpecStore()
  store = new Store(made.driver)
  // The uses of tokens are saved when a spec flushes them, and not by a timer meanwhile.
  const timers = mock.method(globalThis, 'setInterval', () => setTimeout(() => undefined))
  try {
    allot = await start({}, { store: async () => made })
  } finally {
    timers.mock.restore()
  }
})

describe('GET /users/{username}/tokens', () => {
  it('says when each token was last used, which is saved once an hour and not with the request', async (t) => {
    const jane = await allot.person('jane')
    const { token, secret } = await allot.allot.hosting.tokens.create(jane.id, 'basic', ['all'])
    const use = () => allot.request('GET', '/user', { headers: basic('jane', secret) })
    const lastUse = async (name: string, isFlushed = true): Promise<number | null> => {
      if (isFlushed) await allot.allot.hosting.tokenUses.flush()
      const { body } = await allot.request('GET', '/users/jane/tokens', { token: allot.root.token })
      const at = body.find((one: { name: string }) => one.name === name).last_used_at
      return at === null ? null : Date.parse(at)
    }
    t.mock.timers.enable({ apis: ['Date'], now: Math.floor(Date.now() / 1000) * 1000 })
    const begun = Date.now()
    await use()
    assert.equal(await lastUse('basic', false), null)
    assert.equal(await lastUse('basic'), begun)
    assert.equal(await lastUse('spec'), null)
    t.mock.timers.tick(3_599_000)
    await use()
    assert.equal(await lastUse('basic'), begun)
    t.mock.timers.tick(1000)
    await use()
    assert.equal(await lastUse('basic'), begun + 3_600_000)
    t.mock.timers.tick(3_600_000)
    await use()
    await allot.request('DELETE', `/users/jane/tokens/${token.id}`, { token: jane.token })
    assert.equal(await lastUse('spec'), begun + 7_200_000)
    const { body } = await allot.request('GET', '/users/jane/tokens', { token: allot.root.token })
    assert.equal(body.length, 1)
  })

  it('says of a token that two processes use when it was last used, up to the hour', async () => {
    const lee = await allot.person('lee')
    const { token } = await allot.allot.hosting.tokens.create(lee.id, 'shared', ['all'])
    const processes = [new LastUses<number>(store, tokens), new LastUses<number>(store, tokens)] as const
    const useIn = async (process: LastUses<number>) => {
      process.note(token.id)
      await process.flush()
      const { items } = await allot.allot.tokens.list(lee.id, { offset: 0, limit: 10 })
      return items.find(({ name }) => name === 'shared')!.lastUsedAt
    }
    mock.timers.enable({ apis: ['Date'], now: Math.floor(Date.now() / 1000) * 1000 })
    try {
      const first = (await useIn(processes[0]))!
      mock.timers.tick(3_540_000)
      assert.equal(await useIn(processes[1]), first)
      mock.timers.tick(120_000)
      assert.equal(await useIn(processes[1]), first + 3660)
    } finally {
      mock.timers.reset()
      await Promise.all(processes.map((one) => one.close()))
    }
  })

  it('notes the use of a token on a connection that sends it for hours while nothing is written', async (t) => {
    const kim = await allot.person('kim')
    const used = async () => {
      await allot.request('GET', '/user', { token: kim.token })
      await allot.allot.hosting.tokenUses.flush()
      const { items } = await allot.allot.tokens.list(kim.id, { offset: 0, limit: 1 })
      return items[0]!.lastUsedAt
    }
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    const first = (await used())!
    await allot.request('GET', '/user', { token: kim.token })
    t.mock.timers.tick(7_200_000)
    assert.equal(await used(), first + 7200)
  })
})

describe('POST /users/{username}/tokens', () => {
  it('shows the token once, and the token works with its scopes', async () => {
    const carol = await allot.person('carol', { password: 'correct horse' })
    const made = await allot.request('POST', '/users/carol/tokens', {
      headers: basic('carol', 'correct horse'),
      body: { name: 'ci', scopes: ['write:user', 'read:repository', 'write:user'] },
    })
    assert.equal(made.status, 201, made.text)
    assert.match(made.body.sha1, /^[0-9a-f]{40}$/)
    assert.deepEqual(made.body.scopes, ['read:repository', 'write:user'])
    const token = made.body.sha1
    assert.equal((await allot.request('GET', '/user', { token })).body.login, 'carol')
    assertError(await allot.request('PUT', '/repos/a/b/subscription', { token }), 403, /write:repository/)
    assertList(await allot.request('GET', '/users/carol/tokens', { token: carol.token }), 'name', [
      'spec',
      'ci',
    ])
  })

  it("for another user needs an administrator's scope, not only that of users", async () => {
    await allot.person('iris')
    const narrow = await allot.scoped(allot.root, 'write:user')
    const body = { name: 'x', scopes: ['write:user'] }
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['DELETE', '/spec'],
    ] as const)
      assertError(
        await allot.request(method, `/users/iris/tokens${path}`, {
          token: narrow,
          ...(method === 'POST' ? { body } : {}),
        }),
        403,
        /admin/,
      )
    const asRoot = (name: string) =>
      allot.request('POST', `/users/${name}/tokens`, { token: allot.root.token, body })
    assert.equal((await asRoot('iris')).status, 201)
    assertNotFound(await asRoot('nobody'))
  })

  it('does not let a token create one with more scopes than it has', async () => {
    const dave = await allot.person('dave')
    const narrow = await allot.scoped(dave, 'write:user')
    const ask = (scopes: string[]) =>
      allot.request('POST', '/users/dave/tokens', { token: narrow, body: { name: `n${scopes}`, scopes } })
    assertError(await ask(['all']), 403, /scope all/)
    assertError(await ask(['read:user', 'write:admin']), 403, /write:admin/)
    assert.equal((await ask(['read:user'])).status, 201)
  })

  it('names the member whose scopes are wrong', async () => {
    const { id } = await allot.person('mia')
    for (const scopes of [['read:all'], []])
      await assert.rejects(allot.allot.hosting.tokens.create(id, 'wrong', scopes), {
        code: 'bad_request',
        field: 'scopes',
      })
  })
})

describe('DELETE /users/{username}/tokens/{token}', () => {
  it('revokes a token at once, by its id or its name', async () => {
    const frank = await allot.person('frank')
    for (const by of ['id', 'name'] as const) {
      const { token, secret } = await allot.allot.hosting.tokens.create(frank.id, `by ${by}`, ['all'])
      assert.equal((await allot.request('GET', '/user', { token: secret })).status, 200)
      const path = `/users/frank/tokens/${encodeURIComponent(token[by])}`
      assertNoContent(await allot.request('DELETE', path, { token: frank.token }))
      assertError(await allot.request('GET', '/user', { token: secret }), 401)
      assertNotFound(await allot.request('DELETE', path, { token: frank.token }))
    }
  })

  it("does not reach another user's tokens", async () => {
    const [gina, hugo] = [await allot.person('gina'), await allot.person('hugo')]
    const { token } = await allot.allot.hosting.tokens.create(gina.id, 'mine', ['all'])
    const body = { name: 'x', scopes: ['read:user'] }
    assertNotFound(await allot.request('POST', '/users/nosuch/tokens', { token: hugo.token, body }))
    assertNotFound(await allot.request('DELETE', '/users/nosuch/tokens/1', { token: hugo.token }))
    assertNotFound(await allot.request('DELETE', `/users/hugo/tokens/${token.id}`, { token: hugo.token }))
    assertError(await allot.request('DELETE', `/users/gina/tokens/${token.id}`, { token: hugo.token }), 403)
  })
})
