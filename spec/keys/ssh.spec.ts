import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import sshpk from 'sshpk'
import { parseSshKey } from '../../lib/keys/ssh.ts'
import { ed25519, generated, keygen, lines } from './ssh-lines.ts'

describe('An SSH public key', () => {
  for (const line of lines) {
    const [type, blob] = line.split(' ')
    test(`of type ${type} has the fingerprint and the bits that ssh-keygen prints (${blob!.length} characters)`, () => {
      const key = parseSshKey(line)
      assert.equal(key.type, type)
      assert.equal(key.blob, blob)
      const { bits, fingerprint } = key
      assert.deepEqual({ bits, fingerprint }, keygen.list(line))
    })
  }

  for (const { name, bits, key } of generated)
    test(`of type ${name} (${bits ?? 'one size'}) is read like sshpk reads it`, () => {
      const theirs = sshpk.parseKey(key.public, 'ssh')
      const ours = parseSshKey(key.public)
      assert.equal(ours.bits, theirs.size)
      assert.equal(ours.fingerprint, theirs.fingerprint('sha256').toString().replace(/=+$/, ''))
      assert.equal(ours.blob, theirs.toBuffer('ssh').toString('utf8').split(' ')[1])
      assert.equal(ours.comment, 'someone@example.org')
    })

  test('may have white space around it, which is removed', () => {
    assert.deepEqual(parseSshKey(`\n  ${ed25519}\t \r\n`), parseSshKey(ed25519))
  })

  test('keeps a comment with spaces', () => {
    const [type, blob] = ed25519.split(' ')
    const key = parseSshKey(`${type}\t${blob}   Mara's key,  the  second «PRIVATE KEY» of 2026 \n`)
    assert.equal(key.comment, "Mara's key,  the  second «PRIVATE KEY» of 2026")
    assert.equal(key.text, `${type} ${blob} ${key.comment}`)
  })

  test('may have no comment', () => {
    const bare = ed25519.split(' ').slice(0, 2).join(' ')
    assert.equal(parseSshKey(bare).text, bare)
    assert.equal(parseSshKey(bare).comment, '')
  })

  test('may be a bare blob, which contains its type', () => {
    for (const line of lines) {
      const [type, blob] = line.split(' ') as [string, string]
      const key = parseSshKey(blob)
      assert.deepEqual(key, { ...parseSshKey(line), comment: '', text: `${type} ${blob}` })
    }
  })

  test('may contain line ends, which are removed', () => {
    const [type, blob] = ed25519.split(' ') as [string, string]
    const wrapped = `${type} ${blob.slice(0, 30)}\n${blob.slice(30)} laptop`
    assert.equal(parseSshKey(wrapped).text, `${type} ${blob} laptop`)
  })

  for (const format of ['PEM', 'PKCS8', 'RFC4716'])
    for (const { name, bits, key } of generated) {
      if (format !== 'RFC4716' && name === 'ssh-ed25519') continue
      test(`may be in the format ${format}, as ssh-keygen writes it (${name} ${bits ?? ''})`, () => {
        const text = keygen.run('-e', '-m', format, '-f', `${key.file}.pub`)
        const [type, blob] = key.public.split(' ')
        const expected = { ...parseSshKey(key.public), comment: '', text: `${type} ${blob}` }
        assert.deepEqual(parseSshKey(text), expected)
        assert.deepEqual(parseSshKey(text.replaceAll('\n', '\r\n')), expected)
        if (format !== 'RFC4716') return
        const spaced = text.replaceAll('\n', ' \t \n')
        assert.equal(keygen.list(keygen.imported(spaced)).fingerprint, expected.fingerprint)
        assert.deepEqual(parseSshKey(spaced), expected)
      })
    }

  test('is the same when it is parsed from its own text', () => {
    const comment = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !/\p{Cc}/u.test(text))
    const gap = fc.stringMatching(/^[ \t]{1,4}$/)
    fc.assert(
      fc.property(fc.constantFrom(...lines), comment, gap, gap, (line, words, first, second) => {
        const [type, blob] = line.split(' ')
        const key = parseSshKey(type + first + blob + second + words)
        assert.deepEqual(parseSshKey(key.text), key)
        assert.equal(key.comment, words.replace(/^[ \t]+/, '').trimEnd())
      }),
    )
  })
})
