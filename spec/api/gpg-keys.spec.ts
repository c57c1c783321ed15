import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { before, describe, it } from 'node:test'
import * as pgp from 'openpgp'
import { gnupg } from '../keys/gnupg.ts'
import { assertError, assertList, RFC3339 } from '../support/expectations.ts'
import { type GpgKey, generateGpgKey } from '../support/keygen.ts'
import { isLong } from '../support/long.ts'
import { madeBefore, type Person, startBefore } from '../support/test-server.ts'

let pair: GpgKey
const allot = startBefore({ repositories: false })
const alice = madeBefore(() => allot.person('alice', { email: 'Alice@example.test' }))
before(async () => {
  pair = generateGpgKey('Alice Example <alice@example.test>')
})

const add = (person: Person, armored_public_key: unknown) =>
  allot.as(person, 'POST', '/user/gpg_keys', { armored_public_key })

describe('POST /user/gpg_keys', () => {
  it("adds a key with its subkeys as gpg shows them, and verifies the email that is the user's own", async () => {
    const [pub, sub] = pair.listed
    const made = await add(alice, pair.armored)
    assert.equal(made.status, 201, made.text)
    const { id, public_key, created_at, subkeys, ...rest } = made.body
    assert.ok(id > 0)
    assert.ok(Buffer.from(public_key, 'base64').length > 40)
    assert.match(created_at, RFC3339)
    assert.deepEqual(rest, {
      primary_key_id: '',
      key_id: pub!.keyId,
      emails: [{ email: 'alice@example.test', verified: true }],
      can_sign: true,
      can_encrypt_comms: false,
      can_encrypt_storage: false,
      can_certify: true,
      expires_at: null,
      revoked: false,
      expired: false,
    })
    assert.equal(subkeys.length, 1)
    assert.deepEqual([subkeys[0].key_id, subkeys[0].primary_key_id], [sub!.keyId, pub!.keyId])
    assert.deepEqual(
      [subkeys[0].can_encrypt_comms, subkeys[0].can_encrypt_storage, subkeys[0].can_sign],
      [true, true, false],
    )
    assert.deepEqual((await allot.as(alice, 'GET', `/user/gpg_keys/${id}`)).body, made.body)
    assertList(await allot.as(undefined, 'GET', '/users/alice/gpg_keys'), 'key_id', [pub!.keyId])
    for (const who of [alice, await allot.person()])
      assertError(await add(who, pair.armored), 422, /^A key with the same id already exists$/)
  })

  it('shows every viewer which email of a key is verified', async () => {
    for (const who of [undefined, await allot.person(), allot.root]) {
      const { body } = await allot.as(who, 'GET', '/users/alice/gpg_keys')
      assert.deepEqual(body[0].emails, [{ email: 'alice@example.test', verified: true }])
    }
  })

  it('accepts the key of an account that is hidden from the caller, and answers 422 when the caller can see the account', async () => {
    const [hidden, bob, carol] = [await allot.person(), await allot.person(), await allot.person()]
    const { armored } = generateGpgKey('Hidden <hidden@example.test>')
    assert.equal((await add(hidden, armored)).status, 201)
    const path = `/admin/users/${hidden.name}`
    assert.equal((await allot.as(allot.root, 'PATCH', path, { visibility: 'private' })).status, 200)
    const fresh = await add(bob, generateGpgKey('Bob <hidden@example.test>').armored)
    const taken = await add(carol, armored)
    assert.deepEqual([taken.status, taken.body.emails], [201, fresh.body.emails])
    for (const who of [allot.root, hidden, carol]) assertError(await add(who, armored), 422, /same id/)
  })

  it('says that a key is revoked or expired, and then it and its subkeys can do nothing', async () => {
    const gpg = gnupg()
    try {
      const revoked = gpg.generate('Revoked <revoked@example.test>', 'future-default')
      gpg.revoke(revoked)
      const expired = gpg.generate(
        'Old <old@example.test>',
        'future-default',
        'default',
        '1y',
        '20200101T000000',
      )
      for (const [fingerprint, state] of [
        [revoked, { revoked: true, expired: false }],
        [expired, { revoked: false, expired: true }],
      ] as const) {
        const { status, body, text } = await add(alice, gpg.armored(fingerprint))
        assert.equal(status, 201, text)
        assert.equal(body.subkeys.length, 1)
        for (const part of [body, ...body.subkeys]) {
          assert.deepEqual({ revoked: part.revoked, expired: part.expired }, state)
          const abilities = Object.entries(part).filter(([name]) => name.startsWith('can_'))
          assert.deepEqual([...new Set(abilities.map(([, value]) => value))], [false])
        }
        await allot.as(alice, 'DELETE', `/user/gpg_keys/${body.id}`)
      }
    } finally {
      gpg.end()
    }
  })
})

describe('A hostile GPG key over HTTP', () => {
  const title = isLong ? 'is answered 422 without blocking the event loop' : 'is answered 422'
  it(`${title}: a packet in parts and 47,496 empty packets`, async () => {
    const packets = Buffer.concat([Buffer.of(0xd2, 0xe0, 1, 0), Buffer.alloc(2 * 47_496, Buffer.of(0xfc, 0))])
    const text = pgp.armor(pgp.enums.armor.publicKey, new Uint8Array(packets))
    const person = await allot.person()
    const delays = monitorEventLoopDelay({ resolution: 5 })
    // A slow machine can delay any round; a delay by the server itself shows in every round.
    const rounds: number[] = []
    do {
      delays.reset()
      delays.enable()
      assertError(await add(person, text), 422, /can be read|takes longer than|more than 2000 packets/)
      delays.disable()
      rounds.push(delays.max / 1e6)
    } while (isLong && rounds.at(-1)! > 250 && rounds.length < 3)
    assert.ok(!isLong || rounds.at(-1)! <= 250, `the event loop was held for ${rounds.join(', ')} ms`)
  })
})
