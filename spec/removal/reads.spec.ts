import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { repositoryDetails } from '../../lib/content/details.ts'
import { recordKey } from '../../lib/records/layout.ts'
import { ledgerEntries, repositories as records } from '../../lib/records/schema/index.ts'
import { keyText } from '../../lib/storage/index.ts'
import { countReads, watchTransactions } from '../counted.ts'
import { assertNoContent } from '../support/expectations.ts'
import { start } from '../support/test-server.ts'
import { finishJobs, openFixture } from './fixture.ts'

/** Fewer than the deletion of a repository removes in its own write. */
const ENTRIES = 100

it('looks up each ledger entry of a deleted repository once', async () => {
  const lookedUp: string[] = []
  const driver = watchTransactions(memory(), ({ kind, read }) => {
    if (kind === 'write') lookedUp.push(...read.map(keyText))
  })
  const server = await start({ driver, repositories: false })
  const ann = await server.person('ann')
  const account = (await server.allot.hosting.accounts.byName('ann'))!
  await server.allot.hosting.repositories.create(account, account, { name: 'r' })
  const keys = Array.from({ length: ENTRIES }, (_, number) => `k${number}`)
  await server.allot.ledger.batch(
    keys.map((key) => ({
      ...({ op: 'put', kind: 'artifacts', key, name: key } as const),
      ...{ repository: 'ann/r', size: 1, run: 1 },
    })),
  )
  lookedUp.length = 0
  assertNoContent(await server.as(ann, 'DELETE', '/repos/ann/r'))
  const entries = new Set(
    keys.map((key) => keyText(recordKey(ledgerEntries.options.name, ['artifacts', key]))),
  )
  assert.equal(lookedUp.filter((key) => entries.has(key)).length, ENTRIES)
})

it('reads no more for the total of many stars while another account is deleted than afterwards', async () => {
  const counted = countReads(memory())
  const fixture = await openFixture(counted.driver, { maxPerTransaction: 1, batchSize: 1 })
  const { accounts, repositories, relations } = fixture.hosting
  const [ann, gone] = [
    await accounts.createUser({ name: 'ann' }),
    await accounts.createUser({ name: 'gone' }),
  ]
  const starred = async (owner: typeof ann, name: string) => {
    await repositories.create(owner, owner, { name })
    await relations.stars.set({ id: ann.id, admin: false }, { owner: owner.name, name })
  }
  const listed = async () => {
    let total: number | undefined
    const none = { offset: 0, limit: 0 }
    const reads = await counted.during(async () => {
      total = (await relations.stars.list({ id: ann.id, admin: false }, ann.id, none)).total
    })
    return { reads, total }
  }
  for (const name of ['one', 'two']) await starred(gone, name)
  await starred(ann, 'first')
  await accounts.remove(gone.id, { purge: true })
  assert.equal((await listed()).total, 1)
  for (let number = 0; number < 50; number++) await starred(ann, `r${number}`)
  const many = await listed()
  assert.equal(many.total, 51)
  await finishJobs(fixture)
  const left = await listed()
  assert.equal(left.total, 51)
  assert.ok(many.reads <= left.reads + 5, `${many.reads} reads before ${left.reads}`)
})

/** Far more than the records of the repository that is read. */
const DELETIONS = 30
const ALL = { offset: 0, limit: 10 }

it('reads no more, the more deletions of other accounts and issues are pending', async () => {
  const counted = countReads(memory())
  const fixture = await openFixture(counted.driver, { maxPerTransaction: 1, batchSize: 1 })
  const { accounts, comments, forks, issues, issueSubscriptions, organizations, relations } = fixture.hosting
  const { repositories, search } = fixture.hosting
  const ann = await accounts.createUser({ name: 'ann' })
  const bob = await accounts.createUser({ name: 'bob' })
  await organizations.create(ann.id, { name: 'hall' })
  const at = { owner: 'ann', name: 'demo' }
  const demo = await repositories.create(ann, ann, { name: at.name })
  const issue = async (number: number, texts: readonly string[]) => {
    await issues.create(ann, at, { title: `issue ${number}` })
    for (const text of texts) await comments.create(ann, at, number, text)
  }
  await issue(1, ['one'])
  await issueSubscriptions.set(ann, at, 1, 'ann', true)
  for (const relation of [relations.stars, relations.watches]) await relation.set(bob, at)
  await forks.fork(bob, at, {})
  const read = async () => {
    const [details] = await counted.driver.read(async (tx) =>
      repositoryDetails(tx, ann, [(await records.get(tx, [demo.id]))!]),
    )
    const { stars, watchers, forks } = details!.repository
    const subscribed = await issueSubscriptions.list(ann, at, 1, ALL)
    const commented = await comments.listAll(ann, at, ALL)
    const found = await search.repositories(ann, { q: 'dem' }, ALL)
    return [stars, watchers, forks, subscribed?.total, commented?.page.total, found.total]
  }
  const deleteOthers = async (from: number, to: number) => {
    for (let number = from; number < to; number++) {
      const gone = await accounts.createUser({ name: `gone${number}` })
      for (const name of ['one', 'two', 'three']) await repositories.create(gone, gone, { name })
      await accounts.remove(gone.id, { purge: true })
      await issue(number + 2, ['one', 'two', 'three'])
      await issues.remove(ann, at, number + 2)
    }
  }
  const countedReads = () => counted.during(async () => assert.deepEqual(await read(), [1, 2, 1, 1, 1, 2]))
  await deleteOthers(0, 2)
  const few = await countedReads()
  await deleteOthers(2, DELETIONS)
  const many = await countedReads()
  assert.ok(many <= few + 5, `${many} reads with many deletions, ${few} with few`)
  await finishJobs(fixture)
  await countedReads()
  await fixture.close()
})
