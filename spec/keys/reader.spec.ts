import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createKeyReader, type KeyReader } from '../../lib/keys/reader.ts'
import { run } from '../support/child.ts'
import { generateSshKey } from '../support/keygen.ts'
import { times } from '../support/long.ts'
import { armored, binary, generate } from './forge.ts'

const { primary, userId, certification } = await generate('mara@example.org')
const ed25519 = generateSshKey('ed25519').key
const sound = armored(binary(primary, userId, certification))

/** Invalid signatures, each of which is checked until the limit of checks is reached. */
const slow = (() => {
  const broken = Buffer.from(binary(certification))
  broken[broken.length - 1]! ^= 1
  return armored(Buffer.concat([binary(primary, userId), ...Array.from({ length: 900 }, () => broken)]))
})()

const using = async (deadlineMs: number, body: (reader: KeyReader) => Promise<void>) => {
  const reader = createKeyReader(deadlineMs)
  try {
    await body(reader)
  } finally {
    await reader.close()
  }
}

describe('The key reader', () => {
  it('reads SSH and OpenPGP keys', () =>
    using(60_000, async (reader) => {
      assert.equal((await reader.ssh('user 1', ed25519)).text, ed25519)
      const key = await reader.openPgp('user 1', sound)
      assert.deepEqual(key.emails, ['mara@example.org'])
      assert.ok(Number.isInteger(key.createdAt))
    }))

  it('refuses a key that takes longer than the deadline, and reads the next key in a new thread', () =>
    using(1, async (reader) => {
      for (let round = 0; round < times(2, 3); round++)
        await assert.rejects(reader.openPgp('user 1', slow), {
          code: 'invalid',
          message: /takes longer than 1 milliseconds/,
        })
    }))

  it('serves another client while one client sends many keys', () =>
    using(60_000, async (reader) => {
      let finished = 0
      const flood = Array.from({ length: 40 }, () =>
        reader
          .openPgp('user 1', slow)
          .catch(() => undefined)
          .then(() => finished++),
      )
      await reader.ssh('user 2', ed25519)
      assert.ok(finished < 40, 'the other client must not wait for all keys of the first')
      await reader.close()
      await Promise.all(flood)
    }))

  it('refuses a key as unavailable when too many keys of the client wait', () =>
    using(60_000, async (reader) => {
      const flood = Array.from({ length: 60 }, () => reader.openPgp('user 1', slow))
      const settled = Promise.allSettled(flood)
      await assert.rejects(reader.ssh('user 1', ed25519), { code: 'unavailable', retryAfter: 1 })
      await reader.close()
      await settled
    }))

  it('refuses keys as unavailable once it is closed', () =>
    using(60_000, async (reader) => {
      await reader.close()
      await assert.rejects(reader.ssh('user 1', ed25519), { code: 'unavailable' })
    }))

  it('does not keep the process alive while its threads are idle', async () => {
    const file = JSON.stringify(new URL('../../lib/keys/reader.ts', import.meta.url).href)
    const script = `
      const { createKeyReader } = await import(${file})
      console.log((await createKeyReader().ssh('host', ${JSON.stringify(ed25519)})).type)`
    const words = ['--import', 'tsx', '--input-type=module', '-e', script]
    const { stdout } = await run(process.execPath, words)
    assert.equal(stdout, 'ssh-ed25519\n')
  })
})
