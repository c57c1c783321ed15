import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Bytes, ReadTransaction } from '../../lib/storage/index.ts'
import { bytes, type Candidate, collect, hex, load, opened, type Part, save, text } from './fixture.ts'

const everyByte = Uint8Array.from({ length: 256 }, (_, at) => at)

const samples: { called: string; sample: Bytes; isKey: boolean }[] = [
  { called: 'empty', sample: new Uint8Array(0), isKey: false },
  { called: 'one zero byte', sample: Uint8Array.of(0), isKey: true },
  { called: 'all 256 bytes', sample: everyByte, isKey: true },
  { called: 'invalid UTF-8', sample: Uint8Array.of(0xff, 0xfe, 0xc0), isKey: true },
  { called: 'a view of a larger buffer', sample: everyByte.subarray(10, 20), isKey: true },
  { called: 'a Buffer', sample: Buffer.from('a buffer'), isKey: true },
  { called: 'a thousand bytes', sample: new Uint8Array(1000).fill(7), isKey: true },
  { called: 'a megabyte', sample: new Uint8Array(1 << 20).fill(9), isKey: false },
]

const roundTrip = async (t: TestContext, candidate: Candidate, key: Bytes, value: Bytes): Promise<void> => {
  const driver = await opened(t, candidate)
  await driver.write(async (tx) => {
    tx.put(key, value)
    assert.equal(hex(await tx.get(key)), hex(value))
  })
  assert.equal(hex(await driver.read((tx) => tx.get(key))), hex(value))
  const [found] = await driver.read((tx) => tx.getMany([key]))
  assert.equal(hex(found), hex(value))
  await driver.write(async (tx) => tx.delete(key))
  assert.equal(await driver.read((tx) => tx.get(key)), undefined)
}

export const values: Part = (candidate) =>
  describe('keys and values are arbitrary bytes', () => {
    for (const { called, sample, isKey } of samples) {
      test(`a value may be ${called}`, (t) => roundTrip(t, candidate, bytes('key'), sample))
      if (isKey) test(`a key may be ${called}`, (t) => roundTrip(t, candidate, sample, bytes('value')))
    }
    test('an empty key is refused', (t) => emptyKeys(t, candidate))
    test('getMany keeps the order, with absent and repeated keys', (t) => inOrder(t, candidate))
    test('the caller may reuse the arrays that it passed', (t) => reused(t, candidate))
    test('returned arrays do not change', (t) => returned(t, candidate))
  })

const emptyKeys = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const empty = new Uint8Array(0)
  const refused = { name: 'TypeError', message: /key/ }
  await assert.rejects(
    driver.read((tx) => tx.get(empty)),
    refused,
  )
  await assert.rejects(
    driver.read((tx) => tx.getMany([bytes('key'), empty])),
    refused,
  )
  await assert.rejects(
    driver.write(async (tx) => tx.put(empty, bytes('value'))),
    refused,
  )
  await assert.rejects(
    driver.write(async (tx) => tx.delete(empty)),
    refused,
  )
}

const inOrder = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const requested = Array.from({ length: 100 }, (_, at) => `k${(at * 37) % 60}`)
  const stored = Object.fromEntries(
    requested.filter((_, at) => at % 3 > 0).map((key) => [key, `value of ${key}`]),
  )
  await save(driver, stored)
  for (const keys of [requested, requested.slice(0, 5), []]) {
    const found = await driver.read((tx) => tx.getMany(keys.map(bytes)))
    assert.deepEqual(
      found.map(text),
      keys.map((key) => stored[key]),
    )
  }
}

const reused = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const [key, value, gone] = [bytes('key'), bytes('value'), bytes('gone')]
  await save(driver, { gone: 'old', kept: 'value' })
  for (let time = 0; time < 2; time++) {
    const [start, end] = [bytes('kept'), bytes('kepu')]
    const both = async (tx: ReadTransaction) => {
      await tx.get(bytes('gone'))
      const page = collect(tx.range({ start, end }))
      assert.equal(text(await tx.get(start)), 'value')
      assert.equal((await page).length, 1)
    }
    await driver.read(both, 'name')
    for (const used of [start, end]) used.fill(0)
  }
  await driver.write(async (tx) => {
    tx.put(key, value)
    tx.delete(gone)
    for (const used of [key, value, gone]) used.fill(0)
    assert.equal(text(await tx.get(bytes('key'))), 'value')
  })
  assert.deepEqual([await load(driver, 'key'), await load(driver, 'gone')], ['value', undefined])
}

const returned = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { key: 'value' })
  const held = await driver.read((tx) => tx.get(bytes('key')))
  for (let at = 0; at < 20; at++) await save(driver, { key: `other ${at}` })
  await driver.close()
  assert.equal(text(held), 'value')
}
