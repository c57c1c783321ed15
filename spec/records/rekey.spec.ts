import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { encodeValue } from '../../lib/records/codec.ts'
import { orderedKey, recordKey } from '../../lib/records/keys.ts'
import { schemaVersion } from '../../lib/records/metadata.ts'
import { migrateStore } from '../../lib/records/migrate.ts'
import { steps } from '../../lib/records/migrations.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { verify } from '../../lib/verify.ts'
import { start } from '../support/test-server.ts'
import { contentOf, exactly, openWith, rawOf, storeOf } from './raw.ts'

/**
 * `stores/layout-4.ndjson` was written by the last version whose keys were not escaped in strings of 64 characters and more.
 * Ann has the repository demo. In it: the LFS objects NUL (size 1000), which PAIR (size 7) replaced, and QUAD (size 70), whose
 * key is now that of PAIR; two artifacts of 5 bytes that shared an index entry. Ann has a package of 3 bytes and a token
 * named NUL; she is in the group G, and ben is in G\0h, and in PAIR, which was taken for the group NUL.
 */
const [NUL, PAIR, QUAD] = ['\0'.repeat(63), '\x04\0'.repeat(63), '\x04\x04\x04\0'.repeat(63)]
const [G, N, Z] = ['g', 'n', 'z'].map((one) => one.repeat(64)) as [string, string, string]

const filled = async (): Promise<StorageDriver> => {
  const driver = memory()
  await openWith(driver, storeOf('layout-4'))
  return driver
}

const undisturbed = async (atOnce = 256) => {
  const driver = await filled()
  await migrateStore(driver, undefined, { steps, batchSize: atOnce })
  return rawOf(driver)
}

/** Stops the migration at its write number n, as a kill does. */
const killedAt = (driver: StorageDriver, n: number): StorageDriver => {
  let writes = 0
  return {
    ...driver,
    write: (work) => (++writes >= n ? Promise.reject(new Error('killed')) : driver.write(work)),
  }
}

describe('A store in which two keys were one key', () => {
  it('is clean after it is brought over, and has every record that was in it', async () => {
    const driver = await filled()
    await migrateStore(driver)
    assert.deepEqual((await verify(driver)).named, [])
    const allot = await start({ driver, repositories: false })
    const root = allot.root
    const get = async (path: string) => (await allot.as(root, 'GET', path)).body
    const ledger = (kind: string, key: string) => get(`/admin/ledger/${kind}/${encodeURIComponent(key)}`)
    try {
      assert.equal((await ledger('lfs', PAIR)).size, 7)
      assert.equal((await ledger('lfs', QUAD)).size, 70)
      assert.equal((await allot.as(root, 'GET', `/admin/ledger/lfs/${encodeURIComponent(NUL)}`)).status, 404)
      assert.equal((await ledger('artifacts', `${Z}d`)).name, `${N}\0artifacts\0y`)
      const used = (await get('/admin/users/ann/quota')).used.size
      assert.deepEqual([used.git.LFS, used.assets.artifacts, used.assets.packages.all], [77, 10, 3])
      for (const [group, member] of [
        [G, 'ann'],
        [`${G}\0h`, 'ben'],
      ] as const) {
        const users = await get(`/admin/quota/groups/${encodeURIComponent(group)}/users`)
        assert.deepEqual(
          users.map(({ login }: { login: string }) => login),
          [member],
        )
      }
      const ann = (await allot.allot.hosting.accounts.byName('ann'))!
      const tokens = await allot.allot.hosting.tokens.list(ann.id, { offset: 0, limit: 50 })
      assert.ok(tokens.items.some(({ name }) => name === NUL))
      assert.ok(await allot.allot.hosting.tokens.remove(ann.id, NUL))
    } finally {
      await allot.stop()
    }
  })

  it('lists both artifacts, and what is left after one is deleted', async () => {
    const driver = await filled()
    await migrateStore(driver)
    const allot = await start({ driver, repositories: false })
    const root = allot.root
    const ann = (await allot.allot.hosting.accounts.byName('ann'))!
    const { secret: token } = await allot.allot.hosting.tokens.create(ann.id, 'list', ['all'])
    const listed = async () => {
      const { headers, body } = await allot.request('GET', '/user/quota/artifacts', { token })
      return [headers.get('x-total-count'), body.length]
    }
    try {
      assert.deepEqual(await listed(), ['2', 2])
      await allot.as(root, 'DELETE', `/admin/ledger/artifacts/${Z}d`)
      assert.deepEqual(await listed(), ['1', 1])
    } finally {
      await allot.stop()
    }
  })

  it('is brought over alike in steps of any size, wherever it is killed', async () => {
    const expected = await undisturbed()
    for (const atOnce of [1, 2]) assert.deepEqual(await undisturbed(atOnce), expected)
    let kills = 0
    for (let killed = true; killed; ) {
      const driver = await filled()
      killed = await migrateStore(killedAt(driver, ++kills), undefined, { steps, batchSize: 12 }).then(
        () => false,
        (error: Error) => /killed/.test(error.message),
      )
      await migrateStore(driver, undefined, { steps, batchSize: 12 })
      assert.deepEqual(await rawOf(driver), expected, `killed at write ${kills}`)
    }
    assert.ok(kills > 20)
  })

  it('loses what a removal missed, and what names something that does not exist', async () => {
    const driver = await filled()
    await driver.write(async (tx) => {
      const entry = { kind: 'lfs', key: `${Z}\0`, owner: 2, container: 99, name: 'lost', size: 1 }
      const place = { on: null, index: null, run: null, type: null, version: null, createdAt: 1 }
      const at = oldKey(['ledger', 'r', 'lfs', `${Z}\0`])
      tx.put(at, encodeValue({ ...entry, ...place }))
      tx.put(oldKey(['ledger', 'o', 'container', '99', `${Z}\0`]), at)
      tx.put(recordKey('group', ['short']), encodeValue({ name: 'short', rules: [`${Z}\x01`], sequence: 9 }))
      tx.put(orderedKey('group', 'sequence', [9], ['short']), recordKey('group', ['short']))
    })
    await driver.write(async (tx) => {
      tx.put(Buffer.from('group:all'), encodeValue(4))
      tx.put(Buffer.from('sequence\0group'), encodeValue(20))
    })
    await migrateStore(driver)
    assert.deepEqual((await verify(driver)).named, [])
    assert.equal((await exactly(driver)).filter(([, value]) => /6c6f7374/.test(value)).length, 0)
  })
})

describe('A store in which no string has such a character', () => {
  it('is not changed by the step, but for the mark of its layout', async () => {
    const clean = memory()
    await clean.open()
    const allot = await start({ driver: clean, repositories: false })
    await allot.as(allot.root, 'POST', '/admin/quota/groups', { name: 'free', rules: [] })
    await allot.stop()
    await clean.open()
    const before = await exactly(clean)
    const content = await contentOf(clean)
    await clean.write(async (tx) => schemaVersion.set(tx, 4))
    await migrateStore(clean)
    assert.deepEqual(await contentOf(clean), content)
    assert.deepEqual(await exactly(clean), before)
  })
})

/** A key of strings as it was before: nothing is escaped in those of 64 characters and more. */
const oldKey = (tuple: readonly string[]): Buffer => Buffer.from(tuple.join('\0'))
