import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound, RFC3339 } from '../support/expectations.ts'
import { generateSshKey } from '../support/keygen.ts'
import { type Person, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

const add = (person: Person, title: string, key: string) =>
  allot.as(person, 'POST', '/user/keys', { title, key })

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
      const { key, fingerprint } = generateSshKey(type, bits)
      const made = await allot.as(alice, 'POST', '/user/keys', { title: 'laptop', key: `${key}\n` })
      assert.equal(made.status, 201, made.text)
      const { id, created_at, user, ...rest } = made.body
      assert.match(created_at, RFC3339)
      assert.equal(user.login, alice.name)
      const url = `${allot.api}/user/keys/${id}`
      assert.deepEqual(rest, { key, title: 'laptop', url, fingerprint, read_only: false, key_type: 'user' })
      assert.equal((await allot.as(alice, 'GET', `/user/keys/${id}`)).body.key, key)
    })

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

  it('answers 422 to a key that the account, or another account that the caller can see, has under any comment', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const { key } = generateSshKey('ed25519')
    assert.equal((await add(alice, 'a', key)).status, 201)
    for (const who of [alice, bob])
      assertError(
        await add(who, 'b', key.replace('a comment', 'other')),
        422,
        /^Key content has been used as non-deploy key$/,
      )
    assertList(await allot.as(bob, 'GET', '/user/keys'), 'title', [])
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

  it('answers 422 to a title that the account uses, and accepts it from others and after a deletion', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const { body } = await add(alice, 'laptop', generateSshKey('ed25519').key)
    assertError(await add(alice, 'laptop', generateSshKey('ed25519').key), 422, /^Key title has been used$/)
    for (const title of ['Laptop', 'laptop ', ' ', 'é'.repeat(255), 'é'.repeat(254)])
      assert.equal((await add(alice, title, generateSshKey('ed25519').key)).status, 201, title)
    assert.equal((await add(bob, 'laptop', generateSshKey('ed25519').key)).status, 201)
    assertNoContent(await allot.as(alice, 'DELETE', `/user/keys/${body.id}`))
    assert.equal((await add(alice, 'laptop', generateSshKey('ed25519').key)).status, 201)
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

  it('accepts the bare base64 of a key', async () => {
    const [type, blob] = generateSshKey('ed25519').key.split(' ')
    assert.equal((await add(await allot.person(), 'bare', blob!)).body.key, `${type} ${blob}`)
  })

  const { key, secret } = generateSshKey('ed25519')
  const BAD: [what: string, body: unknown, message: RegExp][] = [
    ['no title', { key }, /Title is required/],
    ['an empty title', { title: '', key }, /Title is required/],
    ['no key', { title: 'x' }, /Key is required/],
    ['an empty key', { title: 'x', key: '' }, /Key is required/],
    ['a private key', { title: 'x', key: secret }, /private/],
    ['options before the key', { title: 'x', key: `no-pty ${key}` }, /options/i],
    [
      'two keys',
      { title: 'x', key: `${key}\n${generateSshKey('ed25519').key}` },
      /^key: .* more than one key/,
    ],
    [
      'two keys in base64',
      { title: 'x', key: `${key.split(' ')[1]}\n${key.split(' ')[1]}` },
      /after the end/,
    ],
    ['a short RSA key', { title: 'x', key: generateSshKey('rsa', 1024).key }, /2048/],
    ['an unknown type', { title: 'x', key: `ssh-nothing ${key.split(' ')[1]}` }, /type/],
    [
      'a type that is not that of the content',
      { title: 'x', key: key.replace('ssh-ed25519', 'ssh-rsa') },
      /./,
    ],
    ['content that ends too early', { title: 'x', key: key.slice(0, 50) }, /./],
    ['words', { title: 'x', key: 'this is not a key' }, /./],
    ['a number', { title: 'x', key: 5 }, /^key: expected a string/],
  ]
  for (const [what, body, message] of BAD)
    it(`answers 422 with the reason to ${what}, and adds nothing`, async () => {
      const person = await allot.person()
      assertError(await allot.as(person, 'POST', '/user/keys', body), 422, message)
      assertList(await allot.as(person, 'GET', '/user/keys'), 'title', [])
    })
})

describe('SSH keys', () => {
  it('are listed to their user and to everyone, in the order of their addition', async () => {
    const alice = await allot.person()
    for (const title of ['b', 'a'])
      await allot.as(alice, 'POST', '/user/keys', { title, key: generateSshKey('ed25519').key })
    assertList(await allot.as(alice, 'GET', '/user/keys'), 'title', ['b', 'a'])
    assertList(
      await allot.as(undefined, 'GET', `/users/${alice.name}/keys?limit=1&page=2`),
      'title',
      ['a'],
      2,
    )
    assertNotFound(await allot.as(undefined, 'GET', '/users/nobody/keys'))
  })

  it('are listed by their fingerprint', async () => {
    const alice = await allot.person()
    const pairs = [generateSshKey('ed25519'), generateSshKey('ed25519')]
    for (const [at, { key }] of pairs.entries()) await add(alice, `key ${at}`, key)
    for (const path of ['/user/keys', `/users/${alice.name}/keys`])
      for (const [at, { fingerprint }] of pairs.entries()) {
        const query = `?fingerprint=${encodeURIComponent(fingerprint)}`
        assertList(await allot.as(alice, 'GET', path + query), 'title', [`key ${at}`])
        assertList(await allot.as(alice, 'GET', `${path}${query}&page=2`), 'title', [], 1)
        assertList(await allot.as(alice, 'GET', `${path}?fingerprint=${'x'.repeat(255)}`), 'title', [])
        const long = await allot.as(alice, 'GET', `${path}?fingerprint=${'x'.repeat(256)}`)
        assertError(long, 422, /^fingerprint: /)
      }
  })

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

  for (const id of ['0', '-1', '99999', 'x', '1.5', '1e3', '99999999999999999999', '%00'])
    it(`with the id ${id} do not exist`, async () => {
      assertNotFound(await allot.as(allot.root, 'GET', `/user/keys/${id}`))
      assertNotFound(await allot.as(allot.root, 'DELETE', `/user/keys/${id}`))
    })
})
