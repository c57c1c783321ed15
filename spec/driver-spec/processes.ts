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
  type Part,
  save,
  text,
} from './fixture.ts'

const BATCH_SIZE = 4

/** Several open drivers over the same records, as if each were another process's. */
const fleet = async (t: TestContext, candidate: Candidate): Promise<StorageDriver[]> => {
  const { driver, reopen } = await fixture(t, candidate)
  assert.ok(reopen, 'a shared driver can be made again')
  const others = await Promise.all(Array.from({ length: BATCH_SIZE - 1 }, reopen))
  const all = [driver, ...others]
  await Promise.all(all.map((one) => one.open()))
  return all
}

export const sharing: Part = (candidate) => {
  if (!candidate.shared) return
  describe('several drivers over the same records', () => {
    test('say of themselves that they share', async (t) => {
      const { driver } = await fixture(t, candidate)
      assert.equal(driver.shared, true)
    })
    test('may be opened for the first time at once', async (t) => {
      const drivers = await fleet(t, candidate)
      await save(drivers[0]!, { key: 'value' })
      for (const driver of drivers) assert.equal(await load(driver, 'key'), 'value')
    })
    test('each see at once what another has written, however they read', (t) => coherent(t, candidate))
    test('lose no update of one another', (t) => counted(t, candidate))
    test('do not both go by what the other changes (write skew)', (t) => skewed(t, candidate))
    test('do not both find a range empty that they add to (phantoms)', (t) => phantoms(t, candidate))
    test('fail by what is true, not by what was', (t) => failing(t, candidate))
    test('see no part of one another’s writes', (t) => noPart(t, candidate))
  })
}

const load = (driver: StorageDriver, key: string, again = false): Promise<string | undefined> =>
  driver.read(async (tx) => text(await tx.get(bytes(key))), { again })

const coherent = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const drivers = await fleet(t, candidate)
  for (let round = 0; round < 40; round++) {
    const writer = drivers[round % BATCH_SIZE]!
    await writer.write(async (tx) => {
      tx.put(bytes('key'), bytes(`${round}`))
      tx.put(bytes(`list/${round}`), bytes('x'))
      tx.delete(bytes(`list/${round - 5}`))
    })
    for (const driver of drivers)
      for (const again of [true, false]) {
        assert.equal(await load(driver, 'key', again), `${round}`)
        const listed = await driver.read((tx) => keysBelow(tx, 'list/'), { again })
        assert.equal(listed.length, Math.min(round + 1, 5))
      }
    const other = drivers[(round + 1) % BATCH_SIZE]!
    assert.equal(await other.write(async (tx) => text(await tx.get(bytes('key')))), `${round}`)
  }
}

const counted = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const drivers = await fleet(t, candidate)
  const increment = (driver: StorageDriver) =>
    driver.write(async (tx) => {
      const count = Number(text(await tx.get(bytes('count'))) ?? 0)
      tx.put(bytes('count'), bytes(`${count + 1}`))
    })
  await Promise.all(Array.from({ length: 80 }, (_, at) => increment(drivers[at % BATCH_SIZE]!)))
  for (const driver of drivers) assert.equal(await load(driver, 'count', true), '80')
}

const skewed = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const [one, other] = await fleet(t, candidate)
  const leave = (driver: StorageDriver, me: string, colleague: string) =>
    driver.write(async (tx) => {
      if (text(await tx.get(bytes(colleague))) === 'on') tx.put(bytes(me), bytes('off'))
    })
  for (let round = 0; round < 20; round++) {
    await save(round % 2 ? one! : other!, { ann: 'on', bob: 'on' })
    await Promise.all([leave(one!, 'ann', 'bob'), leave(other!, 'bob', 'ann')])
    assert.deepEqual([await load(one!, 'ann'), await load(one!, 'bob')].sort(), ['off', 'on'])
  }
}

const phantoms = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const drivers = await fleet(t, candidate)
  const takeIfFirst = (driver: StorageDriver, room: number, guest: number) =>
    driver.write(async (tx) => {
      const taken = await collect(tx.range(below(`room${room}/`)))
      if (taken.length === 0) tx.put(bytes(`room${room}/${guest}`), bytes('taken'))
    })
  await Promise.all(
    Array.from({ length: 40 }, (_, at) => takeIfFirst(drivers[at % BATCH_SIZE]!, Math.floor(at / 4), at)),
  )
  assert.equal((await drivers[0]!.read((tx) => keysBelow(tx, 'room'))).length, 10)
}

const failing = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const [one, other] = await fleet(t, candidate)
  const claim = (driver: StorageDriver) =>
    driver.write(async (tx) => {
      if ((await tx.get(bytes('name'))) !== undefined) throw new Error('taken')
      tx.put(bytes('name'), bytes('mine'))
    })
  for (let round = 0; round < 10; round++) {
    await claim(one!)
    await assert.rejects(claim(other!), /taken/)
    await other!.write(async (tx) => tx.delete(bytes('name')))
    await claim(one!)
    await one!.write(async (tx) => tx.delete(bytes('name')))
  }
}

const noPart = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const drivers = await fleet(t, candidate)
  await save(drivers[0]!, { from: '100', to: '0' })
  const transfer = (driver: StorageDriver, amount: number) =>
    driver.write(async (tx) => {
      const [from, to] = (await tx.getMany([bytes('from'), bytes('to')])).map((value) => Number(text(value)))
      tx.put(bytes('from'), bytes(`${from! - amount}`))
      tx.put(bytes('to'), bytes(`${to! + amount}`))
    })
  const sum = (driver: StorageDriver, again: boolean) =>
    driver.read(
      async (tx) => {
        const from = Number(text(await tx.get(bytes('from'))))
        return from + Number(text(await tx.get(bytes('to'))))
      },
      { again },
    )
  const sums: number[] = []
  const reading = async (driver: StorageDriver) => {
    for (let at = 0; at < 20; at++) sums.push(await sum(driver, at % 2 === 0))
  }
  await Promise.all([
    ...drivers.map(reading),
    ...Array.from({ length: 40 }, (_, at) => transfer(drivers[at % BATCH_SIZE]!, at)),
  ])
  assert.deepEqual(new Set(sums), new Set([100]))
}
