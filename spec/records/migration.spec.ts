import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { createAllot } from '../../lib/index.ts'
import { decodeValue, encodeValue } from '../../lib/records/codec.ts'
import { counter } from '../../lib/records/counter.ts'
import { rangeBelow } from '../../lib/records/key-codec.ts'
import { orderedKey, recordKey, uniqueKey } from '../../lib/records/keys.ts'
import { importing, schemaVersion } from '../../lib/records/metadata.ts'
import { type MigrationPlan, migrateStore } from '../../lib/records/migrate.ts'
import { LAYOUT_VERSION, type MigrationStep, steps } from '../../lib/records/migrations.ts'
import { type Account, accounts, assignments, repositoryUsages } from '../../lib/records/schema/index.ts'
import type { ReadTransaction, StorageDriver } from '../../lib/storage/index.ts'
import { verify } from '../../lib/verify.ts'
import { assertError, assertNoContent } from '../support/expectations.ts'
import { generateSshKey } from '../support/keygen.ts'
import { basic, type Person, start, type TestServer } from '../support/test-server.ts'
import { contentOf, openWith, type Raw, rawOf, storeOf } from './raw.ts'

/**
 * `stores/layout-0.ndjson` was written by the version before quota groups came to the API: it counted no group's owners,
 * had another index of names, and marked no layout. Ann, ben and guild are in the group free, ben in paid too.
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

const go = (driver: StorageDriver, way: Partial<MigrationPlan> = {}): Promise<void> =>
  migrateStore(driver, undefined, { steps, batchSize: 3, ...way })

/** What this path of steps makes of the older store when nothing disturbs it. */
const undisturbed = async (way: Partial<MigrationPlan> = {}): Promise<Raw> => {
  const driver = await filled(older())
  await go(driver, way)
  return rawOf(driver)
}

describe('A store made by an older version', () => {
  it('lacks what its layout did not have', async () => {
    const driver = await filled(older())
    assert.equal(await versionOf(driver), undefined)
    assert.equal(await driver.read((tx) => assignments.count(tx, 'group', ['free'])), 0)
    await assert.rejects(verify(driver), {
      code: 'unavailable',
      message: /layout of this store is not written down/,
    })
  })

  it('is brought to the layout of this one when it is opened, and answers as it should', async () => {
    const driver = await filled(older())
    const told: string[] = []
    const log = { error: () => undefined, info: (_: object, words: string) => void told.push(words) }
    const allot = await start({ driver, repositories: false, log })
    try {
      assert.deepEqual(told.slice(0, 1), [
        `the store has the layout 0 and is brought to ${LAYOUT_VERSION}: this happens once`,
      ])
      assert.equal(await versionOf(driver), LAYOUT_VERSION)
      assert.deepEqual((await allot.allot.verify()).named, [])
      const members = await allot.request('GET', '/admin/quota/groups/free/users', { token: TOKEN })
      assert.equal(members.headers.get('x-total-count'), '3')
      assertNoContent(await allot.request('DELETE', '/admin/quota/groups/free/users/ben', { token: TOKEN }))
      const fewer = await allot.request('GET', '/admin/quota/groups/free/users', { token: TOKEN })
      assert.equal(fewer.headers.get('x-total-count'), '2')
      const found = await allot.request('GET', '/repos/search?q=em', { token: TOKEN })
      assert.equal(found.body.data[0].name, 'demo')
      const user = await allot.request('GET', '/user', { headers: basic('ann', 'correct horse') })
      assert.equal(user.body.login, 'Ann')
      const quota = await allot.request('GET', '/user/quota', { token: TOKEN })
      assert.equal(quota.body.used.size.repos.public, 5000)
      assert.equal(quota.body.used.size.assets.artifacts, 70)
      const people = await allot.request('GET', '/users/search?q=en', { token: TOKEN })
      assert.deepEqual(
        people.body.map((one: { login: string }) => one.login),
        ['ben'],
      )
    } finally {
      await allot.stop()
    }
  })

  it('of the layout before there were issues and files takes them as soon as it is opened', async () => {
    const driver = memory()
    const before = await start({ driver, repositories: false })
    const ann = await before.person('ann')
    await before.as(ann, 'POST', '/user/repos', { name: 'demo' })
    await before.stop()
    await driver.open()
    await driver.write(async (tx) => schemaVersion.set(tx, 2))
    await driver.close()
    const allot = await createAllot({ driver, repositories: false })
    const viewer = { id: ann.id, admin: false }
    const made = await allot.hosting.issues.create(viewer, { owner: 'ann', name: 'demo' }, { title: 'one' })
    assert.equal(made!.issue.number, 1)
    assert.equal(await versionOf(driver), LAYOUT_VERSION)
    assert.deepEqual((await allot.verify()).named, [])
    await allot.close()
  })

  it('of the layout in which a key was unique among all accounts keeps its keys, and finds them by account', async () => {
    const driver = memory()
    const before = await start({ driver, repositories: false })
    const [ann, ben] = [await before.person('ann'), await before.person('ben')]
    const { key, fingerprint } = generateSshKey('ed25519')
    const add = (running: TestServer, who: Person) =>
      running.as(who, 'POST', '/user/keys', { title: 'a', key })
    assert.equal((await add(before, ann)).status, 201)
    await before.stop()
    await driver.open()
    await driver.write(async (tx) => {
      for (const index of ['u', 'o'])
        for await (const [entry] of tx.range(rangeBelow(['sshKey', index]))) tx.delete(entry)
      const at = recordKey('sshKey', [1])
      tx.put(uniqueKey('sshKey', 'fingerprint', [fingerprint]), at)
      tx.put(orderedKey('sshKey', 'account', [ann.id], [1]), at)
      schemaVersion.set(tx, 4)
    })
    await driver.close()
    const allot = await start({ driver, repositories: false }, { root: 'again' })
    for (const who of [ann, ben]) assertError(await add(allot, who), 422, /Key content has been used/)
    await allot.stop()
  })

  it('is migrated alike whatever number of entries go into one transaction', async () => {
    const expected = await undisturbed()
    for (const atOnce of [1, 2, 256]) assert.deepEqual(await undisturbed({ batchSize: atOnce }), expected)
  })

  it('is migrated once when two open it at the same time', async () => {
    const driver = await filled(older())
    await Promise.all([go(driver), go(driver)])
    assert.deepEqual(await rawOf(driver), await undisturbed())
  })
})

/** The next layout, in which every website is said to be another one: a member of a record that an index could hold. */
const moved: MigrationStep = {
  from: LAYOUT_VERSION,
  to: LAYOUT_VERSION + 1,
  migrate: [
    {
      over: ['account', 'r'],
      each(tx, key, value) {
        const account = decodeValue<Account>(value)
        tx.put(key, encodeValue({ ...account, fullName: `${account.fullName} moved` }))
      },
    },
  ],
  derive: ['account'],
}
const WAYS: [what: string, way: readonly MigrationStep[]][] = [
  ['to this layout', steps],
  ['to a next one', [...steps, moved]],
]

describe('A migration', () => {
  for (const [what, way] of WAYS)
    it(`${what} goes on where it was killed, wherever that was`, async () => {
      const expected = await undisturbed({ steps: way })
      let kills = 0
      for (let killed = true; killed; ) {
        const driver = await filled(older())
        killed = await go(killedAt(driver, ++kills), { steps: way }).then(
          () => false,
          (error: Error) => /killed/.test(error.message),
        )
        await go(driver, { steps: way })
        assert.deepEqual(await rawOf(driver), expected, `killed at write ${kills}`)
      }
      assert.ok(kills > 20, 'a transaction for every three entries at least')
    })

  it('that was killed is brought to its end by a newer version too', async () => {
    const way = [...steps, moved]
    const expected = await undisturbed({ steps: way })
    for (let n = 1; n < 40; n += 3) {
      const driver = await filled(older())
      await go(killedAt(driver, n)).catch(() => undefined)
      await go(driver, { steps: way })
      assert.deepEqual(await rawOf(driver), expected, `killed at write ${n}`)
    }
  })

  it('changes the records that its steps name, and what follows from them', async () => {
    const driver = await filled(older())
    await go(driver, { steps: [...steps, moved] })
    const ben = await driver.read((tx) => accounts.findBy(tx, 'name', ['ben']))
    assert.equal(ben?.fullName, ' moved')
    await driver.write(async (tx) => schemaVersion.set(tx, LAYOUT_VERSION))
    assert.deepEqual((await verify(driver)).named, [])
  })
})

describe('A repository with very many entries', () => {
  /** As layouts 0 and 1 had it: each entry lies by size with its owner, and is named by its repository. */
  const putAsBefore = (driver: StorageDriver, many: number): Promise<void> =>
    driver.write(async (tx) => {
      const [owner, id] = [1, (await containerOf(tx))!]
      const container = recordKey('container', [id])
      const before = decodeValue<{ lfs: number }>((await tx.get(container))!)
      tx.put(container, encodeValue({ ...before, lfs: before.lfs + many }))
      const usage = decodeValue<{ lfs: number }>((await tx.get(recordKey('usage', [owner])))!)
      tx.put(recordKey('usage', [owner]), encodeValue({ ...usage, lfs: usage.lfs + many }))
      for (let n = 0; n < many; n++) {
        const key = `many ${n}`
        const place = { on: null, index: null, run: null, type: null, version: null, createdAt: 1 }
        const entry = { kind: 'lfs', key, owner, container: id, name: key, size: 1, ...place }
        const at = recordKey('ledger', ['lfs', key])
        tx.put(at, encodeValue(entry))
        tx.put(orderedKey('ledger', 'size', [owner, 'lfs', -1, key], ['lfs', key]), at)
        tx.put(orderedKey('ledger', 'container', [id], ['lfs', key]), at)
      }
      await counter('ledger:owner').add(tx, [owner, 'lfs'], many)
    })

  const containerOf = async (tx: ReadTransaction): Promise<number | undefined> => {
    for await (const [, value] of tx.range(rangeBelow(['container', 'r']))) {
      const { id, owner } = decodeValue<{ id: number; owner: number }>(value)
      if (owner === 1) return id
    }
    return undefined
  }

  it('keeps them on a shelf of its own from then on, and everything agrees', async () => {
    const driver = await filled(older())
    await putAsBefore(driver, 1203)
    await migrateStore(driver)
    assert.deepEqual((await verify(driver)).named, [])
    const [kept, all] = await driver.read(async (tx) => {
      const container = (await repositoryUsages.get(tx, [(await containerOf(tx))!]))!
      return [container.kept, container.kept + container.lent]
    })
    assert.ok(kept! >= 703 && all! >= 1203, `${kept} of ${all}`)
  })
})

describe('A store of this version', () => {
  it('is marked with its layout when it is first opened, and the next opening changes nothing', async () => {
    const driver = memory()
    await driver.open()
    await migrateStore(driver)
    assert.equal(await versionOf(driver), LAYOUT_VERSION)
    const raw = await rawOf(driver)
    await migrateStore(killedAt(driver, 1))
    assert.deepEqual(await rawOf(driver), raw)
  })

  it('whose layout was never marked keeps all that it has', async () => {
    const driver = await filled(older())
    await go(driver)
    const before = await contentOf(driver)
    await driver.write(async (tx) => schemaVersion.clear(tx))
    await go(driver)
    assert.deepEqual(await contentOf(driver), before)
    assert.equal(await versionOf(driver), LAYOUT_VERSION)
  })
})

describe('A store is refused, and closed again with nothing changed,', () => {
  const REFUSED: [what: string, mark: (driver: StorageDriver) => Promise<void>, words: RegExp][] = [
    [
      'when a newer version has written it',
      (driver) => driver.write(async (tx) => schemaVersion.set(tx, LAYOUT_VERSION + 1)),
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
    for (const [at, { from, to, migrate, derive = [] }] of steps.entries()) {
      assert.deepEqual([from, to], [at, at + 1])
      assert.ok(migrate.length + derive.length > 0)
    }
  })
})
