import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import type { AttachmentTargetName } from '../../lib/content/attachment-targets.ts'
import { repositoryDetails } from '../../lib/content/details.ts'
import { decodeKey } from '../../lib/records/key-codec.ts'
import {
  type Account,
  attachments,
  comments,
  files,
  issues,
  packageVersions,
  repositories as records,
  releases,
} from '../../lib/records/schema/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { verify } from '../../lib/verify.ts'
import { times } from '../support/long.ts'
import { waitFor } from '../support/wait-for.ts'
import { finishJobs, openFixture, type RemovalFixture } from './fixture.ts'

/** So small that everything takes many steps. */
const BOUNDS = { maxPerTransaction: 2, batchSize: 1 }
const AT = { owner: 'ann', name: 'demo' }

interface Filled {
  fixture: RemovalFixture
  driver: StorageDriver
  ann: Account
}

const attach = ({ fixture, ann }: Filled, on: AttachmentTargetName) =>
  fixture.hosting.attachments.add(ann, AT, on, {
    name: 'a',
    content: Readable.from([Buffer.from('12345')], { objectMode: false }),
    maxSize: 10,
  })

/**
 * A repository with two issues of two comments each, two releases, and an attachment or two on each of them.
 */
const filled = async (): Promise<Filled> => {
  const driver = memory()
  const fixture = await openFixture(driver, BOUNDS)
  const { accounts, repositories, issues, comments, releases } = fixture.hosting
  const ann = await accounts.createUser({ name: 'ann' })
  await repositories.create(ann, ann, { name: 'demo' })
  const all = { fixture: fixture, driver, ann }
  for (const issue of [1, 2]) {
    await issues.create(ann, AT, { title: `issue ${issue}` })
    for (const body of ['one', 'two']) {
      const made = await comments.create(ann, AT, issue, body)
      for (const _ of [1, 2]) await attach(all, { comment: made!.comment.id })
    }
    for (const _ of [1, 2]) await attach(all, { issue })
    const made = await releases.create(ann, AT, { tag: `v${issue}`, draft: issue === 2 })
    await attach(all, { release: made!.release.id })
  }
  return all
}

const used = async ({
  fixture,
  ann,
}: Filled): Promise<[issues: number, releases: number, listed: number]> => {
  const { usage } = await fixture.quota.statuses.of(ann.id)
  const viewer = { id: ann.id, admin: false }
  const slice = { offset: 0, limit: 100 }
  const { total } = await fixture.store.read((tx) =>
    fixture.hosting.usage.used(tx, viewer, ann.id, 'attachments', slice),
  )
  return [Number(usage.issues), Number(usage.releases), total]
}

/** How many records there are of each kind. */
const recordCounts = ({ driver }: Filled): Promise<Record<string, number>> =>
  driver.read(async (tx) => {
    const found: Record<string, number> = {}
    for (const collection of [issues, comments, releases, attachments, files]) {
      const { name } = collection.options
      for await (const _ of collection.all(tx)) found[name] = (found[name] ?? 0) + 1
    }
    return found
  })

/** Steps of jobs between two recounts. */
const VERIFY_EACH = times(4, 1)

/** Every step of what is left to do, after which everything agrees. */
const runJobs = async ({ fixture, driver }: Filled): Promise<number> => {
  let left = 0
  const rounds = await finishJobs(fixture, async () => {
    if (++left % VERIFY_EACH === 0) assert.deepEqual((await verify(driver)).messages, [])
  })
  await fixture.hosting.disk.idle()
  return rounds
}

describe('The forks of a deleted repository', () => {
  it('are searched as what they are shown as while a job makes them independent', async () => {
    const driver = memory()
    const fixture = await openFixture(driver, BOUNDS)
    const { accounts, repositories, search } = fixture.hosting
    const ann = await accounts.createUser({ name: 'ann' })
    const parent = await repositories.create(ann, ann, { name: 'parent' })
    for (const name of ['one', 'two', 'three']) {
      const owner = await accounts.createUser({ name: `owner-${name}` })
      const fork = await repositories.create(owner, owner, { name })
      await driver.write(async (tx) => {
        await records.save(tx, { ...fork, parent: parent.id })
        const counted = (await records.get(tx, [parent.id]))!
        await records.save(tx, { ...counted, forks: counted.forks + 1 })
      })
    }
    const found = async (mode: 'fork' | 'source') => {
      const slice = { offset: 0, limit: 10 }
      const { items } = await search.repositories(null, { filter: { mode } }, slice)
      return items.map(({ name }) => name)
    }
    assert.deepEqual([await found('fork'), await found('source')], [['one', 'three', 'two'], ['parent']])
    await repositories.remove(parent.id)
    assert.ok((await driver.read((tx) => records.list(tx, 'parent', { prefix: [parent.id] }))).length > 0)
    assert.deepEqual([await found('fork'), await found('source')], [[], ['one', 'three', 'two']])
    await finishJobs(fixture)
    assert.deepEqual([await found('fork'), await found('source')], [[], ['one', 'three', 'two']])
    await fixture.close()
  })
})

it('Forks of a deleted account are not counted while a job deletes them', async () => {
  const driver = memory()
  const fixture = await openFixture(driver, BOUNDS)
  const { accounts, repositories, forks } = fixture.hosting
  const ann = await accounts.createUser({ name: 'ann' })
  const demo = await repositories.create(ann, ann, { name: 'demo' })
  const owners: Account[] = []
  for (const name of ['bob', 'carl']) owners.push(await accounts.createUser({ name }))
  const [, carl] = owners
  for (const name of ['one', 'two', 'three']) await repositories.create(carl!, carl!, { name })
  for (const owner of owners) await forks.fork(owner, AT, {})
  const counted = async () => {
    const list = (await forks.list(ann, AT, { offset: 0, limit: 10 }))!
    const details = await driver.read((tx) => repositoryDetails(tx, ann, list.items))
    return [list.total, details.length, details[0]?.parent?.repository.forks]
  }
  assert.deepEqual(await counted(), [2, 2, 2])
  await accounts.remove(carl!.id, { purge: true })
  const pending = await driver.read((tx) =>
    records.list(tx, 'ownerAndParent', { prefix: [carl!.id, demo.id] }),
  )
  assert.equal(pending.length, 1)
  assert.deepEqual(await counted(), [1, 1, 1])
  await finishJobs(fixture)
  assert.deepEqual(await counted(), [1, 1, 1])
  await fixture.close()
})

it('The packages of a deleted account agree with the ledger while a job deletes them', async () => {
  const driver = memory()
  const fixture = await openFixture(driver, BOUNDS)
  const { accounts, packages } = fixture.hosting
  const ann = await accounts.createUser({ name: 'ann' })
  for (const version of ['1', '2', '3', '4', '5'])
    await packages.add(
      { id: ann.id, admin: false },
      { owner: 'ann', type: 'generic', name: 'tool', version },
      'x',
      Readable.from([Buffer.from('text')]),
      undefined,
    )
  await accounts.remove(ann.id, { purge: true })
  let left = 0
  await finishJobs(fixture, async () => {
    left += await driver.read(
      async (tx) => (await packageVersions.list(tx, 'created', { prefix: [ann.id] })).length,
    )
    assert.deepEqual((await verify(driver)).messages, [])
  })
  assert.ok(left > 0, 'the job was not done at once')
  await fixture.close()
})

/** Deletes everyone, after which nothing may be left. */
const end = async (all: Filled, ...more: Account[]): Promise<void> => {
  const { driver, fixture } = all
  for (const { id } of [all.ann, ...more]) await fixture.hosting.accounts.remove(id, { purge: true })
  await runJobs(all)
  const found: string[] = []
  await driver.read(async (tx) => {
    for await (const [key] of tx.range({ start: new Uint8Array([0]), end: new Uint8Array([255]) }))
      found.push(decodeKey(key).join(' '))
  })
  assert.deepEqual(
    found.filter((key) => !/^(sequence|metadata) /.test(key)),
    [],
  )
  await fixture.close()
}

describe('The content of a repository', () => {
  it('is deleted with it: from reads and usage immediately, and from the store in steps', async () => {
    const all = await filled()
    const { repositories } = all.fixture.hosting
    const demo = (await repositories.find(all.ann, 'ann', 'demo'))!
    await repositories.remove(demo.id)
    assert.deepEqual(await used(all), [0, 0, 0])
    assert.deepEqual((await verify(all.driver)).messages, [])
    assert.ok((await runJobs(all)) > 10)
    assert.deepEqual(await recordCounts(all), {})
    await repositories.create(all.ann, all.ann, { name: 'demo' })
    const made = await all.fixture.hosting.issues.create(all.ann, AT, { title: 'the first of another' })
    assert.equal(made!.issue.number, 1)
    await end(all)
  })
})

describe('An issue with more comments than one write may remove', () => {
  it('is deleted completely when the request is answered', async () => {
    const all = await filled()
    await all.fixture.hosting.issues.remove({ ...all.ann, admin: true }, AT, 1)
    assert.deepEqual(await used(all), [30, 10, 8])
    assert.deepEqual(await recordCounts(all), { issue: 1, comment: 2, release: 2, attachment: 8, file: 8 })
    assert.deepEqual((await verify(all.driver)).messages, [])
    assert.equal(await runJobs(all), 0)
    await end(all)
  })

  it('stays deleted after a kill, and the rest of its comments is removed after the next start', async () => {
    const all = await filled()
    let writes = 0
    const killed: StorageDriver = {
      ...all.driver,
      write: (work) => (++writes > 2 ? new Promise(() => {}) : all.driver.write(work)),
    }
    const dying = await openFixture({ ...killed, open: async () => undefined }, BOUNDS)
    void dying.hosting.issues.remove(all.ann, AT, 1)
    await waitFor(() => writes >= 3)
    assert.equal(await all.fixture.hosting.issues.find(all.ann, AT, 1), undefined)
    assert.deepEqual((await verify(all.driver)).messages, [])
    assert.ok((await runJobs(all)) > 0)
    assert.deepEqual(await used(all), [30, 10, 8])
    await all.fixture.hosting.recover()
    assert.deepEqual(await recordCounts(all), { issue: 1, comment: 2, release: 2, attachment: 8, file: 8 })
    await end(all)
  })
})
