import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import * as pgp from 'openpgp'
import { createKeyReader } from '../../lib/keys/reader.ts'
import { isLong } from '../support/long.ts'
import { armored, binary, generate, MADE, signed } from './forge.ts'
import { gnupg } from './gnupg.ts'

const { primary, userId, certification, rest } = await generate('mara@example.org')
const thief = await generate('thief@example.org')

/** The library checks a DSA signature without yielding, for several milliseconds. */
const dsaKey = async (): Promise<pgp.BasePacket[]> => {
  const gpg = gnupg()
  try {
    const armoredKey = gpg.armored(gpg.generate('slow@example.org', 'dsa2048', 'sign'))
    return [...(await pgp.readKey({ armoredKey })).toPacketList()]
  } finally {
    gpg.end()
  }
}
const dsa = await dsaKey()

const reader = createKeyReader()
after(() => reader.close())
const parse = (text: string) => reader.openPgp('user 1', text)

describe('A hostile OpenPGP key is refused or read within the deadline', () => {
  const brokenOf = (packet: pgp.BasePacket) => {
    const bytes = binary(packet)
    bytes[bytes.length - 1]! ^= 1
    return bytes
  }
  const broken = brokenOf(certification)
  const slow = { head: binary(dsa[0]!, dsa[1]!), broken: brokenOf(dsa[2]!) }
  const many = (part: Uint8Array, count: number, head = binary(primary, userId, certification)) =>
    armored(Buffer.concat([head, ...Array.from({ length: count }, () => part)]))

  /** A well-formed key with numbers that make each signature check slow. */
  const ofNumbers = (algorithm: pgp.enums.publicKey, publicParams: object) => {
    const packet = new pgp.PublicKeyPacket()
    Object.assign(packet, { created: MADE, algorithm, publicParams })
    return armored(binary(packet, userId, certification))
  }
  const wide = (bytes: number) => new Uint8Array(bytes).fill(0xff)
  const { publicKey } = pgp.enums

  const inParts = Buffer.concat([Buffer.of(0xd2, 0xe0, 1, 0), Buffer.alloc(2 * 47_496, Buffer.of(0xfc, 0))])
  const cases: [what: string, text: string][] = [
    ['with many user ids', many(binary(userId), 64)],
    ['with many subkeys', many(binary(rest[0]!), 64)],
    ['with many packets', many(Buffer.of(0xfd, 0), 90_000)],
    ['with many packets after a packet in parts', armored(inParts)],
    [
      'with many parts of one packet',
      armored(Buffer.concat([Buffer.of(0xd2), Buffer.alloc(2 * 47_496, Buffer.of(0xe0, 1))])),
    ],
    ['with many packets in the legacy format', many(Buffer.of(0xb0, 0), 90_000)],
    ['with many invalid signatures', many(broken, 900, binary(primary, userId))],
    ['with many invalid signatures that are slow to check', many(slow.broken, 400, slow.head)],
    ['with a wide modulus', ofNumbers(publicKey.rsaEncryptSign, { n: wide(4096), e: Buffer.of(1, 0, 1) })],
    ['with a wide exponent', ofNumbers(publicKey.rsaEncryptSign, { n: wide(256), e: wide(256) })],
    [
      'with a wide DSA prime',
      ofNumbers(publicKey.dsa, { p: wide(1024), q: wide(32), g: wide(9), y: wide(9) }),
    ],
    [
      'with a wide DSA exponent',
      ofNumbers(publicKey.dsa, { p: wide(256), q: wide(33), g: wide(9), y: wide(9) }),
    ],
  ]
  for (const [what, text] of cases)
    test(`${what}, and does not block the event loop for more than 250 ms`, async () => {
      // Packets that are ignored leave a key that can be read.
      const answer = async () => {
        const found = await parse(text).then(
          ({ emails }) => emails.join(),
          (error) => error.code,
        )
        assert.match(found, /^(?:invalid|mara@example\.org)$/)
      }
      if (!isLong) return answer()
      const { turns, ms } = await turnsDuring(answer)
      assert.ok(turns >= Math.floor(ms / 250), `the event loop had ${turns} turns in ${ms} ms`)
    })

  // The library would go on with them after it has refused the key, and the next key would wait for it.
  test('before the library begins with it, for its number of packets', async () => {
    const texts = cases.filter(([what]) => /packets|parts/.test(what))
    assert.equal(texts.length, 4)
    for (const [what, text] of texts) await assert.rejects(parse(text), /more than 2000 packets/, what)
  })

  test('unless its many certifications are by other keys', async () => {
    const theirs = await signed(
      thief.secret,
      { key: primary, userID: userId },
      pgp.enums.signature.certGeneric,
    )
    const key = await parse(many(binary(theirs), 900))
    assert.deepEqual(key.emails, ['mara@example.org'])
  })
})

/** Counts turns of the event loop while a function runs. */
const turnsDuring = async (work: () => Promise<void>): Promise<{ turns: number; ms: number }> => {
  const begun = performance.now()
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  await work().finally(() => clearInterval(timer))
  return { turns, ms: performance.now() - begun }
}
