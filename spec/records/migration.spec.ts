import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { createAllot } from '../../lib/index.ts'
import { importing, migrating, schemaVersion } from '../../lib/records/mark.ts'
import { SCHEMA, steps } from '../../lib/records/migrations.ts'
import { prepareStore } from '../../lib/records/opening.ts'
import { assignments } from '../../lib/records/schema.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { assertNoContent } from '../expectations.ts'
import { basic, start } from '../running.ts'
import { contentOf, openWith, type Raw, rawOf, storeOf } from './raw.ts'

/**
 * `stores/layout-0.ndjson` was written by the version before quota groups came to the API: it counted no group's owners,
 * and marked no layout. Ann, ben and guild are in the group free, ben in paid too.
 */
const older = (): Raw => storeOf('layout-0')
const TOKEN = '056d70367e8f880e14604931bee066ee494c3302'

const versionOf = (driver: StorageDriver) => driver.read((tx) => schemaVersion.get(tx))

const filled = async (raw: Raw): Promise<StorageDriver> => {
  const driver = memory()
  await openWith(driver, raw)
  return driver
}

/** The real driver, which a kill stops at its n-th write: after this nothing gets through. */
const killedAt = (driver: StorageDriver, n: number): StorageDriver => {
  let writes = 0
  return {
    ...driver,
    write: (work) => (++writes >= n ? Promise.reject(new Error('killed')) : driver.write(work)),
  }
}

describe('A store made by an older version', () => {
  it('lacks what its layout did not have', async () => {
    const driver = await filled(older())
    assert.equal(await versionOf(driver), undefined)
    assert.equal(await driver.read((tx) => assignments.count(tx, 'group', ['free'])), 0)
  })

  it('is brought to the layout of this one when it is opened, and answers as it should', async () => {
    const driver = await filled(older())
    const allot = await start({ driver, repositories: false })
    try {
      const members = await allot.ask('GET', '/admin/quota/groups/free/users', { token: TOKEN })
      assert.equal(members.headers.get('x-total-count'), '3')
      assertNoContent(await allot.ask('DELETE', '/admin/quota/groups/free/users/ben', { token: TOKEN }))
      const fewer = await allot.ask('GET', '/admin/quota/groups/free/users', { token: TOKEN })
      assert.equal(fewer.headers.get('x-total-count'), '2')
      const user = await allot.ask('GET', '/user', { headers: basic('ann', 'correct horse') })
      assert.equal(user.body.login, 'Ann')
      const quota = await allot.ask('GET', '/user/quota', { token: TOKEN })
      assert.equal(quota.body.used.size.repos.public, 5000)
      assert.equal(quota.body.used.size.assets.artifacts, 70)
      const found = await allot.ask('GET', '/users/search?q=en', { token: TOKEN })
      assert.deepEqual(
        found.body.map((one: { login: string }) => one.login),
        ['ben'],
      )
      assert.equal(await versionOf(driver), SCHEMA)
    } finally {
      await allot.stop()
    }
  })

  it('is migrated whatever number of entries go into one transaction', async () => {
    const counts = []
    for (const atOnce of [1, 2, 3, 256]) {
      const driver = await filled(older())
      await prepareStore(driver, atOnce)
      counts.push(await rawOf(driver))
    }
    for (const raw of counts) assert.deepEqual(raw, counts[0])
  })

  it('goes on where it was killed, wherever that was', async () => {
    const whole = await filled(older())
    await prepareStore(whole, 1)
    const expected = await rawOf(whole)
    for (let n = 1, killed = true; killed; n++) {
      const driver = await filled(older())
      killed = await prepareStore(killedAt(driver, n), 1).then(
        () => false,
        (error: Error) => /killed/.test(error.message),
      )
      await prepareStore(driver, 1)
      assert.deepEqual(await rawOf(driver), expected, `killed at write ${n}`)
      if (!killed) assert.ok(n > 6, 'a transaction for each assignment at least')
    }
  })

  it('is migrated once when two open it at the same time', async () => {
    const alone = await filled(older())
    await prepareStore(alone, 1)
    const driver = await filled(older())
    await Promise.all([prepareStore(driver, 1), prepareStore(driver, 1)])
    assert.deepEqual(await rawOf(driver), await rawOf(alone))
  })
})

describe('A store of this version', () => {
  it('is marked with its layout when it is first opened, and the next opening changes nothing', async () => {
    const driver = memory()
    await driver.open()
    await prepareStore(driver)
    assert.equal(await versionOf(driver), SCHEMA)
    const raw = await rawOf(driver)
    await prepareStore(killedAt(driver, 1))
    assert.deepEqual(await rawOf(driver), raw)
  })

  it('from before the layout was marked keeps all that it has', async () => {
    const driver = await filled(older())
    await prepareStore(driver)
    const before = await contentOf(driver)
    await driver.write(async (tx) => schemaVersion.clear(tx))
    await prepareStore(driver)
    assert.deepEqual(await contentOf(driver), before)
    assert.equal(await versionOf(driver), SCHEMA)
  })
})

describe('A store is refused, and closed again with nothing changed,', () => {
  const REFUSED: [what: string, mark: (driver: StorageDriver) => Promise<void>, words: RegExp][] = [
    [
      'when a newer version has written it',
      (driver) => driver.write(async (tx) => schemaVersion.set(tx, SCHEMA + 1)),
      /written by a newer Allot.*start the newer one/,
    ],
    [
      'when it holds a part of an import',
      (driver) => driver.write(async (tx) => importing.set(tx, { since: '2026-11-21T00:00:00Z' })),
      /a part of an import that began at 2026-11-21T00:00:00Z.*allot import/,
    ],
    [
      'when no step leads from its layout',
      (driver) => driver.write(async (tx) => schemaVersion.set(tx, -1)),
      /no way from the layout -1/,
    ],
  ]
  for (const [what, mark, words] of REFUSED)
    it(what, async () => {
      const driver = await filled(older())
      await mark(driver)
      const before = await rawOf(driver)
      await assert.rejects(createAllot({ driver, repositories: false }), {
        code: 'unavailable',
        message: words,
      })
      await assert.rejects(versionOf(driver), { reason: 'closed' })
      await driver.open()
      assert.deepEqual(await rawOf(driver), before)
    })
})

describe('The steps', () => {
  it('lead from layout to layout without a gap, each with something to do', () => {
    for (const [at, { from, to, migrate }] of steps.entries()) {
      assert.deepEqual([from, to], [at, at + 1])
      assert.ok(migrate.length > 0)
    }
  })

  it('leave no progress behind', async () => {
    const driver = await filled(older())
    await prepareStore(driver, 1)
    assert.equal(await driver.read((tx) => migrating.get(tx)), undefined)
  })
})
