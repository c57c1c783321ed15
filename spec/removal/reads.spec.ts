import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { recordKey } from '../../lib/records/layout.ts'
import { ledgerEntries } from '../../lib/records/schema/index.ts'
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
