import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { recordKey } from '../../lib/records/layout.ts'
import { ledgerEntries } from '../../lib/records/schema/index.ts'
import { keyText, type StorageDriver, type WriteTransaction } from '../../lib/storage/index.ts'
import { assertNoContent } from '../support/expectations.ts'
import { start } from '../support/test-server.ts'

/** Fewer than the deletion of a repository removes in its own write. */
const ENTRIES = 100

/** A driver that notes the keys which write transactions look up. */
const noteLookups = (driver: StorageDriver, lookedUp: string[]): StorageDriver => {
  const noting = (tx: WriteTransaction): WriteTransaction => ({
    ...tx,
    get(key) {
      lookedUp.push(keyText(key))
      return tx.get(key)
    },
    getMany(keys) {
      lookedUp.push(...keys.map(keyText))
      return tx.getMany(keys)
    },
  })
  return { ...driver, write: (body) => driver.write((tx) => body(noting(tx))) }
}

it('looks up each ledger entry of a deleted repository once', async () => {
  const lookedUp: string[] = []
  const server = await start({ driver: noteLookups(memory(), lookedUp), repositories: false })
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
