import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it, mock } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { today } from '../../lib/clock.ts'
import { HISTORY_DAYS } from '../../lib/quota/usage.ts'
import { dailyUsages } from '../../lib/records/schema/index.ts'
import { watchTransactions } from '../counted.ts'
import { assertError } from '../support/expectations.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

const DAY = 86_400_000

describe('What an owner used', () => {
  let written = 0
  const driver = watchTransactions(memory(), ({ changed }) => {
    written += changed.length
  })
  let allot: TestServer
  let people = 0
  let owner: Person
  before(async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1, 12) })
    allot = await start({ driver, repositories: false })
  })
  after(async () => {
    await allot.stop()
    mock.timers.reset()
  })
  beforeEach(async () => {
    owner = await allot.person(`owner${++people}`)
  })

  const use = (size: number, key = 'x') =>
    allot.allot.ledger.put({
      kind: 'packages',
      key: `${owner.name}/${key}`,
      owner: owner.name,
      name: 'x',
      size,
      type: 'npm',
      version: '1',
    })
  const later = (days: number) => mock.timers.tick(days * DAY)
  const series = async () => {
    const found = await allot.allot.quota.history(owner.name)
    return found.map(({ date, all }) => [Date.parse(date) / DAY, all])
  }

  it('is answered to the user, to owners of the organization and to administrators, as in process', async () => {
    const other = await allot.person(`other${people}`)
    const acme = `acme${people}`
    await allot.as(owner, 'POST', '/orgs', { username: acme })
    assert.deepEqual((await allot.as(owner, 'GET', '/user/quota/history')).body, [])
    await use(1000)
    const item = { owner: acme, name: 'x', size: 7, type: 'npm', version: '1' }
    await allot.allot.ledger.put({ kind: 'packages', key: acme, ...item })
    later(2)
    await use(3000, 'y')
    const date = (day: number) => new Date(day * DAY).toISOString().slice(0, 10)
    const { body } = await allot.as(owner, 'GET', '/user/quota/history')
    assert.deepEqual(
      body.map((day: { date: string; all: number }) => [day.date, day.all]),
      [
        [date(today() - 2), 1000],
        [date(today()), 4000],
      ],
    )
    assert.deepEqual(body[1].size, (await allot.as(owner, 'GET', '/user/quota')).body.used.size)
    assert.deepEqual(await allot.allot.quota.history(owner.name), body)
    const answers: [path: string, who: Person | undefined, status: number][] = [
      [`/orgs/${acme}/quota/history`, owner, 200],
      [`/orgs/${acme}/quota/history`, allot.root, 200],
      [`/orgs/${acme}/quota/history`, other, 403],
      ['/orgs/nothing/quota/history', owner, 404],
      [`/admin/users/${owner.name}/quota/history`, allot.root, 200],
      [`/admin/users/${acme}/quota/history`, allot.root, 200],
      [`/admin/users/${owner.name}/quota/history`, owner, 403],
      ['/admin/users/nobody/quota/history', allot.root, 404],
      ['/user/quota/history', undefined, 401],
    ]
    for (const [path, who, status] of answers)
      assert.equal((await allot.as(who, 'GET', path)).status, status, path)
    const byName = await allot.as(allot.root, 'GET', `/admin/users/${owner.name}/quota/history`)
    assert.deepEqual(byName.body, body)
    const ofOrganization = (await allot.as(owner, 'GET', `/orgs/${acme}/quota/history`)).body
    assert.deepEqual([ofOrganization.length, ofOrganization[0].all], [1, 7])
    const token = await allot.scoped(owner, 'read:repository')
    assert.equal((await allot.request('GET', '/user/quota/history', { token })).status, 403)
  })

  it('takes how many days to look back, in every route and in process', async () => {
    const acme = `range${people}`
    await allot.as(owner, 'POST', '/orgs', { username: acme })
    const item = { owner: acme, name: 'x', type: 'npm', version: '1' }
    for (const size of [1, 2, 3]) {
      await use(size)
      await allot.allot.ledger.put({ kind: 'packages', key: acme, ...item, size })
      later(10)
    }
    // The changes are 30, 20 and 10 days old by now, and the last one is the present usage.
    const { history } = allot.allot.quota
    for (const [days, sizes] of [
      [30, [1, 2, 3]],
      [29, [2, 3]],
      [20, [2, 3]],
      [1, [3]],
    ] as const) {
      const all = (entries: { all: unknown }[]) => entries.map((entry) => entry.all)
      assert.deepEqual(all(await history(owner.name, { days })), sizes, String(days))
      for (const path of ['/user', `/orgs/${acme}`, `/admin/users/${acme}`]) {
        const who = path.startsWith('/admin') ? allot.root : owner
        const { body } = await allot.as(who, 'GET', `${path}/quota/history?days=${days}`)
        assert.deepEqual(all(body), sizes, `${path} ${days}`)
      }
    }
    for (const days of ['0', '-1', '401', '1.5', 'x', '99999999999999999999'])
      for (const path of ['/user', `/orgs/${acme}`, `/admin/users/${acme}`]) {
        const who = path.startsWith('/admin') ? allot.root : owner
        assertError(await allot.as(who, 'GET', `${path}/quota/history?days=${days}`), 422, /days/)
      }
    for (const days of [0, 401, 1.5, Number.NaN])
      await assert.rejects(history(owner.name, { days }), {
        code: 'invalid',
        message: `days must be an integer from 1 to 400, got the number ${days}`,
      })
  })

  it('is kept to the byte for each day on which usage changed, as of the end of the day', async () => {
    const first = today()
    await use(10)
    await use(2 ** 50 + 1)
    later(1)
    await use(30)
    await use(31)
    later(5)
    await use(0)
    assert.deepEqual(await series(), [
      [first, 2 ** 50 + 1],
      [first + 1, 31],
      [first + 6, 0],
    ])
  })

  it('ends with the present usage, and has one entry per day', async () => {
    await use(1)
    const before = await count()
    for (let times = 0; times < 10; times++) await use(times)
    assert.equal(await count(), before)
    assert.deepEqual(await series(), [[today(), 9]])
  })

  it('has no entry for a day whose transactions leave the usage as it was', async () => {
    const first = today()
    const entry = (size: number, key: string) => ({
      kind: 'artifacts' as const,
      key: `${owner.name}/${key}`,
      owner: owner.name,
      name: 'x',
      size,
    })
    await use(7)
    later(1)
    const path = `/admin/ledger/packages/${encodeURIComponent(`${owner.name}/x`)}`
    const body = { owner: owner.name, name: 'x', size: 7, type: 'npm', version: '1' }
    assert.equal((await allot.as(allot.root, 'PUT', path, body)).status, 200)
    await allot.allot.ledger.put(entry(0, 'empty'))
    await allot.allot.ledger.batch([
      { op: 'put', ...entry(5, 'y') },
      { op: 'delete', kind: 'artifacts', key: `${owner.name}/y` },
    ])
    assert.deepEqual(await series(), [[first, 7]])
    await use(8)
    assert.deepEqual(await series(), [
      [first, 7],
      [first + 1, 8],
    ])
  })

  it('costs one key with the first change of a day, and none with any other', async () => {
    const keys = async (size: number) => {
      const before = written
      await use(size)
      return written - before
    }
    await use(1)
    const usual = await keys(2)
    assert.equal(await keys(3), usual)
    later(1)
    assert.deepEqual([await keys(4), await keys(5)], [usual + 1, usual])
  })

  it('is empty for an owner without usage', async () => assert.deepEqual(await series(), []))

  it(`has the last ${HISTORY_DAYS} days at most`, async () => {
    const before = await count()
    for (let days = 0; days < HISTORY_DAYS + 20; days++) {
      await use(days + 1)
      later(1)
    }
    const found = await series()
    assert.equal(found[0]![0], today() - HISTORY_DAYS)
    assert.ok((await count()) - before <= HISTORY_DAYS + 1)
    later(HISTORY_DAYS)
    assert.equal((await series()).length, 1)
  })

  it('stays in order when the clock is set back', async () => {
    const first = today()
    await use(1)
    mock.timers.setTime(Date.now() - 3 * DAY)
    await use(2)
    assert.deepEqual(await series(), [[first, 2]])
    later(4)
    await use(3)
    assert.deepEqual(await series(), [
      [first, 2],
      [first + 1, 3],
    ])
  })

  it('is forgotten with the owner', async () => {
    const before = await count()
    for (let days = 0; days < 60; days++) {
      await use(days)
      later(1)
    }
    await allot.allot.hosting.accounts.remove(owner.id)
    await allot.allot.hosting.disk.idle()
    await waitFor(async () => (await count()) === before)
    assert.deepEqual((await allot.allot.verify()).messages, [])
  })

  const count = async () => {
    let records = 0
    await driver.read(async (tx) => {
      records = 0
      for await (const _ of dailyUsages.all(tx)) records++
    })
    return records
  }
})
