import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Bytes, KeyRange, ReadTransaction, StorageDriver } from '../../lib/storage/index.ts'
import { bytes, type Candidate, collect, hex, opened, type Part, text } from './fixture.ts'

/**
 * In order of unsigned bytes. Each wrong order differs: UTF-16 strings (the two non-ASCII texts swap), signed
 * bytes (0x80 and above come first), and length before content (one-byte keys come first).
 */
const sorted: Bytes[] = [
  Uint8Array.of(0),
  Uint8Array.of(0, 0),
  Uint8Array.of(0, 255),
  Uint8Array.of(1),
  bytes('a'),
  bytes('ab'),
  bytes('b'),
  Uint8Array.of(127),
  Uint8Array.of(128),
  bytes('\uff5e'),
  bytes('\u{1f600}'),
  Uint8Array.of(255),
  Uint8Array.of(255, 255),
]
const bounds = [
  new Uint8Array(0),
  ...sorted.filter((_, at) => at % 2 === 0),
  bytes('aa'),
  Uint8Array.of(255, 255, 255),
]
const limits = [undefined, 0, 1, 3, 100]

const forward: KeyRange[] = bounds.flatMap((start) =>
  bounds.flatMap((end) => limits.map((limit) => ({ start, end, ...(limit === undefined ? {} : { limit }) }))),
)

const expected = ({ start, end, reverse, limit }: KeyRange): (string | undefined)[] => {
  const within = sorted.filter((key) => Buffer.compare(start, key) <= 0 && Buffer.compare(key, end) < 0)
  return (reverse ? within.reverse() : within).slice(0, limit).map(hex)
}

const holdsEveryRange = async (tx: ReadTransaction): Promise<void> => {
  for (const range of forward.flatMap((ahead) => [ahead, { ...ahead, reverse: true }])) {
    const entries = await collect(tx.range(range))
    const described = `${hex(range.start)} to ${hex(range.end)}, limit ${range.limit}, reverse ${range.reverse}`
    assert.deepEqual(
      entries.map(([key]) => hex(key)),
      expected(range),
      described,
    )
    for (const [key, value] of entries) assert.equal(hex(value), hex(key), 'the value belongs to the key')
  }
}

const store = (driver: StorageDriver, keys: readonly Bytes[]): Promise<void> =>
  driver.write(async (tx) => {
    for (const key of keys) tx.put(key, key)
  })

export const ranges: Part = (candidate) =>
  describe('ranges are in order of unsigned bytes', () => {
    test('of stored entries', async (t) => {
      const driver = await opened(t, candidate)
      await store(driver, [...sorted].reverse())
      await driver.read(holdsEveryRange)
      await driver.write(holdsEveryRange)
    })
    test('of more entries than a page holds', (t) => long(t, candidate))
    test('and can be left early any number of times', (t) => early(t, candidate))
  })

const numbered = (at: number): Bytes => bytes(String(at).padStart(5, '0'))
const whole = { start: numbered(0), end: bytes('9') }

const long = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const keys = Array.from({ length: 1000 }, (_, at) => numbered(at))
  await store(driver, keys)
  for (const reverse of [false, true])
    await driver.read(async (tx) => {
      const entries = await collect(tx.range({ ...whole, reverse }))
      const inOrder = reverse ? [...keys].reverse() : keys
      assert.deepEqual(
        entries.map(([key]) => text(key)),
        inOrder.map(text),
      )
      assert.equal((await collect(tx.range({ ...whole, reverse, limit: 700 }))).length, 700)
    })
}

const early = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await store(
    driver,
    Array.from({ length: 500 }, (_, at) => numbered(at)),
  )
  const first = async (tx: ReadTransaction) => {
    for await (const [key] of tx.range(whole)) return text(key)
    return undefined
  }
  for (let at = 0; at < 200; at++) assert.equal(await driver.read(first), '00000')
  assert.equal(await driver.write(first), '00000')
  await assert.rejects(
    driver.read(async (tx) => {
      for await (const _ of tx.range(whole)) throw new Error('enough')
    }),
    { message: 'enough' },
  )
  await driver.close()
}
