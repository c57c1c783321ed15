import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { StorageDriver } from '../../lib/storage/index.ts'
import {
  below,
  bytes,
  type Candidate,
  collect,
  keysBelow,
  load,
  opened,
  type Part,
  save,
  text,
} from './fixture.ts'

const together = <T>(count: number, start: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => start(at)))

export const serializability: Part = (candidate) =>
  describe('writes are serializable', () => {
    test('no update is lost', (t) => lostUpdates(t, candidate))
    test('each write sees the state that the write before it left', (t) => oneOrder(t, candidate))
    test('two writes that read what the other one changes do not both use the old value (write skew)', (t) =>
      writeSkew(t, candidate))
    test('two writes that add to a range do not both find it empty (phantoms)', (t) => phantoms(t, candidate))
    test('a read does not see a partial write', (t) => partial(t, candidate))
    test('a write of ten thousand entries is atomic', async (t) => {
      const driver = await opened(t, candidate)
      const names = Array.from({ length: 10_000 }, (_, at) => `k${at}`)
      await save(driver, Object.fromEntries(names.map((name) => [name, name])))
      assert.equal((await driver.read((tx) => keysBelow(tx, 'k'))).length, names.length)
    })
  })

const lostUpdates = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const increment = () =>
    driver.write(async (tx) => {
      const count = Number(text(await tx.get(bytes('count'))) ?? 0)
      await new Promise(setImmediate)
      tx.put(bytes('count'), bytes(`${count + 1}`))
    })
  await together(40, increment)
  assert.equal(await load(driver, 'count'), '40')
}

const oneOrder = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const append = (name: string) =>
    driver.write(async (tx) => {
      const before = text(await tx.get(bytes('list'))) ?? ''
      tx.put(bytes('list'), bytes(`${before}${name} `))
      return before
    })
  const seen = await together(40, (at) => append(`w${at}`))
  const final = (await load(driver, 'list'))!
  assert.deepEqual(
    [...final.trim().split(' ')].sort(),
    Array.from({ length: 40 }, (_, at) => `w${at}`).sort(),
  )
  seen.forEach((before, at) => {
    assert.ok(final.startsWith(`${before}w${at} `), 'each write saw the list as it was before it')
  })
}

const writeSkew = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const leave = (me: string, other: string) =>
    driver.write(async (tx) => {
      const onDuty = text(await tx.get(bytes(other)))
      await new Promise(setImmediate)
      if (onDuty === 'on') tx.put(bytes(me), bytes('off'))
    })
  for (let round = 0; round < 10; round++) {
    await save(driver, { ann: 'on', bob: 'on' })
    await Promise.all([leave('ann', 'bob'), leave('bob', 'ann')])
    const duty = [await load(driver, 'ann'), await load(driver, 'bob')]
    assert.deepEqual(duty.sort(), ['off', 'on'])
  }
}

const phantoms = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const takeIfFirst = (seat: number, guest: number) =>
    driver.write(async (tx) => {
      const taken = await collect(tx.range(below(`seat${seat}/`)))
      await new Promise(setImmediate)
      if (taken.length === 0) tx.put(bytes(`seat${seat}/${guest}`), bytes('taken'))
    })
  await together(40, (at) => takeIfFirst(at % 10, at))
  const taken = await driver.read((tx) => keysBelow(tx, 'seat'))
  assert.equal(taken.length, 10)
}

/** Between two accounts, whose sum stays the same. */
const transfer = (driver: StorageDriver, amount: number): Promise<void> =>
  driver.write(async (tx) => {
    const [from, to] = (await tx.getMany([bytes('from'), bytes('to')])).map((value) => Number(text(value)))
    tx.put(bytes('from'), bytes(`${from! - amount}`))
    tx.put(bytes('to'), bytes(`${to! + amount}`))
  })

const partial = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { from: '100', to: '0' })
  const sum = () =>
    driver.read(async (tx) => {
      const from = Number(text(await tx.get(bytes('from'))))
      await new Promise(setImmediate)
      return from + Number(text(await tx.get(bytes('to'))))
    })
  const [sums] = await Promise.all([
    (async () => {
      const found: number[] = []
      for (let at = 0; at < 50; at++) found.push(await sum())
      return found
    })(),
    together(40, (at) => transfer(driver, at)),
  ])
  assert.deepEqual(new Set(sums), new Set([100]))
}
