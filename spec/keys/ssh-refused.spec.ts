import assert from 'node:assert/strict'
import { createECDH, generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { AllotError } from '../../lib/errors.ts'
import { parseSshKey } from '../../lib/keys/ssh.ts'
import { times } from '../support/long.ts'
import { contentOf, ed25519, generated, keygen, lineOf, lines, rsa } from './ssh-lines.ts'

describe('parseSshKey refuses, with the reason,', () => {
  const [type, blob] = ed25519.split(' ') as [string, string]
  const bytes = Buffer.from(blob, 'base64')
  const [point] = contentOf(ed25519) as [Buffer]
  const [exponent, modulus] = contentOf(rsa) as [Buffer, Buffer]
  const ecdh = createECDH('prime256v1')
  ecdh.generateKeys()
  const offCurve = Buffer.from(ecdh.getPublicKey())
  offCurve[64]! ^= 1
  const rsaLine = (e: Buffer, n: Buffer) => lineOf('ssh-rsa', e, n)
  const ecdsaLine = (p: Buffer, curve = 'nistp256') => lineOf('ecdsa-sha2-nistp256', curve, p)
  const pem = (format: 'pkcs1' | 'pkcs8') =>
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: format, format: 'pem' })

  const ed448 = generateKeyPairSync('ed448').publicKey.export({ type: 'spki', format: 'pem' })

  const block = (format: string) => keygen.run('-e', '-m', format, '-f', `${generated[1]!.key.file}.pub`)
  const SEVERAL = [
    ['on two lines', `${ed25519}\n${rsa}\n`],
    ['on two lines with a comment and CRLF', `${ed25519} laptop\r\n${rsa}\r\n`],
    ['on one line', `${ed25519} ${rsa}`],
    ['the same key twice', `${ed25519}\n${ed25519}`],
    ...['PEM', 'PKCS8', 'RFC4716'].map((format) => [`two blocks of ${format}`, block(format).repeat(2)]),
    ['a line and a block', `${ed25519}\n${block('RFC4716')}`],
    ['a block and a line', `${block('RFC4716')}${ed25519}`],
  ] as [string, string][]

  const cases: (readonly [what: string, text: string, why: RegExp])[] = [
    ['an empty text', '', /required/],
    ['only spaces', ' \n\t ', /required/],
    ['an OpenSSH private key', generated[0]!.key.private, /private key, which must be kept secret/],
    ['an RSA private key in PEM', String(pem('pkcs1')), /private key, which must be kept secret/],
    ['a PKCS#8 private key', String(pem('pkcs8')), /private key, which must be kept secret/],
    ['a private key under its public key', `${ed25519}\n${generated[0]!.key.private}`, /private key/],
    ["PuTTY's private key", 'PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none', /private key/],
    ['a private key as the blob', lineOf(type, point, Buffer.concat([point, point])), /bytes after the end/],
    ['a PGP public key', '-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDM=', /in PEM or RFC 4716/],
    ['an X.509 certificate', '-----BEGIN CERTIFICATE-----\nMIIB', /in PEM or RFC 4716/],
    [
      'a PEM block without a key',
      '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----',
      /PEM block does not contain/,
    ],
    ['a key in PEM on a curve that SSH does not know', String(ed448), /PEM block does not contain/],
    ...SEVERAL.map(([what, text]) => [`two keys: ${what}`, text, /more than one key/] as const),
    ['an RFC 4716 block without its end', `---- BEGIN SSH2 PUBLIC KEY ----\n${blob}`, /does not end with/],
    ['two lines separated by a carriage return', `${ed25519}\r${rsa}`, /more than one key/],
    ['options before the key', `no-pty,command="ls" ${ed25519}`, /options before the key/],
    ['an unknown type', `ssh-ed448 ${blob}`, /type must be one of ssh-ed25519, ssh-rsa/],
    ['a type with the name of a member of Object.prototype', `constructor ${blob}`, /type must be one of/],
    ['a bare blob of another type', lineOf('ssh-dss', point).split(' ')[1]!, /DSA keys are too weak/],
    ['a DSA key', keygen.generate('dsa').public, /DSA keys are too weak/],
    ['an RSA key of 1024 bits', keygen.generate('rsa', 1024).public, /at least 2048 bits, this one has 1024/],
    [
      'an RSA key of 2047 bits',
      rsaLine(exponent, Buffer.concat([Buffer.of(0x7f), modulus.subarray(2)])),
      /has 2047/,
    ],
    [
      'an RSA key of more than 16384 bits',
      rsaLine(exponent, Buffer.concat([Buffer.of(0, 0x80), Buffer.alloc(2048, 0xff)])),
      /more than 16384/,
    ],
    [
      'an even modulus',
      rsaLine(exponent, Buffer.concat([modulus.subarray(0, -1), Buffer.of(2)])),
      /not an RSA/,
    ],
    ['a negative modulus', rsaLine(exponent, Buffer.alloc(257, 0xff)), /must not be negative/],
    ['an empty modulus', rsaLine(exponent, Buffer.alloc(0)), /not an RSA key/],
    ['a padded modulus', rsaLine(exponent, Buffer.concat([Buffer.of(0), modulus])), /leading zeros/],
    ['an exponent of 0', rsaLine(Buffer.alloc(0), modulus), /not an RSA key/],
    ['an exponent of 1', rsaLine(Buffer.of(1), modulus), /not an RSA key/],
    ['an exponent of 2', rsaLine(Buffer.of(2), modulus), /not an RSA key/],
    ['a negative exponent', rsaLine(Buffer.of(0xff), modulus), /must not be negative/],
    ['an exponent of more than 64 bits', rsaLine(Buffer.alloc(9, 1), modulus), /exponent .* too large/],
    ['a certificate', `ssh-ed25519-cert-v01@openssh.com ${blob}`, /certificate, not a key/],
    ['a type that differs from the type in the blob', `ssh-rsa ${blob}`, /not of the type ssh-rsa/],
    ['bytes after the end', `${type} ${Buffer.concat([bytes, Buffer.of(0)]).toString('base64')}`, /after/],
    ['a truncated blob', `${type} ${bytes.subarray(0, -3).toString('base64')}`, /ends too early/],
    [
      'a length that exceeds the blob',
      `${type} ${Buffer.from('7fffffff00', 'hex').toString('base64')}`,
      /too early/,
    ],
    ['an empty blob', `${type} ""`, /base64/],
    ['no blob', type, /base64/],
    ['bad base64', `${type} ${blob.replace('A', '*')}`, /base64/],
    ['base64 whose unused bits are set', `ssh-rsa ${blob.slice(0, -1)}B=`, /base64/],
    ['an ed25519 point of 31 bytes', lineOf('ssh-ed25519', point.subarray(1)), /not an ssh-ed25519 key/],
    [
      'an ed25519 point of 33 bytes',
      lineOf('ssh-ed25519', Buffer.concat([point, point.subarray(0, 1)])),
      /not an ssh-ed25519/,
    ],
    ['a point off its curve', ecdsaLine(offCurve), /not an ecdsa-sha2-nistp256 key/],
    [
      'a compressed point',
      ecdsaLine(ecdh.getPublicKey(null, 'compressed')),
      /not an ecdsa-sha2-nistp256 key/,
    ],
    ['the point at infinity', ecdsaLine(Buffer.of(0)), /not an ecdsa-sha2-nistp256 key/],
    ['a curve that differs from its type', ecdsaLine(ecdh.getPublicKey(), 'nistp384'), /not an ecdsa-sha2/],
    [
      'a security key with a point off its curve',
      lineOf('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', offCurve, 'ssh:'),
      /not an ecdsa/,
    ],
    [
      'a security key with an empty application',
      lineOf('sk-ssh-ed25519@openssh.com', point, ''),
      /name its application/,
    ],
    ['a security key without an application', lineOf('sk-ssh-ed25519@openssh.com', point), /ends too early/],
    ['a text longer than 16 KiB', `${ed25519} ${'x'.repeat(16 * 1024)}`, /longer than 16384/],
    ['control characters', `${ed25519} a\u0007b`, /control characters/],
    ['a NUL character', `${ed25519}\u0000`, /control characters/],
  ]

  for (const [what, text, why] of cases)
    test(what, () => {
      const refused = (error: unknown) =>
        error instanceof AllotError && error.code === 'invalid' && why.test(error.message)
      assert.throws(() => parseSshKey(text), refused)
    })

  test('a blob with a changed byte, or reads it as a different key', () =>
    fc.assert(
      fc.property(fc.constantFrom(...lines), fc.nat(), fc.integer({ min: 1, max: 255 }), (line, at, flip) => {
        const [type = '', base64 = ''] = line.split(' ')
        const changed = Buffer.from(base64, 'base64')
        changed[at % changed.length]! ^= flip
        const key = keyOrRefusal(`${type} ${changed.toString('base64')}`)
        assert.notEqual(key?.fingerprint, parseSshKey(line).fingerprint)
      }),
      { numRuns: times(300, 1000) },
    ))

  test('other texts with the code invalid, and throws no other error', () => {
    const word = fc.oneof(fc.string(), fc.constantFrom(...lines.flatMap((line) => line.split(' '))))
    fc.assert(fc.property(fc.array(word), (words) => void keyOrRefusal(words.join(' '))))
  })

  const keyOrRefusal = (text: string) => {
    try {
      return parseSshKey(text)
    } catch (error) {
      if (error instanceof AllotError && error.code === 'invalid') return undefined
      throw error
    }
  }
})
