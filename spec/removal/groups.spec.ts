import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { level } from '../../drivers/level/index.ts'
import { memory } from '../../drivers/memory/index.ts'
import { groupNamed } from '../../lib/quota/assigned-groups.ts'
import { hostOwnerDirectory } from '../../lib/quota/host-owners.ts'
import { PlansByName } from '../../lib/quota/plans-by-name.ts'
import { assignments, jobs, quotaOwners } from '../../lib/records/schema/index.ts'
import { setSequence } from '../../lib/records/store.ts'
import { keyText, type StorageDriver } from '../../lib/storage/index.ts'
import { verify } from '../../lib/verify.ts'
import { watchTransactions } from '../counted.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { times } from '../support/long.ts'
import { finishJobs, openFixture, type RemovalFixture } from './fixture.ts'

const BOUNDS = { maxPerTransaction: 20, batchSize: 10 }
const OWNERS = times(300, 1000)
/**
 * A change of an assignment: the record, its two index entries and its counter; and the records of the job.
 */
const MAX_KEYS = BOUNDS.maxPerTransaction * 4 + 20

const owners = Array.from({ length: OWNERS }, (_, index) => index + 1)
const open = (driver: StorageDriver) => openFixture(driver, BOUNDS, { owners: hostOwnerDirectory })
const by = { id: 1, username: 'root', admin: true } as const

/** A group that all owners have, and one that half of them have. */
const fill = async ({ store, quota }: RemovalFixture): Promise<void> => {
  await quota.rules.create({ name: 'small', limit: 1000, subjects: ['size:all'] })
  await quota.groups.create({ name: 'free', rules: ['small'] })
  await quota.groups.create({ name: 'paid' })
  await store.write(async (tx) => {
    const [free, paid] = [await groupNamed(tx, 'free'), await groupNamed(tx, 'paid')]
    setSequence(tx, 'account', OWNERS + 1)
    for (const owner of owners) {
      await quotaOwners.save(tx, { id: owner, name: `owner-${owner}`, createdAt: 1 })
      await assignments.save(tx, { owner, group: free!.sequence })
      if (owner % 2 === 0) await assignments.save(tx, { owner, group: paid!.sequence })
    }
  })
}

/** What clients see of a deleted group, and of owners that had it. */
const readsOf = async ({ store, quota }: RemovalFixture) => {
  const slice = { offset: 0, limit: 10 }
  const plans = new PlansByName({ store, quota, owners: hostOwnerDirectory })
  return {
    groups: await quota.groups.list(slice),
    group: await quota.groups.get('free'),
    members: await quota.groups.members('free', slice),
    assigned: await Promise.all([1, 2, OWNERS].map((owner) => quota.groups.assignedTo(owner))),
    statuses: await Promise.all([1, 2, OWNERS].map((owner) => quota.statuses.of(owner))),
    planned: await plans.apply({ assignments: { 'owner-1': [], 'owner-2': ['paid'] } }, { dryRun: true }),
    pruned: (await plans.apply({ groups: [{ name: 'paid', rules: [] }], prune: true }, { dryRun: true }))
      .assignments.length,
    again: (
      await plans.effectsOf(
        {
          rules: [{ name: 'none', limit: 0, subjects: ['size:all'] }],
          groups: [{ name: 'free', rules: ['none'] }],
        },
        { limit: 0 },
      )
    ).affected,
  }
}

/** Numbers of assignments of the group `free`, which is the first one. */
const countOf = ({ store }: RemovalFixture): Promise<number> =>
  store.read(async (tx) => (await assignments.list(tx, 'group', { prefix: [1] })).length)

const assertSound = async (fixture: RemovalFixture): Promise<void> =>
  assert.deepEqual((await verify(fixture.store.driver)).messages, [])

const assertNothingLeft = async (fixture: RemovalFixture): Promise<void> => {
  assert.equal(await countOf(fixture), 0)
  await fixture.store.read(async (tx) => {
    for await (const job of jobs.all(tx)) assert.fail(`${job.kind} is pending`)
  })
  await assertSound(fixture)
}

const withGroups = async (
  body: (fixture: RemovalFixture, sizes: number[]) => Promise<void>,
): Promise<void> => {
  const sizes: number[] = []
  const driver = watchTransactions(memory(), ({ kind, changed }) => {
    if (kind === 'write') sizes.push(new Set(changed.map(keyText)).size)
  })
  const fixture = await open(driver)
  try {
    await fill(fixture)
    sizes.length = 0
    await body(fixture, sizes)
  } finally {
    await fixture.close()
  }
}

describe('A deleted group that many owners have', () => {
  it('is gone at once for all readers, and is taken from its owners in small transactions', () =>
    withGroups(async (fixture, sizes) => {
      assert.equal(await fixture.quota.groups.remove('free', by), true)
      assert.ok((await countOf(fixture)) >= OWNERS - BOUNDS.maxPerTransaction, 'a job does the rest')
      assert.equal(await fixture.quota.groups.remove('free'), false)
      await assert.rejects(fixture.quota.groups.unassign(OWNERS, 'free'), { code: 'not_found' })
      await assert.rejects(fixture.quota.groups.assign(OWNERS, 'free'), { code: 'not_found' })
      const pending = await readsOf(fixture)
      assert.deepEqual(pending.assigned, [[], ['paid'], ['paid']])
      assert.deepEqual([pending.group, pending.members], [undefined, undefined])
      await assertSound(fixture)
      await finishJobs(fixture)
      assert.deepEqual(await readsOf(fixture), pending)
      assert.ok(Math.max(...sizes) <= MAX_KEYS, `a transaction changed ${Math.max(...sizes)} keys`)
      assert.ok(sizes.length > OWNERS / BOUNDS.maxPerTransaction)
      await assertNothingLeft(fixture)
    }))

  it('is deleted by a plan that prunes, without a write for each of its owners', () =>
    withGroups(async (fixture, sizes) => {
      const { store, quota } = fixture
      const plans = new PlansByName({ store, quota, owners: hostOwnerDirectory })
      const plan = { rules: [{ name: 'small', limit: 1000, subjects: ['size:all' as const] }], prune: true }
      assert.equal((await plans.apply(plan)).assignments.length, OWNERS)
      assert.ok(Math.max(...sizes) <= MAX_KEYS, `a transaction changed ${Math.max(...sizes)} keys`)
      assert.deepEqual(await quota.groups.assignedTo(2), [])
      assert.deepEqual(await plans.apply(plan), { rules: [], groups: [], assignments: [] })
      await assertSound(fixture)
      await finishJobs(fixture)
      assert.ok(Math.max(...sizes) <= MAX_KEYS)
      await assertNothingLeft(fixture)
    }))

  const CREATE: [what: string, create: (fixture: RemovalFixture) => Promise<unknown>][] = [
    ['in code', ({ quota }) => quota.groups.create({ name: 'free' })],
    [
      'by a plan',
      ({ store, quota }) =>
        new PlansByName({ store, quota, owners: hostOwnerDirectory }).apply({
          groups: [{ name: 'free', rules: [] }],
        }),
    ],
  ]
  for (const [what, create] of CREATE)
    it(`gives its owners to no new group of its name, created ${what} before they have lost it`, () =>
      withGroups(async (fixture) => {
        await fixture.quota.groups.remove('free')
        await create(fixture)
        assert.ok((await countOf(fixture)) >= OWNERS - BOUNDS.maxPerTransaction, 'a job does the rest')
        assert.equal((await fixture.quota.groups.members('free', { offset: 0, limit: 1 }))!.total, 0)
        await fixture.quota.groups.assign(7, 'free')
        await finishJobs(fixture)
        assert.deepEqual(await fixture.quota.groups.assignedTo(7), ['free'])
        assert.deepEqual(await fixture.quota.groups.assignedTo(8), ['paid'])
        await assertSound(fixture)
      }))

  it('is taken from the rest of its owners after a restart, and other writes go on meanwhile', async () => {
    const folder = temporaryDirectory()
    const before = await open(level(folder))
    await fill(before)
    await before.quota.groups.remove('free')
    await before.jobRunner.round()
    await before.quota.groups.unassign(OWNERS, 'paid')
    const reads = await readsOf(before)
    const left = await countOf(before)
    assert.ok(left > 0 && left < OWNERS)
    await before.close()

    const after = await open(level(folder))
    assert.deepEqual(await readsOf(after), reads)
    await finishJobs(after)
    assert.deepEqual(await readsOf(after), reads)
    await assertNothingLeft(after)
    await after.close()
  })
})
