import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import * as pgp from 'openpgp'
import { AllotError } from '../../lib/errors.ts'
import { parseOpenPgpKey } from '../../lib/keys/openpgp.ts'
import type { OpenPgpKey } from '../../lib/keys/reader.ts'
import { times } from '../support/long.ts'
import {
  armored,
  binary,
  generate,
  LATER,
  MADE,
  parse,
  refused,
  type Says,
  signed,
  uidNamed,
} from './forge.ts'

const { signature: kinds, keyFlags } = pgp.enums
const mara = await generate('mara@example.org')
const thief = await generate('thief@example.org', [{ sign: true }])
const { primary, userId, certification, rest } = mara
const maraKey = { key: primary }

describe('A forged OpenPGP key', () => {
  test('without a self-signature is refused', () =>
    assert.rejects(parse(primary, userId), refused(/no valid self-signature/)))

  test('without a user id is refused', () =>
    assert.rejects(parse(primary), refused(/no valid self-signature/)))

  test('with a certification by another key is refused', async () => {
    const theirs = await signed(thief.secret, { ...maraKey, userID: userId }, kinds.certGeneric)
    await assert.rejects(parse(primary, userId, theirs), refused(/no valid self-signature/))
    theirs.issuerKeyID = mara.secret.getKeyID()
    await assert.rejects(parse(primary, userId, theirs), refused(/no valid self-signature/))
  })

  test('does not have the address of a user id with the certification of another user id', async () => {
    const forged = uidNamed('forged@example.org')
    const key = await parse(primary, forged, certification, userId, certification)
    assert.deepEqual(key.emails, ['mara@example.org'])
    await assert.rejects(parse(primary, forged, certification), refused(/no valid self-signature/))
  })

  test('does not have a subkey whose binding was copied from another key', async () => {
    assert.equal((await parse(primary, userId, certification, ...rest)).subkeys.length, rest.length / 2)
    assert.deepEqual((await parse(primary, userId, certification, ...thief.rest)).subkeys, [])
  })

  test('cannot sign with a bound subkey of another person that has not cross-signed it', async () => {
    const [subkey, confirmed] = thief.rest as [pgp.PublicSubkeyPacket, pgp.SignaturePacket]
    const data = { ...maraKey, bind: subkey }
    const flags = new Uint8Array([keyFlags.signData])
    for (const embeddedSignature of [null, confirmed.embeddedSignature]) {
      const says = { keyFlags: flags, embeddedSignature }
      const binding = await signed(mara.secret, data, kinds.subkeyBinding, says)
      const key = await parse(primary, userId, certification, subkey, binding)
      assert.deepEqual(
        key.subkeys.map((one) => one.canSign),
        [false],
      )
    }
    const own = await parse(thief.primary, thief.userId, thief.certification, subkey, confirmed)
    assert.deepEqual(
      own.subkeys.map((one) => one.canSign),
      [true],
    )
  })

  test('keeps a user id that another key has revoked', async () => {
    const data = { ...maraKey, userID: userId }
    const theirs = await signed(thief.secret, data, kinds.certRevocation)
    theirs.issuerKeyID = mara.secret.getKeyID()
    const key = await parse(primary, userId, certification, theirs)
    assert.deepEqual(key.emails, ['mara@example.org'])
  })

  test('with a changed byte is refused, or has no claims that the original lacks', async () => {
    const bytes = binary(primary, userId, certification, ...rest)
    const truth = await parseOpenPgpKey(armored(bytes))
    const change = async (at: number, flip: number) => {
      const changed = Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ flip : byte))
      const key = await keyOrRefusal(armored(changed))
      if (key === undefined) return
      const subkeys = truth.subkeys.filter(({ keyId }) => key.subkeys.some((one) => one.keyId === keyId))
      assert.deepEqual(key, { ...truth, subkeys })
    }
    const place = fc.nat({ max: bytes.length - 1 })
    await fc.assert(fc.asyncProperty(place, fc.integer({ min: 1, max: 255 }), change), {
      numRuns: times(100, 300),
    })
  })
})

describe('A key made by other software', () => {
  const certified = (says: Says, at?: Date, userID: pgp.BasePacket = userId) =>
    signed(mara.secret, { ...maraKey, userID }, kinds.certGeneric, says, at)

  test('without key flags has every capability of its algorithm', async () => {
    const { canSign, canCertify, canEncryptComms, canEncryptStorage } = await parse(
      primary,
      userId,
      await certified({}),
    )
    assert.deepEqual([canSign, canCertify, canEncryptComms, canEncryptStorage], [true, true, false, false])
  })

  test('does not have a capability that its algorithm lacks, whatever its flags', async () => {
    const all = await certified({ keyFlags: new Uint8Array([0x0f]) })
    const key = await parse(primary, userId, all)
    assert.deepEqual([key.canSign, key.canCertify, key.canEncryptComms], [true, true, false])
  })

  test('has separate capabilities for encrypting messages and storage', async () => {
    const subkey = rest[0] as pgp.PublicSubkeyPacket
    for (const flag of [keyFlags.encryptCommunication, keyFlags.encryptStorage]) {
      const says = { keyFlags: new Uint8Array([flag]) }
      const binding = await signed(mara.secret, { ...maraKey, bind: subkey }, kinds.subkeyBinding, says)
      const [only] = (await parse(primary, userId, certification, subkey, binding)).subkeys
      assert.equal(only!.canEncryptComms, flag === keyFlags.encryptCommunication)
      assert.equal(only!.canEncryptStorage, flag === keyFlags.encryptStorage)
      assert.deepEqual([only!.canSign, only!.canCertify], [false, false])
    }
  })

  test('may have a direct-key signature, which has precedence over those on user ids', async () => {
    const seconds = 365 * 24 * 3600
    const says = { keyFlags: new Uint8Array([1]), keyNeverExpires: false, keyExpirationTime: seconds }
    const direct = await signed(mara.secret, maraKey, kinds.key, says)
    const key = await parse(primary, direct, userId, certification)
    assert.deepEqual([key.canCertify, key.canSign], [true, false])
    assert.deepEqual(key.expiresAt, MADE.getTime() / 1000 + seconds)
  })

  test('has the flags and the expiry of its primary user id', async () => {
    const other = uidNamed('primary@example.org')
    const plain = await certified({ isPrimaryUserID: false, keyFlags: new Uint8Array([1]) })
    const marked = await certified({ isPrimaryUserID: true, keyFlags: new Uint8Array([3]) }, MADE, other)
    const key = await parse(primary, userId, plain, other, marked)
    assert.equal(key.canSign, true)
    assert.deepEqual(key.emails, ['primary@example.org', 'mara@example.org'])
  })

  test('has a user id that was revoked and later certified again', async () => {
    const data = { ...maraKey, userID: userId }
    const revocation = await signed(mara.secret, data, kinds.certRevocation, {}, MADE)
    const renewed = await certified({}, LATER)
    const other = uidNamed('other@example.org')
    const packets = [primary, other, await certified({}, LATER, other), userId, certification, revocation]
    assert.deepEqual((await parse(...packets)).emails, ['other@example.org'])
    assert.ok((await parse(...packets, renewed)).emails.includes('mara@example.org'))
  })
})

const keyOrRefusal = async (text: string): Promise<OpenPgpKey | undefined> => {
  try {
    return await parseOpenPgpKey(text)
  } catch (error) {
    if (error instanceof AllotError && error.code === 'invalid') return undefined
    throw error
  }
}
