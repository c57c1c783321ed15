import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { blankAccount } from '../../lib/accounts/account-records.ts'
import {
  createAllot,
  createQuota,
  importAllot,
  type LedgerName,
  type OwnerEntry,
  type Quota,
  type QuotaOptions,
} from '../../lib/index.ts'
import { accounts } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { allot as runAllot } from '../bin/program.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { createPersistentStore, createSpecStore } from '../support/store.ts'
import { madeBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

const quiet = { error: () => undefined, info: () => undefined }

/** Calls `body` with an open quota, checks the store, and closes it. */
const withQuota = async <T>(options: QuotaOptions, body: (quota: Quota) => Promise<T>): Promise<T> => {
  const quota = await createQuota({ log: quiet, ...options })
  try {
    const result = await body(quota)
    assert.deepEqual((await quota.verify()).messages, [])
    return result
  } finally {
    await quota.close()
  }
}

const store = madeBefore(() => createSpecStore())
const quota = madeBefore(() => createQuota({ driver: store.driver, log: quiet }))
before(async () => {
  await quota.rules.create({ name: 'small', limit: 1000, subjects: ['size:all'] })
  await quota.groups.create({ name: 'free', rules: ['small'] })
})
after(async () => {
  assert.deepEqual((await quota.verify()).messages, [])
  await quota.close()
  await store.drop()
})

const file = (owner: string, key: string, size: number): OwnerEntry => ({
  ...({ kind: 'artifacts', name: `${key}.bin` } as const),
  ...{ owner, key, size },
})
const usedBy = async (owner: string): Promise<number> => Number((await quota.explain(owner, 'size:all')).used)
const namedOwners = async (): Promise<string[]> => (await quota.owners.list({ offset: 0, limit: 1000 })).items

describe('createQuota', () => {
  it('counts, decides, explains and tells the history of owners without any account', async () => {
    await quota.groups.assign('tenant-42', 'free')
    assert.equal(await quota.isOver('tenant-42', 'size:all'), false)
    const entry = file('tenant-42', 'report', 1000)
    assert.deepEqual(await quota.ledger.put(entry), { replaced: false, entry })
    assert.equal(await quota.isOver('tenant-42', 'size:all'), true)
    assert.deepEqual(await quota.ledger.put({ ...entry, size: 999 }), {
      ...{ replaced: true, entry: { ...entry, size: 999 } },
    })
    assert.equal(await quota.isOver('tenant-42', 'size:all'), false)
    const { used, limit, left, rule } = await quota.explain('tenant-42', 'size:assets:artifacts')
    assert.deepEqual({ used, limit, left, rule }, { used: 999, limit: 1000, left: 1, rule: 'small' })
    const info = await quota.info('tenant-42')
    assert.equal(info.used.size.assets.artifacts, 999)
    assert.deepEqual(info.groups, [
      { name: 'free', rules: [{ name: 'small', limit: 1000, subjects: ['size:all'] }] },
    ])
    assert.deepEqual(
      (await quota.history('tenant-42')).map(({ all }) => all),
      [999],
    )
    assert.deepEqual(await quota.groups.assignedTo('tenant-42'), ['free'])
    await quota.groups.unassign('tenant-42', 'free')
    assert.deepEqual(await quota.groups.assignedTo('tenant-42'), [])
    assert.equal(await quota.ledger.delete(entry), true)
    assert.equal(await quota.ledger.delete(entry), false)
    assert.equal(await usedBy('tenant-42'), 0)
  })

  const NAMES = [
    'tenant/42',
    'Tenant/42',
    ' space ',
    'ä ö 😀',
    'a'.repeat(255),
    '__proto__',
    'constructor',
    '..',
  ]
  for (const name of NAMES)
    it(`takes ${JSON.stringify(name.slice(0, 20))} for an owner, and no other name for the same one`, async () => {
      const entry = file(name, `of ${name.slice(0, 50)}`, 7)
      await quota.ledger.put(entry)
      await quota.groups.setFor(name, ['free'])
      assert.deepEqual(await quota.ledger.get(entry), entry)
      assert.equal(await usedBy(name), 7)
      for (const other of NAMES.filter((each) => each !== name)) {
        await quota.ledger.put({ ...entry, owner: other })
        assert.deepEqual([await usedBy(name), await usedBy(other)], [0, 7])
        await quota.ledger.put(entry)
      }
      assert.ok((await namedOwners()).includes(name))
      await quota.ledger.delete(entry)
    })

  const CALLS: Record<string, (owner: string) => Promise<unknown>> = {
    isOver: (owner) => quota.isOver(owner, 'size:all'),
    info: (owner) => quota.info(owner),
    explain: (owner) => quota.explain(owner, 'size:all'),
    history: (owner) => quota.history(owner),
    'groups.assign': (owner) => quota.groups.assign(owner, 'free'),
    'groups.assignedTo': (owner) => quota.groups.assignedTo(owner),
    'ledger.put': (owner) => quota.ledger.put(file(owner, 'bad', 1)),
    'owners.remove': (owner) => quota.owners.remove(owner),
  }
  const BAD_NAMES: [what: string, name: unknown][] = [
    ['an empty name', ''],
    ['a name of 256 characters', 'a'.repeat(256)],
    ['a name with a control character', 'a\nb'],
    ['half a character', '\ud800'],
    ['a number', 42],
    ['nothing', undefined],
  ]
  for (const [what, name] of BAD_NAMES)
    it(`refuses ${what} for an owner in every call, and changes nothing`, async () => {
      const before = await namedOwners()
      for (const [call, run] of Object.entries(CALLS))
        await assert.rejects(run(name as string), { code: 'invalid', message: /^owner:|^Owner is/ }, call)
      assert.equal(await quota.ledger.get({ kind: 'artifacts', key: 'bad' }), undefined)
      assert.deepEqual(await namedOwners(), before)
    })

  it('reads an owner that nothing has named yet as one without usage, and does not create it', async () => {
    const before = await namedOwners()
    assert.equal(await quota.isOver('unheard of', 'size:all'), false)
    assert.deepEqual((await quota.info('unheard of')).groups, [])
    assert.deepEqual([await quota.history('unheard of'), await usedBy('unheard of')], [[], 0])
    await assert.rejects(quota.groups.unassign('unheard of', 'free'), { code: 'not_found' })
    assert.deepEqual(await namedOwners(), before)
  })

  it('creates one owner when many changes name it at the same time', async () => {
    const keys = Array.from({ length: 20 }, (_, index) => `at once ${index}`)
    await Promise.all(keys.map((key) => quota.ledger.put(file('crowd', key, 10))))
    assert.equal(await usedBy('crowd'), 200)
    assert.equal((await namedOwners()).filter((name) => name === 'crowd').length, 1)
  })

  it('lists owners by name, page by page', async () => {
    const all = await namedOwners()
    assert.deepEqual(
      all,
      [...all].sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right))),
    )
    const { items, total } = await quota.owners.list({ offset: 1, limit: 2 })
    assert.deepEqual([items, total], [all.slice(1, 3), all.length])
  })

  it('applies a plan to owners that do not exist yet, and creates none with dryRun', async () => {
    const plan = { assignments: { 'plan/1': ['free'], 'plan/2': ['free'], 'plan/3': [] } }
    const keys = ['plan/1', 'plan/2']
    const planned = await quota.apply(plan, { dryRun: true })
    assert.deepEqual(
      planned.assignments.map(({ key, after }) => [key, after]),
      keys.map((key) => [key, ['free']]),
    )
    assert.ok(!(await namedOwners()).includes('plan/1'))
    assert.deepEqual(await quota.apply(plan), planned)
    assert.deepEqual((await quota.apply(plan)).assignments, [])
    assert.deepEqual(await quota.groups.assignedTo('plan/2'), ['free'])
    await assert.rejects(quota.apply({ assignments: { 'plan/1': ['none'] } }), { code: 'invalid' })
    await assert.rejects(quota.apply({ assignments: { 'a\tb': [] } }), {
      code: 'invalid',
      message: /^owner: /,
    })
  })
})

describe('owners.remove', () => {
  const many = Array.from({ length: 1300 }, (_, index) => file('leaving', `leaving ${index}`, 3))

  it('removes an owner at once, and its entries in steps; the same name is a new owner', async () => {
    await quota.groups.assign('leaving', 'free')
    await quota.ledger.batch(many.map((entry) => ({ op: 'put', ...entry })))
    assert.equal(await quota.isOver('leaving', 'size:all'), true)
    assert.equal(await quota.owners.remove('leaving'), true)
    assert.ok(!(await namedOwners()).includes('leaving'))
    assert.deepEqual([await usedBy('leaving'), await quota.groups.assignedTo('leaving')], [0, []])
    for (const entry of [many[0]!, many[1299]!]) assert.equal(await quota.ledger.get(entry), undefined)
    assert.equal(await quota.owners.remove('leaving'), false)
    await quota.ledger.put(many[1299]!)
    assert.deepEqual(await quota.ledger.get(many[1299]!), many[1299])
    assert.equal(await usedBy('leaving'), 3)
  })

  it('goes on after a restart', async (t) => {
    const { driver, drop } = await createPersistentStore()
    t.after(drop)
    const records = await withQuota({ driver }, async (opened) => {
      const { records } = await opened.verify()
      await opened.ledger.batch(many.map((entry) => ({ op: 'put', ...entry })))
      await opened.owners.remove('leaving')
      return records
    })
    await withQuota({ driver }, async (opened) => {
      await waitFor(async () => (await opened.verify()).records === records)
    })
  })
})

describe('The store of createQuota', () => {
  const entry: LedgerName & OwnerEntry = file('tenant-7', 'kept', 600)

  it('is in the data folder, needs no git, and passes the verification of the command line', async () => {
    const data = join(temporaryDirectory(), 'data')
    const { PATH } = process.env
    process.env.PATH = ''
    try {
      await withQuota({ data, defaultTotal: '1 KiB' }, async (opened) => {
        await opened.ledger.put(entry)
        assert.equal(await opened.isOver('tenant-7', 'size:all'), false)
        const { rule, limit } = await opened.explain('tenant-7', 'size:all')
        assert.deepEqual([rule, limit], ['default total', 1024])
      })
      assert.deepEqual(readdirSync(data), ['store'])
      await withQuota({ data, defaultTotal: 600 }, async (opened) => {
        assert.deepEqual(await opened.ledger.get(entry), entry)
        assert.equal(await opened.isOver('tenant-7', 'size:all'), true)
        assert.equal(await opened.isOver('tenant-8', 'size:all'), false)
      })
    } finally {
      process.env.PATH = PATH
    }
    const { code, out, err } = await runAllot(['verify', '--data', data])
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, /all agree/)
    const exported = await runAllot(['export', '--data', data])
    assert.equal(exported.code, 0)
    assert.match(exported.out, /"collection":"quotaOwner"/)
  })

  it('can be exported, and imported into another store', async () => {
    const chunks: Uint8Array[] = []
    await withQuota({ driver: memory() }, async (opened) => {
      await opened.rules.create({ name: 'kept', limit: 5, subjects: ['size:all'] })
      await opened.groups.create({ name: 'kept', rules: ['kept'] })
      await opened.groups.assign('tenant-7', 'kept')
      await opened.ledger.put(entry)
      await opened.export(async (bytes) => void chunks.push(bytes))
    })
    const driver = memory()
    await importAllot({ driver, data: temporaryDirectory(), repositories: false }, Readable.from(chunks))
    await withQuota({ driver }, async (opened) => {
      assert.deepEqual(await opened.ledger.get(entry), entry)
      assert.equal(await opened.isOver('tenant-7', 'size:all'), true)
      await opened.ledger.put(file('tenant-9', 'another', 1))
      assert.equal((await opened.explain('tenant-7', 'size:all')).used, 600)
    })
  })

  it('is not one of createAllot, whose users are unknown here, even when it has owners of createQuota', async () => {
    const data = temporaryDirectory()
    const allot = await createAllot({ data })
    await allot.accounts.createUser({ name: 'alice' })
    await allot.close()
    const refused = { code: 'conflict', message: /^the store.* is for users.*open it with createAllot/ }
    await assert.rejects(createQuota({ data }), refused)
    const message = new RegExp(`^the store in ${join(data, 'store')} is for users`)
    await assert.rejects(createQuota({ data }), { message })
    await (await createAllot({ data })).close()

    const driver = memory()
    const named = await createQuota({ driver, log: quiet })
    await named.ledger.put(file('tenant-1', 'one', 1))
    await named.close()
    await driver.open()
    const store = new Store(driver)
    await store.write((tx) => accounts.save(tx, { ...blankAccount('organization', 'acme'), id: 1000 }))
    await driver.close()
    await assert.rejects(createQuota({ driver }), refused)
  })

  it('is refused by createAllot, which does not know the names of its owners', async () => {
    const data = temporaryDirectory()
    await withQuota({ data }, (named) => named.ledger.put(file('tenant-1', 'one', 1)))
    await assert.rejects(createAllot({ data }), {
      code: 'conflict',
      message: /owners that a host names.*open it with createQuota/,
    })
    await withQuota({ data }, async (named) =>
      assert.equal((await named.explain('tenant-1', 'size:all')).used, 1),
    )
  })

  it('is refused by the commands of the other kind of store, also before it has an owner', async () => {
    const data = temporaryDirectory()
    await withQuota({ data }, async () => undefined)
    for (const args of [
      ['serve', '--port', '0'],
      ['user', 'add', 'bob'],
      ['quota', 'over'],
    ]) {
      const { code, out, err } = await runAllot([...args, '--data', data])
      assert.deepEqual([code, out], [1, ''], args.join(' '))
      assert.match(err, /is for owners that a host names, and cannot have users: open it with createQuota/)
    }
    const other = temporaryDirectory()
    await (await createAllot({ data: other, log: quiet })).close()
    await assert.rejects(createQuota({ data: other }), { code: 'conflict', message: /is for users/ })
  })

  const BAD: [what: string, options: unknown, message: RegExp][] = [
    [
      'nothing',
      undefined,
      /^expected an object with options, such as \{ data: '.\/data' \}, received undefined$/,
    ],
    ['no place for the data', {}, /^the data needs a place: give a folder, such as \{ data: '.\/data' \}/],
    ['a data folder that is not text', { data: 7 }, /^data: expected a string/],
    ['an empty data folder', { data: '' }, /^data: expected a folder$/],
    [
      'an unknown option',
      { driver: memory(), repositories: false },
      /^repositories: there is no such option; expected one of: driver, data, /,
    ],
    [
      'default groups that are not a list',
      { driver: memory(), defaultGroups: 'free' },
      /^defaultGroups: expected a/,
    ],
    ['a share above 1', { driver: memory(), warnAt: 2 }, /^warnAt: /],
    [
      'a size without a unit',
      { driver: memory(), defaultTotal: '2 apples' },
      /^defaultTotal: expected bytes/,
    ],
  ]
  for (const [what, options, message] of BAD)
    it(`is not opened with ${what}, with a sentence that says what is expected`, async () => {
      await assert.rejects(createQuota(options as QuotaOptions), { code: 'invalid', message })
    })
})
