import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, before, beforeEach, describe, it, mock } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import { createQuota, importAllot, type LedgerEntry, type Quota, type QuotaEvent } from '../../lib/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { assertError, assertList, assertNotFound } from '../support/expectations.ts'
import { times } from '../support/long.ts'
import { createPersistentStore, createSpecStore } from '../support/store.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

const quiet = { error: () => undefined, info: () => undefined }
const MINUTE = 60_000
const DAY = 86_400_000
const NOON = Date.UTC(2026, 0, 1, 12)
const artifact = (key: string, size: number, expiresAt?: Date | number, owner = 'alice') => ({
  ...({ kind: 'artifacts', name: key } as const),
  key,
  size,
  owner,
  expiresAt,
})
const later = (ms: number) => mock.timers.tick(ms)
const inAMinute = () => new Date(Date.now() + MINUTE)
before(() => mock.timers.enable({ apis: ['Date'], now: NOON }))
after(() => mock.timers.reset())

describe('An entry with an expiry', () => {
  let allot: TestServer
  let owner: Person
  let people = 0
  before(async () => {
    const { driver } = await createSpecStore()
    allot = await start({ driver, repositories: false, quota: { defaultTotal: 1000 } })
  })
  beforeEach(async () => {
    owner = await allot.person(`owner${++people}`)
  })
  const reserve = (size = 1000, expiresAt = inAMinute()) =>
    allot.allot.ledger.put(artifact(`${owner.name}/x`, size, expiresAt, owner.name))
  const as = async (path: string) => (await allot.as(owner, 'GET', path)).body
  const asRoot = async (path: string) => (await allot.request('GET', path, { token: allot.root.token })).body

  /** What readers see of the reservation, each asked first after it has expired. */
  const READS: Record<string, [read: () => Promise<unknown>, before: unknown, after: unknown]> = {
    'quota.info': [
      async () => (await allot.allot.quota.info(owner.name)).used.size.assets.artifacts,
      1000,
      0,
    ],
    'quota.isOver': [() => allot.allot.quota.isOver(owner.name, 'size:all'), true, false],
    'quota.explain': [async () => (await allot.allot.quota.explain(owner.name, 'size:all')).used, 1000, 0],
    'quota.history': [async () => (await allot.allot.quota.history(owner.name)).at(-1)?.all, 1000, 0],
    'ledger.get': [
      async () => (await allot.allot.ledger.get(artifact(`${owner.name}/x`, 0)))?.size,
      1000,
      undefined,
    ],
    'ledger.list': [
      async () => (await allot.allot.ledger.list({ kind: 'artifacts', prefix: `${owner.name}/` })).length,
      ...[1, 0],
    ] as never,
    'GET /user/quota': [async () => (await as('/user/quota')).used.size.assets.artifacts, 1000, 0],
    'GET /user/quota/check': [() => as('/user/quota/check?subject=size:all'), true, false],
    'GET /user/quota/artifacts': [async () => (await as('/user/quota/artifacts')).length, 1, 0],
    'GET /admin/quota/over': [
      async () =>
        (await asRoot('/admin/quota/over')).some(
          (one: { owner: { login: string } }) => one.owner.login === owner.name,
        ),
      ...[true, false],
    ] as never,
  }
  for (const [name, [read, during, afterwards]] of Object.entries(READS))
    it(`counts until its time, and not afterwards: ${name}`, async () => {
      await reserve()
      later(MINUTE - 1)
      assert.deepEqual(await read(), during)
      later(1)
      assert.deepEqual(await read(), afterwards)
      assert.equal(await allot.allot.quota.isOver(owner.name, 'size:all'), false)
    })

  it('is kept by a later put without an expiry, and released by a delete', async () => {
    await reserve(600)
    await allot.allot.ledger.put(artifact(`${owner.name}/x`, 500, undefined, owner.name))
    later(2 * MINUTE)
    assert.equal((await allot.allot.quota.explain(owner.name, 'size:all')).used, 500)
    await reserve(700)
    assert.equal(await allot.allot.ledger.delete(artifact(`${owner.name}/x`, 0)), true)
    assert.equal((await allot.allot.quota.explain(owner.name, 'size:all')).used, 0)
  })

  it('is renewed by a put with a later time', async () => {
    await reserve(600)
    later(MINUTE - 1)
    await reserve(600)
    later(MINUTE - 1)
    assert.equal((await allot.allot.quota.explain(owner.name, 'size:all')).used, 600)
    later(1)
    assert.equal((await allot.allot.quota.explain(owner.name, 'size:all')).used, 0)
  })

  it('makes room for a put that must be within, and is new when it is put again itself', async () => {
    await reserve(600)
    const other = artifact(`${owner.name}/y`, 600, undefined, owner.name)
    const put = () => allot.allot.ledger.put(other, { within: true })
    await assert.rejects(put(), { code: 'over_quota' })
    later(MINUTE)
    await put()
    await assert.rejects(
      allot.allot.ledger.put(artifact(`${owner.name}/x`, 600, inAMinute(), owner.name), { within: true }),
      { code: 'over_quota' },
    )
    const [first, again] = [await reserve(1), await reserve(1)]
    later(MINUTE)
    assert.deepEqual(
      [first, again, await reserve(1)].map(({ replaced }) => replaced),
      [false, true, false],
    )
  })

  it('has expires_at over HTTP, in whole seconds', async () => {
    const path = `/admin/ledger/artifacts/${owner.name}`
    const send = (expires_at?: string | null) =>
      allot.request('PUT', path, {
        token: allot.root.token,
        body: { owner: owner.name, name: 'x', size: 7, expires_at },
      })
    const time = Math.ceil(Date.now() / 1000) * 1000 + 30_000
    const made = await send(new Date(time - 999).toISOString())
    assert.equal(made.status, 201, made.text)
    const shown = new Date(time).toISOString().replace('.000', '')
    assert.equal(made.body.expires_at, shown)
    assert.deepEqual(await asRoot(path), made.body)
    assert.equal((await send(null)).body.expires_at, undefined)
    const line = {
      op: 'put',
      kind: 'artifacts',
      key: owner.name,
      owner: owner.name,
      name: 'x',
      size: 7,
      expires_at: shown,
    }
    const batch = await allot.request('POST', '/admin/ledger', {
      token: allot.root.token,
      body: JSON.stringify(line),
      headers: { 'content-type': 'application/x-ndjson' },
    })
    assert.deepEqual(batch.body, { applied: 1 })
    assert.equal((await asRoot(path)).expires_at, shown)
    later(MINUTE)
    assertNotFound(await allot.request('GET', path, { token: allot.root.token }))
    assertList(await allot.as(owner, 'GET', '/user/quota/artifacts'), 'name', [])
  })

  for (const [expires_at, message] of [
    ['tomorrow', /^expires_at: must be a time such as/],
    ['2026-02-31T25:00:00Z', /^expires_at: must be a time that exists/],
    ['2030-02-31T00:00:00Z', /^expires_at: must be a time that exists/],
    ['2030-02-28T25:00:00Z', /^expires_at: must be a time that exists/],
    ['2020-01-01T00:00:00Z', /^expires_at: must be later than now .*, got 2020-01-01T00:00:00.000Z$/],
    [5, /^expires_at: expected a string/],
  ] as const)
    it(`is refused over HTTP with the time ${expires_at}`, async () => {
      const body = { owner: owner.name, name: 'x', size: 7, expires_at }
      assertError(
        await allot.request('PUT', '/admin/ledger/artifacts/x', { token: allot.root.token, body }),
        ...([422, message] as const),
      )
    })

  for (const expiresAt of [
    '2030-01-01T00:00:00Z',
    null,
    Number.NaN,
    1_800_000_000,
    NOON,
    new Date(8.64e15),
    new Date('x'),
  ])
    it(`is refused in process with the time ${expiresAt}`, async () => {
      const entry = artifact('x', 1, expiresAt as never, owner.name)
      await assert.rejects(allot.allot.ledger.put(entry as LedgerEntry), {
        code: 'invalid',
        message: /^expiresAt: /,
      })
    })
})

describe('The expiry of entries', () => {
  const withQuota = async (driver: StorageDriver, body: (quota: Quota) => Promise<void>) => {
    const quota = await createQuota({ driver, defaultTotal: 1000, log: quiet })
    try {
      await body(quota)
      assert.deepEqual((await quota.verify()).messages, [])
    } finally {
      await quota.close()
    }
  }
  const used = async (quota: Quota) => Number((await quota.explain('alice', 'size:all')).used)

  it('is noticed without a read: the event says that the owner is below the limit again', () =>
    withQuota(memory(), async (quota) => {
      const events: QuotaEvent['action'][] = []
      quota.on('quota', ({ action, share }) => void (share === 1 && events.push(action)))
      await quota.ledger.put(artifact('x', 1000, Date.now() + 20))
      later(20)
      await waitFor(() => events.length === 2)
      assert.deepEqual(events, ['crossed', 'back'])
    }))

  it('is that of its own day in the history, also when no server ran then', async () => {
    later(DAY - (Date.now() % DAY))
    const begun = Date.now() / DAY
    const { driver, drop } = await createPersistentStore()
    await withQuota(driver, async ({ ledger }) => {
      await ledger.put(artifact('kept', 5))
      await ledger.put(artifact('first', 10, Date.now() + DAY))
      await ledger.put(artifact('second', 100, Date.now() + 3 * DAY))
    })
    later(5 * DAY)
    await withQuota(driver, async (quota) => {
      await quota.ledger.put(artifact('new', 1000))
      const days = (await quota.history('alice')).map(({ date, all }) => [
        Date.parse(date) / DAY - begun,
        all,
      ])
      assert.deepEqual(days, [
        [0, 115],
        [1, 105],
        [3, 5],
        [5, 1005],
      ])
    })
    await drop()
  })

  it('is part of an export, and of what is imported', async () => {
    const chunks: Uint8Array[] = []
    await withQuota(memory(), async (quota) => {
      await quota.ledger.put(artifact('x', 10, inAMinute()))
      await quota.export(async (bytes) => {
        chunks.push(Buffer.from(bytes))
      })
    })
    const driver = memory()
    await importAllot({ driver, repositories: false }, Readable.from(chunks))
    await withQuota(driver, async (quota) => {
      assert.equal(await used(quota), 10)
      later(MINUTE)
      assert.equal(await used(quota), 0)
    })
  })

  it('waits for a store that cannot be written, while reads go on', async () => {
    let isFull = false
    const driver = memory()
    const failing: StorageDriver = {
      ...driver,
      write: (body) => (isFull ? Promise.reject(new Error('full')) : driver.write(body)),
    }
    await withQuota(failing, async (quota) => {
      await quota.ledger.put(artifact('x', 10, inAMinute()))
      isFull = true
      later(MINUTE)
      assert.equal(await used(quota), 10)
      isFull = false
      later(MINUTE)
      assert.equal(await used(quota), 0)
    })
  })

  const action = fc.oneof(
    fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      size: fc.integer({ min: 0, max: 400 }),
      seconds: fc.option(fc.integer({ min: 1, max: 5 })),
    }),
    fc.record({ remove: fc.constantFrom('a', 'b', 'c', 'd') }),
    fc.record({ tick: fc.integer({ min: 0, max: 3000 }) }),
  )
  it('agrees with a model of entries with times, which must be within or not', () =>
    fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 20 }), fc.boolean(), (actions, within) =>
        withQuota(memory(), async (quota) => {
          const stored = new Map<string, { size: number; until: number }>()
          const live = () =>
            [...stored.values()].reduce((sum, { size, until }) => sum + (until > Date.now() ? size : 0), 0)
          for (const one of actions) {
            if ('tick' in one) later(one.tick)
            else if ('remove' in one) {
              await quota.ledger.delete(artifact(one.remove, 0))
              stored.delete(one.remove)
            } else {
              const until = one.seconds === null ? Number.POSITIVE_INFINITY : Date.now() + one.seconds * 1000
              const known = stored.get(one.key)
              const before = known !== undefined && known.until > Date.now() ? known.size : 0
              const grown = live() - before + one.size
              const entry = artifact(one.key, one.size, one.seconds === null ? undefined : until)
              const put = quota.ledger.put(entry, { within })
              if (!within || grown <= 1000 || one.size <= before) {
                await put
                stored.set(one.key, { size: one.size, until })
              } else await assert.rejects(put, { code: 'over_quota' })
            }
            assert.equal(await used(quota), live())
          }
        }),
      ),
      { numRuns: times(25, 1000) },
    ))
})
