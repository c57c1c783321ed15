import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound, RFC3339 } from '../expectations.ts'
import { sshPair } from '../keygen.ts'
import { type Running, start } from '../running.ts'

let allot: Running
before(async () => {
  allot = await start({ repositories: false })
})
after(() => allot.stop())

describe('POST /user/keys', () => {
  for (const [type, bits] of [
    ['ed25519', undefined],
    ['rsa', 2048],
    ['rsa', 3072],
    ['ecdsa', 256],
    ['ecdsa', 521],
  ] as const)
    it(`adds an ${type} key of ${bits ?? 'its only'} bits with its fingerprint`, async () => {
      const alice = await allot.person()
      const { key, fingerprint } = sshPair(type, bits)
      const made = await allot.as(alice, 'POST', '/user/keys', { title: 'laptop', key: `${key}\n` })
      assert.equal(made.status, 201, made.text)
      const { id, created_at, user, ...rest } = made.body
      assert.match(created_at, RFC3339)
      assert.equal(user.login, alice.name)
      const url = `${allot.api}/user/keys/${id}`
      assert.deepEqual(rest, { key, title: 'laptop', url, fingerprint, read_only: false, key_type: 'user' })
      assert.equal((await allot.as(alice, 'GET', `/user/keys/${id}`)).body.key, key)
    })

  it('answers 422 to a key that is already known to anyone, whatever its comment', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const { key } = sshPair('ed25519')
    assert.equal((await allot.as(alice, 'POST', '/user/keys', { title: 'a', key })).status, 201)
    for (const who of [alice, bob])
      assertError(
        await allot.as(who, 'POST', '/user/keys', { title: 'b', key: key.replace('a comment', 'other') }),
        422,
        /in use/,
      )
    assertList(await allot.as(bob, 'GET', '/user/keys'), 'title', [])
  })

  const { key, secret } = sshPair('ed25519')
  const BAD: [what: string, body: unknown, message: RegExp][] = [
    ['no title', { key }, /Title is required/],
    ['an empty title', { title: ' ', key }, /Title is required/],
    ['no key', { title: 'x' }, /Key is required/],
    ['an empty key', { title: 'x', key: '' }, /Key is required/],
    ['a private key', { title: 'x', key: secret }, /private/],
    ['options before the key', { title: 'x', key: `no-pty ${key}` }, /options/i],
    ['two keys', { title: 'x', key: `${key}\n${key}` }, /one/],
    ['a short RSA key', { title: 'x', key: sshPair('rsa', 1024).key }, /2048/],
    ['an unknown type', { title: 'x', key: `ssh-nothing ${key.split(' ')[1]}` }, /type/],
    [
      'a type that is not that of the content',
      { title: 'x', key: key.replace('ssh-ed25519', 'ssh-rsa') },
      /./,
    ],
    ['content that ends too early', { title: 'x', key: key.slice(0, 50) }, /./],
    ['words', { title: 'x', key: 'this is no key' }, /./],
    ['a number', { title: 'x', key: 5 }, /^key: expected a string/],
  ]
  for (const [what, body, message] of BAD)
    it(`answers 422 that says why to ${what}, and adds nothing`, async () => {
      const person = await allot.person()
      assertError(await allot.as(person, 'POST', '/user/keys', body), 422, message)
      assertList(await allot.as(person, 'GET', '/user/keys'), 'title', [])
    })
})

describe('SSH keys', () => {
  it('are listed for their user and for everyone, in the order they were added', async () => {
    const alice = await allot.person()
    for (const title of ['b', 'a'])
      await allot.as(alice, 'POST', '/user/keys', { title, key: sshPair('ed25519').key })
    assertList(await allot.as(alice, 'GET', '/user/keys'), 'title', ['b', 'a'])
    assertList(
      await allot.as(undefined, 'GET', `/users/${alice.name}/keys?limit=1&page=2`),
      'title',
      ['a'],
      2,
    )
    assertNotFound(await allot.as(undefined, 'GET', '/users/nobody/keys'))
  })

  it('are read and deleted by their owner only', async () => {
    const [alice, eve] = [await allot.person(), await allot.person()]
    const { id } = (await allot.as(alice, 'POST', '/user/keys', { title: 'x', key: sshPair('ed25519').key }))
      .body
    assertNotFound(await allot.as(eve, 'GET', `/user/keys/${id}`))
    assertError(await allot.as(eve, 'DELETE', `/user/keys/${id}`), 403)
    assertNoContent(await allot.as(alice, 'DELETE', `/user/keys/${id}`))
    assertNotFound(await allot.as(alice, 'DELETE', `/user/keys/${id}`))
    assertNotFound(await allot.as(alice, 'GET', `/user/keys/${id}`))
  })

  for (const id of ['0', '-1', '99999', 'x', '1.5', '1e3', '99999999999999999999', '%00'])
    it(`of the id ${id} do not exist`, async () => {
      assertNotFound(await allot.as(allot.root, 'GET', `/user/keys/${id}`))
      assertNotFound(await allot.as(allot.root, 'DELETE', `/user/keys/${id}`))
    })

  for (const [method, path] of [
    ['GET', '/user/keys'],
    ['POST', '/user/keys'],
    ['GET', '/user/keys/1'],
    ['DELETE', '/user/keys/1'],
  ] as const)
    it(`${method} ${path} answers 401 without credentials, and 403 without the scope`, async () => {
      assertError(await allot.as(undefined, method, path), 401)
      const token = await allot.scoped(allot.root, 'write:repository')
      assertError(await allot.ask(method, path, { token }), 403, /user/)
    })
})
