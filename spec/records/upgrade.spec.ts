import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { importing, storedLayout } from '../../lib/records/layout.ts'
import {
  accounts,
  assignments,
  CURRENT_LAYOUT,
  quotaOwners,
  upgradePlan,
  upgradeStore,
} from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { type UpgradeStep, upgradeLayout } from '../../lib/records/upgrade.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { verify } from '../../lib/verify.ts'
import { serve } from '../exports/instance.ts'
import { times } from '../support/long.ts'
import { basic } from '../support/test-server.ts'
import { contentOf, openWith, type Raw, rawOf, storeOf } from './raw.ts'

/**
 * `stores/layout-1.ndjson` was written by the first layout, by stores/write.ts: it has records of every
 * collection.
 */
const sample = (): Raw => storeOf('layout-1')

const layoutOf = (driver: StorageDriver) => driver.read((tx) => storedLayout.get(tx))

const filled = async (raw = sample()): Promise<StorageDriver> => {
  const driver = memory()
  await openWith(driver, raw)
  return driver
}

/** The driver, which fails from its n-th write on, as if the process had been killed. */
const killedAt = (driver: StorageDriver, n: number): StorageDriver => {
  let writes = 0
  return {
    ...driver,
    write: (work) => (++writes >= n ? Promise.reject(new Error('killed')) : driver.write(work)),
  }
}

/** A step that changes a field of every account, and one that changes another collection. */
const rename: UpgradeStep = { account: (account) => ({ ...account, location: 'moved' }) }
const close: UpgradeStep = { issue: (issue) => ({ ...issue, state: 'closed', closedAt: 1 }) }
const steps = [rename, close]

const run = (driver: StorageDriver, messages: string[] = []): Promise<void> =>
  upgradeLayout(driver, { ...upgradePlan, steps }, !driver.shared, (message) => void messages.push(message))

const isKilled = (error: unknown): true => {
  assert.match(String(error), /killed/)
  return true
}

const TO_UPGRADE = {
  code: 'unavailable',
  message: /has layout 1 and must be upgraded to layout 3 first: stop .*allot verify --repair/,
}

const A_STEP_IS_MISSING =
  'add a step of the layout, as docs/additions.md says; before the first release, run npx tsx spec/records/stores/write.ts'

describe('A store written by the first layout', () => {
  it('is served, agrees with itself and takes changes', async () => {
    const driver = await filled()
    await upgradeStore(driver)
    const invalid = (await verify(driver)).messages.filter((message) => message.includes('is not a valid'))
    assert.ok(invalid.length === 0, `${invalid.join('; ')}: ${A_STEP_IS_MISSING}`)
    // A store that is served has no owners of `createQuota`.
    await new Store(driver).write(async (tx) => {
      for await (const { id } of quotaOwners.all(tx)) await quotaOwners.remove(tx, [id])
    })
    const { allot, ask, stop } = await serve({ driver, repositories: false })
    try {
      assert.equal(await layoutOf(driver), CURRENT_LAYOUT)
      assert.deepEqual((await verify(driver)).messages, [])
      const { id } = (await allot.hosting.accounts.byName('root'))!
      const { secret: token } = await allot.hosting.tokens.create(id, 'again', ['all'])
      const get = async (path: string) => (await ask('GET', path, { token })).body
      const members = async () =>
        (await get('/admin/quota/groups/free/users')).map(({ login }: { login: string }) => login)
      assert.deepEqual(await members(), ['Ann', 'guild'])
      assert.equal((await ask('DELETE', '/admin/quota/groups/free/users/guild', { token })).status, 204)
      assert.deepEqual(await members(), ['Ann'])
      assert.equal((await get('/repos/search?q=em')).data[0].name, 'demo')
      const found = await get('/repos/ann/hall/issues?state=all&q=second')
      assert.deepEqual(
        found.map(({ number }: { number: number }) => number),
        [2],
      )
      const user = await ask('GET', '/user', { headers: basic('ann', 'correct horse battery') })
      assert.equal(user.body.full_name, 'Ann Ä. 🦉')
      assert.equal((await get('/admin/users/ann/quota')).used.size.assets.packages.all, 11)
      assert.deepEqual((await verify(driver)).messages, [])
    } finally {
      await stop()
    }
  })
})

describe('An upgrade of the layout', () => {
  it('changes the records that its steps name, and makes all indexes and counters anew', async () => {
    const driver = await filled()
    const counters = { start: Buffer.from('assignment:'), end: Buffer.from('assignment;') }
    await driver.write(async (tx) => {
      for await (const [key] of tx.range(counters)) tx.delete(key)
    })
    assert.equal(await driver.read((tx) => assignments.count(tx, 'group', [1])), 0)
    const messages: string[] = []
    await run(driver, messages)
    assert.deepEqual(messages, ['upgrading the store from layout 1 to layout 3'])
    assert.equal(await layoutOf(driver), 3)
    const ben = await driver.read((tx) => accounts.findBy(tx, 'name', ['ben']))
    assert.equal(ben?.location, 'moved')
    assert.equal(await driver.read((tx) => assignments.count(tx, 'group', [1])), 2)
    await driver.write(async (tx) => storedLayout.set(tx, CURRENT_LAYOUT))
    assert.deepEqual((await verify(driver)).messages, [])
  })

  it('has the same result when it was killed at any write, and is needed until it has ended', async () => {
    const whole = await filled()
    await run(whole)
    const expected = await rawOf(whole)
    let kills = 0
    for (let killed = true; killed; ) {
      const driver = await filled()
      kills += times(10, 1)
      killed = await run(killedAt(driver, kills)).then(() => false, isKilled)
      if (killed) await assert.rejects(run({ ...driver, shared: true }), TO_UPGRADE)
      await run(driver)
      assert.deepEqual(await rawOf(driver), expected, `killed at write ${kills}`)
    }
    assert.ok(kills > 100, 'there are several writes for each collection')
  })

  it('that was killed leaves a store that an older version refuses, and changes nothing in', async () => {
    const driver = await filled()
    await run(killedAt(driver, 50)).catch(isKilled)
    const before = await rawOf(driver)
    await assert.rejects(upgradeStore(driver), {
      code: 'unavailable',
      message: /has layout 3, but this version of Allot reads layouts 1 to 1: start the newer version/,
    })
    assert.deepEqual(await rawOf(driver), before)
  })

  it('names the record and the member that a step has left out or made wrong, and never its value', async () => {
    const { id } = (await (await filled()).read((tx) => accounts.findBy(tx, 'name', ['ben'])))!
    for (const [member, value] of [
      ['location', undefined],
      ['visibility', 'secret'],
    ] as const) {
      const spoil = (record: object) =>
        (record as { id: number }).id === id ? { ...record, [member]: value } : record
      const spoiled = upgradeLayout(await filled(), { ...upgradePlan, steps: [{ account: spoil }] }, true)
      await assert.rejects(spoiled, {
        message: `the account [${id}] cannot be saved: ${member} is missing or wrong`,
      })
    }
  })

  it('is refused where other servers may use the store, which then is not changed', async () => {
    const driver = await filled()
    const before = await rawOf(driver)
    await assert.rejects(run({ ...driver, shared: true }), TO_UPGRADE)
    assert.deepEqual(await rawOf(driver), before)
  })
})

describe('A store of the current layout', () => {
  it('is marked with its layout when it is first opened, and not written to when it is opened again', async () => {
    const driver = memory()
    await driver.open()
    await upgradeStore(driver)
    assert.equal(await layoutOf(driver), CURRENT_LAYOUT)
    const raw = await rawOf(driver)
    await upgradeStore(killedAt(driver, 1))
    assert.deepEqual(await rawOf(driver), raw)
  })

  it('keeps its contents when it is opened', async () => {
    const driver = await filled()
    const before = await contentOf(driver)
    await upgradeStore(driver)
    assert.deepEqual(await contentOf(driver), before)
  })
})

describe('A store is refused, and closed again with nothing changed,', () => {
  const set = (layout: number) => (driver: StorageDriver) =>
    driver.write(async (tx) => storedLayout.set(tx, layout))
  const REFUSED: [what: string, change: (driver: StorageDriver) => Promise<void>, message: RegExp][] = [
    [
      'when a newer version has written it',
      set(CURRENT_LAYOUT + 1),
      /has layout 2, but this version of Allot reads layouts 1 to 1: start the newer version/,
    ],
    [
      'when a version before the first release has written it',
      set(7),
      /has layout 7.*written before the first release must be created again/,
    ],
    ['when its layout is below the first', set(0), /has layout 0, but this version of Allot reads layouts 1/],
    [
      'when it has contents but no layout number',
      (driver) => driver.write(async (tx) => storedLayout.clear(tx)),
      /no layout number: no released version of Allot wrote it/,
    ],
    [
      'when it holds part of an import',
      (driver) => driver.write(async (tx) => importing.set(tx, { since: '2026-11-21T00:00:00Z' })),
      /part of an import that began at 2026-11-21T00:00:00Z.*allot import/,
    ],
  ]
  for (const [what, change, message] of REFUSED)
    it(what, async () => {
      const driver = await filled()
      await change(driver)
      const before = await rawOf(driver)
      await assert.rejects(openAllot({ driver, repositories: false }), { code: 'unavailable', message })
      await assert.rejects(layoutOf(driver), { reason: 'closed' })
      await driver.open()
      assert.deepEqual(await rawOf(driver), before)
    })
})
