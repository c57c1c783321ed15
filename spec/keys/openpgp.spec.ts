import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import * as pgp from 'openpgp'
import { AllotError } from '../../lib/errors.ts'
import { parseOpenPgpKey } from '../../lib/keys/openpgp.ts'
import type { OpenPgpPart } from '../../lib/keys/reader.ts'
import { isLong } from '../support/long.ts'
import { gnupg } from './gnupg.ts'

const gpg = gnupg()
after(gpg.end)

const NOW = Date.parse('2026-06-01T00:00:00Z') / 1000
const LATER = '20260201T000000'
const parse = parseOpenPgpKey
const refused = (why: RegExp) => (error: unknown) =>
  error instanceof AllotError && error.code === 'invalid' && why.test(error.message)

/** As `gpg --with-colons` shows them: one letter stands for both kinds of encryption. */
const asListed = ({ keyId, fingerprint, createdAt, expiresAt, revoked: _, ...can }: OpenPgpPart) => {
  assert.equal(can.canEncryptComms, can.canEncryptStorage)
  const letters = { c: can.canCertify, e: can.canEncryptComms, s: can.canSign }
  const capabilities = Object.entries(letters).flatMap(([letter, held]) => (held ? [letter] : []))
  return { keyId, fingerprint, createdAt, expiresAt, capabilities: capabilities.join('') }
}

const listedBy = (fingerprint: string) =>
  gpg.list(fingerprint).map((key) => ({ ...key, capabilities: key.capabilities.replace('a', '') }))

describe('An OpenPGP key', () => {
  const kinds = [
    ['future-default', 'default'],
    ['ed25519', 'cert'],
    ['rsa1024', 'sign'],
    ['rsa1024', 'cert,sign,encr,auth'],
    ['nistp256', 'sign'],
    ['dsa1024', 'sign'],
    // gpg looks for their prime numbers for seconds.
    ...(isLong
      ? ([
          ['default', 'default'],
          ['rsa2048', 'default'],
          ['rsa2048', 'cert,sign'],
          ['rsa2048', 'cert,sign,encr,auth'],
          ['dsa2048', 'sign'],
          ['nistp521', 'sign'],
        ] as const)
      : []),
  ] as const
  for (const [algorithm, usage] of kinds)
    test(`of ${algorithm} for ${usage} is read like gpg reads it`, async () => {
      const fingerprint = gpg.generate(`${algorithm} ${usage} <a@example.org>`, algorithm, usage, '2y')
      const key = await parse(gpg.armored(fingerprint))
      assert.deepEqual([key, ...key.subkeys].map(asListed), listedBy(fingerprint))
      assert.deepEqual(key.emails, ['a@example.org'])
    })

  test('is read with all subkeys, their capabilities and their expiry', async () => {
    const fingerprint = gpg.generate('Many <many@example.org>', 'ed25519', 'cert')
    const subkeys = [
      ['ed25519', 'sign', '1y'],
      ['cv25519', 'encr', '2y'],
      ['rsa2048', 'sign,encr', 'never'],
      ['ed25519', 'auth', 'never'],
      [isLong ? 'elg2048' : 'elg1024', 'encr', 'never'],
    ]
    for (const subkey of subkeys) gpg.run(['--quick-add-key', fingerprint, ...subkey])
    const key = await parse(gpg.armored(fingerprint))
    assert.equal(key.subkeys.length, subkeys.length)
    assert.deepEqual([key, ...key.subkeys].map(asListed), listedBy(fingerprint))
  })

  test('includes its public-key packets, which gpg reads as the same key', async () => {
    const fingerprint = gpg.generate('Bare <bare@example.org>', 'future-default')
    const key = await parse(gpg.armored(fingerprint))
    for (const part of [key, ...key.subkeys]) {
      const packet = Buffer.from(part.publicKey, 'base64')
      assert.equal(packet[0]! & 0xc0, 0xc0, 'the header is of the new format')
      const listed = gpg.run(['--list-packets', '--verbose'], { input: packet })
      assert.match(listed, new RegExp(`keyid: ${part.keyId}`))
    }
  })

  test('that has expired is accepted, with its expiry', async () => {
    const fingerprint = gpg.generate('Old <old@example.org>', 'ed25519', 'sign', '1y', '20200101T000000')
    const { expiresAt } = await parse(gpg.armored(fingerprint))
    assert.deepEqual(expiresAt, listedBy(fingerprint)[0]!.expiresAt)
    assert.ok(expiresAt !== null && expiresAt < NOW)
  })

  test('expires when its latest self-signature says', async () => {
    const fingerprint = gpg.generate('Renewed <renewed@example.org>', 'ed25519', 'sign', '1m')
    for (const [day, expires] of ['3y', '5y', '1y', '0'].entries()) {
      gpg.run(['--quick-set-expire', fingerprint, expires], { at: `2026020${day + 1}T000000` })
      const key = await parse(gpg.armored(fingerprint))
      const latest = listedBy(fingerprint)[0]!.expiresAt
      assert.deepEqual(key.expiresAt, latest, expires)
    }
  })

  test('has all email addresses of its user ids, as written', async () => {
    const fingerprint = gpg.generate('First <First@Example.org>')
    for (const userId of ['Second (work) <second@example.org>', 'No address', 'Again <first@example.ORG>'])
      gpg.run(['--quick-add-uid', fingerprint, userId])
    const { emails } = await parse(gpg.armored(fingerprint))
    assert.equal(emails.length, 2)
    assert.ok(emails.includes('second@example.org'))
    assert.ok(emails.some((email) => email.toLowerCase() === 'first@example.org'))
  })

  test('does not have the address of a revoked user id', async () => {
    const fingerprint = gpg.generate('Kept <kept@example.org>')
    gpg.run(['--quick-add-uid', fingerprint, 'Gone <gone@example.org>'])
    gpg.run(['--quick-revoke-uid', fingerprint, 'Gone <gone@example.org>'], { at: LATER })
    assert.deepEqual((await parse(gpg.armored(fingerprint))).emails, ['kept@example.org'])
  })

  test('includes its revoked subkeys', async () => {
    const fingerprint = gpg.generate('Sub <sub@example.org>', 'future-default')
    const { subkeys } = await parse(gpg.armored(fingerprint))
    const edit = ['--no-tty', '--command-fd', '0', '--edit-key', fingerprint]
    gpg.run(edit, { at: LATER, input: 'key 1\nrevkey\ny\n0\n\ny\nsave\n' })
    assert.equal(subkeys.length, 1)
    const revoked = subkeys.map((subkey) => ({ ...subkey, revoked: true }))
    assert.deepEqual((await parse(gpg.armored(fingerprint))).subkeys, revoked)
  })

  test('may have white space around it, headers and CRLF line ends', async () => {
    const armored = gpg.armored(gpg.generate('Plain <plain@example.org>'))
    const expected = await parse(armored)
    const commented = armored.replace('\n\n', '\nComment: a key\nVersion: 1\n\n')
    for (const text of [
      `\n\n  ${armored}\n `,
      armored.replaceAll('\n', '\r\n'),
      commented,
      `Hi!\n${armored}`,
    ])
      assert.deepEqual(await parse(text), expected)
  })

  for (const curve of ['brainpoolP256r1', 'brainpoolP384r1', 'brainpoolP512r1', 'secp256k1'])
    test(`on the curve ${curve} is read like gpg reads it, and refused without a valid signature`, async () => {
      const fingerprint = gpg.generate(`${curve} <curve@example.org>`, curve, 'sign,cert', '2y')
      gpg.run(['--quick-add-key', fingerprint, curve, 'encr'])
      const armored = gpg.armored(fingerprint)
      const key = await parse(armored)
      assert.deepEqual([key, ...key.subkeys].map(asListed), listedBy(fingerprint))
      assert.deepEqual(key.emails, ['curve@example.org'])
      const binary = Buffer.from((await pgp.unarmor(armored)).data as Uint8Array)
      const name = binary.indexOf('curve@')
      binary.write('c', name + 1)
      const renamed = pgp.armor(pgp.enums.armor.publicKey, new Uint8Array(binary))
      await assert.rejects(parse(renamed), refused(/no valid self-signature/))
    })

  test('with a creation date in the future is accepted', async () => {
    const text = gpg.armored(
      gpg.generate('Soon <soon@example.org>', 'ed25519', 'sign', 'never', '20400101T000000'),
    )
    const { emails, createdAt } = await parse(text)
    assert.deepEqual([emails, createdAt], [['soon@example.org'], Date.parse('2040-01-01T00:00:00Z') / 1000])
  })

  test('that is revoked is accepted, and says so', async () => {
    const fingerprint = gpg.generate('Revoked <revoked@example.org>')
    const before = await parse(gpg.armored(fingerprint))
    gpg.revoke(fingerprint)
    assert.equal(before.revoked, false)
    assert.deepEqual(await parse(gpg.armored(fingerprint)), { ...before, revoked: true })
  })
})

describe('parseOpenPgpKey refuses, with the reason,', () => {
  const fingerprint = gpg.generate('Someone <someone@example.org>', 'rsa2048', 'default')
  const other = gpg.generate('Other <other@example.org>')
  const armored = gpg.armored(fingerprint)
  const lines = armored.split('\n')
  const [begin, end] = ['-----BEGIN PGP PUBLIC KEY BLOCK-----', '-----END PGP PUBLIC KEY BLOCK-----']
  const block = (body: string) => `${begin}\n\n${body}\n${end}\n`
  const signature = gpg.run(['--armor', '--detach-sign', '--local-user', fingerprint], { input: 'x' })

  const cases: (readonly [what: string, text: string, why: RegExp])[] = [
    ['an empty text', '', /expected a block/],
    ['other text', 'not a key', /expected a block/],
    ['an SSH key', 'ssh-ed25519 AAAA', /expected a block/],
    ['a private key', gpg.secret(fingerprint), /private key, which must be kept secret/],
    [
      'a private key under the name of a public one',
      gpg.secret(fingerprint).replaceAll('PRIVATE', 'PUBLIC'),
      /private key, which must be kept secret/,
    ],
    ['a private key after a public one', armored + gpg.secret(fingerprint), /private key/],
    ['two blocks', armored + gpg.armored(other), /more than one key/],
    ['two keys in one block', gpg.armored(fingerprint, other), /more than one key/],
    ['a signature', signature, /expected a block/],
    ['a signature before a key', signature + armored, /expected a block/],
    [
      'a signature in a block labeled as a key',
      signature.replaceAll('SIGNATURE', 'PUBLIC KEY BLOCK'),
      /no key/,
    ],
    ['a message', gpg.run(['--armor', '--store'], { input: 'x' }), /expected a block/],
    ['a block without its end', lines.slice(0, -2).join('\n'), /no key that can be read/],
    [
      'a block with its middle missing',
      [...lines.slice(0, 5), ...lines.slice(9)].join('\n'),
      /no (key|valid self)/,
    ],
    ['a block without its empty line', armored.replace('\n\n', '\n'), /no key that can be read/],
    ['only the first line of a block', begin, /no key that can be read/],
    ['a block without packets', block(''), /no key/],
    ['a block of zeros', block('AAAAAAAA'), /no key/],
    ['a block that is not base64', block('%%%%'), /no key/],
    ['a text longer than 256 KiB', armored + '\n'.repeat(256 * 1024), /longer than 262144/],
  ]
  for (const [what, text, why] of cases) test(what, () => assert.rejects(parse(text), refused(why)))
})
