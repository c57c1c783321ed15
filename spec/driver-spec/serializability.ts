import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { below, bytes, collect, keysBelow, load, opened, type Part, save, text } from './fixture.ts'

/** What holds of writes that run at once, through one driver or through several over the same records. */
type Law = (drivers: readonly StorageDriver[]) => Promise<void>

const together = <T>(count: number, start: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => start(at)))

const turn = () => new Promise(setImmediate)

const oneOrder: Law = async (drivers) => {
  const append = (driver: StorageDriver, name: string) =>
    driver.write(async (tx) => {
      const before = text(await tx.get(bytes('list'))) ?? ''
      await turn()
      tx.put(bytes('list'), bytes(`${before}${name} `))
      return before
    })
  const seen = await together(40, (at) => append(drivers[at % drivers.length]!, `w${at}`))
  for (const driver of drivers) {
    const final = (await load(driver, 'list'))!
    assert.deepEqual(final.trim().split(' ').sort(), Array.from({ length: 40 }, (_, at) => `w${at}`).sort())
    seen.forEach((before, at) => {
      assert.ok(final.startsWith(`${before}w${at} `), 'each write saw the list as it was before it')
    })
  }
}

const writeSkew: Law = async (drivers) => {
  const [first, last] = [drivers[0]!, drivers.at(-1)!]
  const leave = (driver: StorageDriver, me: string, other: string) =>
    driver.write(async (tx) => {
      const onDuty = text(await tx.get(bytes(other)))
      await turn()
      if (onDuty === 'on') tx.put(bytes(me), bytes('off'))
    })
  for (let round = 0; round < 20; round++) {
    await save(round % 2 ? first : last, { ann: 'on', bob: 'on' })
    await Promise.all([leave(first, 'ann', 'bob'), leave(last, 'bob', 'ann')])
    const duty = [await load(first, 'ann'), await load(first, 'bob')]
    assert.deepEqual(duty.sort(), ['off', 'on'])
  }
}

const phantoms: Law = async (drivers) => {
  const takeIfFirst = (driver: StorageDriver, seat: number, guest: number) =>
    driver.write(async (tx) => {
      const taken = await collect(tx.range(below(`seat${seat}/`)))
      await turn()
      if (taken.length === 0) tx.put(bytes(`seat${seat}/${guest}`), bytes('taken'))
    })
  await together(40, (at) => takeIfFirst(drivers[at % drivers.length]!, Math.floor(at / 4), at))
  assert.equal((await drivers[0]!.read((tx) => keysBelow(tx, 'seat'))).length, 10)
}

/** Between two accounts, whose sum stays the same. */
const transfer = (driver: StorageDriver, amount: number): Promise<void> =>
  driver.write(async (tx) => {
    const [from, to] = (await tx.getMany([bytes('from'), bytes('to')])).map((value) => Number(text(value)))
    tx.put(bytes('from'), bytes(`${from! - amount}`))
    tx.put(bytes('to'), bytes(`${to! + amount}`))
  })

const partial: Law = async (drivers) => {
  await save(drivers[0]!, { from: '100', to: '0' })
  const sums: number[] = []
  const sum = async (driver: StorageDriver) => {
    for (let at = 0; at < 40; at++)
      await driver.read(async (tx) => {
        const from = Number(text(await tx.get(bytes('from'))))
        await turn()
        sums.push(from + Number(text(await tx.get(bytes('to')))))
      })
  }
  await Promise.all([...drivers.map(sum), together(40, (at) => transfer(drivers[at % drivers.length]!, at))])
  assert.deepEqual(new Set(sums), new Set([100]))
}

export const laws: Readonly<Record<string, Law>> = {
  'each write sees the state that the write before it left, so that no update is lost': oneOrder,
  'two writes that read what the other one changes do not both use the old value (write skew)': writeSkew,
  'two writes that add to a range do not both find it empty (phantoms)': phantoms,
  'a read does not see a partial write': partial,
}

export const serializability: Part = (candidate) =>
  describe('writes are serializable', () => {
    for (const [title, law] of Object.entries(laws))
      test(title, async (t) => law([await opened(t, candidate)]))
    test('a write of ten thousand entries is atomic', async (t) => {
      const driver = await opened(t, candidate)
      const names = Array.from({ length: 10_000 }, (_, at) => `k${at}`)
      await save(driver, Object.fromEntries(names.map((name) => [name, name])))
      assert.equal((await driver.read((tx) => keysBelow(tx, 'k'))).length, names.length)
    })
  })
