import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { postgres } from '../../drivers/postgres/index.ts'
import { encodeValue, sequenceKey } from '../../lib/records/layout.ts'
import { type Repository, repositories, upgradeStore } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { agrees, compactAll, faultsOf, repository } from '../search/posting-fixture.ts'
import { missing } from './cluster.ts'
import { emptyStore } from './empty-store.ts'

const WRITERS = 4
const EACH = 30

const opened = async (url: string): Promise<Store> => {
  const driver = postgres(url)
  await driver.open()
  await upgradeStore(driver)
  return new Store(driver)
}

/** Renames its own repositories repeatedly, and removes every third of them. */
const write = async (store: Store, at: number, known: Map<number, Repository>): Promise<void> => {
  for (let n = 0; n < EACH; n++) {
    const id = 1 + at + WRITERS * (n % 10)
    const saved = repository(id, `name-${n % 7}-${id}`, 0)
    await store.write((tx) => repositories.save(tx, saved))
    known.set(id, saved)
    if (n % 3 > 0) continue
    await store.write((tx) => repositories.remove(tx, [id]))
    known.delete(id)
  }
}

describe('Search over names that several processes change while two compact the index', {
  skip: missing,
}, () => {
  it('finds every name, and none that was removed', async () => {
    const { url, drop } = await emptyStore()
    const stores = [await opened(url), await opened(url)]
    try {
      const [one] = stores as [Store]
      await one.write(async (tx) => tx.put(sequenceKey('repository'), encodeValue(1000)))
      const known = new Map<number, Repository>()
      let isWriting = true
      const compactor = stores.map(async (store) => {
        while (isWriting) {
          await compactAll(store)
          await setTimeout(20)
        }
      })
      await Promise.all(
        Array.from({ length: WRITERS }, (_, at) => write(stores[at % stores.length]!, at, known)),
      ).finally(() => {
        isWriting = false
      })
      await Promise.all(compactor)
      await compactAll(one)
      assert.deepEqual(await faultsOf(one.driver), [])
      await agrees(one, [...known.values()], ['name', 'me-3', '-1'])
    } finally {
      for (const { driver } of stores) await driver.close()
      await drop()
    }
  })
})
