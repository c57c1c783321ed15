import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { StorageDriver } from '../../lib/storage/index.ts'
import {
  below,
  bytes,
  type Candidate,
  collect,
  fixture,
  keysBelow,
  load,
  type Part,
  save,
  text,
} from './fixture.ts'

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
    test('do not lose updates', (t) => counted(t, candidate))
    test('do not allow write skew', (t) => skewed(t, candidate))
    test('do not allow phantoms', (t) => phantoms(t, candidate))
    test('throw in the callback only for current records', (t) => failing(t, candidate))
    test('do not see partial writes of one another', (t) => partial(t, candidate))
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

const counted = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const drivers = await openDrivers(t, candidate)
  const increment = (driver: StorageDriver) =>
    driver.write(async (tx) => {
      const count = Number(text(await tx.get(bytes('count'))) ?? 0)
      tx.put(bytes('count'), bytes(`${count + 1}`))
    })
  await Promise.all(Array.from({ length: 80 }, (_, at) => increment(drivers[at % DRIVERS]!)))
  for (const driver of drivers) assert.equal(await load(driver, 'count'), '80')
}

const skewed = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const [first, second] = await openDrivers(t, candidate)
  const leave = (driver: StorageDriver, me: string, colleague: string) =>
    driver.write(async (tx) => {
      if (text(await tx.get(bytes(colleague))) === 'on') tx.put(bytes(me), bytes('off'))
    })
  for (let round = 0; round < 20; round++) {
    await save(round % 2 ? first! : second!, { ann: 'on', bob: 'on' })
    await Promise.all([leave(first!, 'ann', 'bob'), leave(second!, 'bob', 'ann')])
    assert.deepEqual([await load(first!, 'ann'), await load(first!, 'bob')].sort(), ['off', 'on'])
  }
}

const phantoms = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const drivers = await openDrivers(t, candidate)
  const takeIfFirst = (driver: StorageDriver, seat: number, guest: number) =>
    driver.write(async (tx) => {
      const taken = await collect(tx.range(below(`seat${seat}/`)))
      if (taken.length === 0) tx.put(bytes(`seat${seat}/${guest}`), bytes('taken'))
    })
  await Promise.all(
    Array.from({ length: 40 }, (_, at) => takeIfFirst(drivers[at % DRIVERS]!, Math.floor(at / 4), at)),
  )
  assert.equal((await drivers[0]!.read((tx) => keysBelow(tx, 'seat'))).length, 10)
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

const partial = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const drivers = await openDrivers(t, candidate)
  await save(drivers[0]!, { from: '100', to: '0' })
  const transfer = (driver: StorageDriver, amount: number) =>
    driver.write(async (tx) => {
      const [from, to] = (await tx.getMany([bytes('from'), bytes('to')])).map((value) => Number(text(value)))
      tx.put(bytes('from'), bytes(`${from! - amount}`))
      tx.put(bytes('to'), bytes(`${to! + amount}`))
    })
  const sum = (driver: StorageDriver) =>
    driver.read(async (tx) => {
      const from = Number(text(await tx.get(bytes('from'))))
      return from + Number(text(await tx.get(bytes('to'))))
    })
  const sums: number[] = []
  const reading = async (driver: StorageDriver) => {
    for (let at = 0; at < 20; at++) sums.push(await sum(driver))
  }
  await Promise.all([
    ...drivers.map(reading),
    ...Array.from({ length: 40 }, (_, at) => transfer(drivers[at % DRIVERS]!, at)),
  ])
  assert.deepEqual(new Set(sums), new Set([100]))
}
