import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { bytes, type Candidate, fixture, keysBelow, load, type Part, save, text } from './fixture.ts'
import { laws } from './serializability.ts'

const DRIVERS = 4

/** Several open drivers over the same records, like those of several processes. */
const openDrivers = async (t: TestContext, candidate: Candidate): Promise<StorageDriver[]> => {
  const { driver, reopen } = await fixture(t, candidate)
  assert.ok(reopen, 'the fixture of a shared driver needs `reopen`')
  const others = await Promise.all(Array.from({ length: DRIVERS - 1 }, reopen))
  const all = [driver, ...others]
  await Promise.all(all.map((driver) => driver.open()))
  return all
}

export const sharing: Part = (candidate) => {
  if (!candidate.shared) return
  describe('several drivers over the same records', () => {
    test('declare themselves as shared', async (t) => {
      const { driver } = await fixture(t, candidate)
      assert.equal(driver.shared, true)
    })
    test('can create the store concurrently', async (t) => {
      const drivers = await openDrivers(t, candidate)
      await save(drivers[0]!, { key: 'value' })
      for (const driver of drivers) assert.equal(await load(driver, 'key'), 'value')
    })
    test('each see every acknowledged write of another one', (t) => coherent(t, candidate))
    test('throw in the callback only for current records', (t) => failing(t, candidate))
    for (const [title, law] of Object.entries(laws))
      test(`are serializable together: ${title}`, async (t) => law(await openDrivers(t, candidate)))
  })
}

const coherent = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const drivers = await openDrivers(t, candidate)
  for (let round = 0; round < 40; round++) {
    const writer = drivers[round % DRIVERS]!
    await writer.write(async (tx) => {
      tx.put(bytes('key'), bytes(`${round}`))
      tx.put(bytes(`list/${round}`), bytes('x'))
      tx.delete(bytes(`list/${round - 5}`))
    })
    for (const driver of drivers) {
      assert.equal(await load(driver, 'key'), `${round}`)
      const listed = await driver.read((tx) => keysBelow(tx, 'list/'))
      assert.equal(listed.length, Math.min(round + 1, 5))
    }
    const other = drivers[(round + 1) % DRIVERS]!
    assert.equal(await other.write(async (tx) => text(await tx.get(bytes('key')))), `${round}`)
  }
}

const failing = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const [first, second] = await openDrivers(t, candidate)
  const claim = (driver: StorageDriver) =>
    driver.write(async (tx) => {
      if ((await tx.get(bytes('name'))) !== undefined) throw new Error('taken')
      tx.put(bytes('name'), bytes('mine'))
    })
  for (let round = 0; round < 10; round++) {
    await claim(first!)
    await assert.rejects(claim(second!), /taken/)
    await second!.write(async (tx) => tx.delete(bytes('name')))
    await claim(first!)
    await first!.write(async (tx) => tx.delete(bytes('name')))
  }
}
