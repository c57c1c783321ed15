import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import { verifyRecords } from '../../lib/integrity/index.ts'
import { quotaChecks } from '../../lib/quota/integrity.ts'
import { type LedgerRecord, ledgerEntries, repositoryUsages } from '../../lib/records/schema/index.ts'
import type { ReadTransaction } from '../../lib/storage/index.ts'
import { countReads } from '../counted.ts'
import { openFixture } from '../removal/fixture.ts'
import { times } from '../support/long.ts'

const OWNERS = [1, 2]
const REPOSITORIES = [1, 2, 3]
const ALL = { offset: 0, limit: 1000 }

const entry = (key: string, owner: number, repository: number | null, size: number, name: string) => ({
  ...{ kind: 'artifacts' as const, key, owner, repository, size, name, createdAt: 1 },
})

const id = fc.constantFrom(...REPOSITORIES)
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      put: fc.integer({ min: 1, max: 12 }),
      repository: fc.option(id, { freq: 5 }),
      size: fc.nat(4),
      name: fc.constantFrom('a', 'b'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ remove: fc.integer({ min: 1, max: 12 }) }) },
  fc.record({ move: id, owner: fc.constantFrom(...OWNERS) }),
)

/** Found without the usages: by the order that the list must have. */
const expected = async (tx: ReadTransaction, owner: number): Promise<LedgerRecord[]> => {
  const found: LedgerRecord[] = []
  for await (const one of ledgerEntries.all(tx)) {
    const usage = one.repository === null ? undefined : await repositoryUsages.get(tx, [one.repository])
    if ((usage?.owner ?? one.owner) === owner) found.push(one)
  }
  const textOf = ({ name, key }: LedgerRecord) => `${name} ${key}`
  return found.sort((one, other) => other.size - one.size || (textOf(one) < textOf(other) ? -1 : 1))
}

describe('The list of the entries of an owner', () => {
  it('has all of them, the largest first, after any puts, removals and transfers', () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { store, quota, close } = await openFixture(memory(), { maxPerTransaction: 50, batchSize: 50 })
        await store.write(async (tx) => {
          for (const one of REPOSITORIES)
            await quota.repositories.create(tx, { id: one, owner: 1, private: false, git: 0 })
        })
        for (const one of steps)
          await store.write(async (tx) => {
            if ('put' in one)
              await quota.ledger.put(tx, entry(`k${one.put}`, 1, one.repository, one.size, one.name))
            else if ('remove' in one) await quota.ledger.remove(tx, 'artifacts', `k${one.remove}`)
            else await quota.repositories.move(tx, one.move, one.owner)
          })
        await store.read(async (tx) => {
          for (const owner of OWNERS)
            assert.deepEqual(await quota.ledger.list(tx, owner, 'artifacts', ALL), await expected(tx, owner))
          await verifyRecords(tx, quotaChecks, ({ message }) => assert.fail(message))
        })
        await close()
      }),
      { numRuns: times(100, 1000) },
    ))

  it('reads one entry of an index and one record for each that it has, however many repositories there are', async () => {
    const { driver, during } = countReads(memory())
    const { store, quota, close } = await openFixture(driver, { maxPerTransaction: 50, batchSize: 50 })
    for (let one = 1; one <= 100; one++)
      await store.write(async (tx) => {
        await quota.repositories.create(tx, { id: one, owner: 1, private: false, git: 0 })
        for (const size of [one, 1000 + one])
          await quota.ledger.put(tx, entry(`k${one}-${size}`, 1, one, size, 'file'))
      })
    const page = { offset: 20, limit: 20 }
    const reads = await during(() => store.read((tx) => quota.ledger.list(tx, 1, 'artifacts', page)))
    assert.ok(reads <= 40 + 20 + 10, String(reads))
    await close()
  })
})
