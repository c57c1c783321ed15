import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { KeyRange, ReadTransaction, StorageDriver } from '../../lib/storage/index.ts'
import { bytes, type Candidate, keysBelow, opened, type Part, save, text } from './fixture.ts'

export const namedReads: Part = (candidate) =>
  describe('reads with a `cacheKey`', () => {
    for (const [what, body] of bodies)
      test(`see all writes that were acknowledged before they began: ${what}`, (t) =>
        seen(t, candidate, body))
    test('with different keys have different results', (t) => apart(t, candidate))
    test('run again after the callback has thrown', (t) => thrown(t, candidate))
    test('are not reused when a write changed what they were reading', (t) => overtaken(t, candidate))
    test('may return undefined', (t) => nothing(t, candidate))
    test('are never older than an acknowledged write or an earlier read', (t) => racing(t, candidate))
  })

const named = { canRunAgain: true, cacheKey: 'the read' }

type Body = (tx: ReadTransaction) => Promise<unknown>

const bodies: [what: string, body: Body][] = [
  ['one key', async (tx) => text(await tx.get(bytes('a')))],
  ['several keys', async (tx) => (await tx.getMany(['b', 'a', 'c'].map(bytes))).map(text)],
  ['a range', (tx) => keysBelow(tx, '')],
  ['the first entries of a range', (tx) => firstKeys(tx, { start: bytes('a'), end: bytes('zz') }, 2)],
  [
    'the last entries of a range',
    (tx) => firstKeys(tx, { start: bytes('a'), end: bytes('zz'), reverse: true }, 1),
  ],
  ['a range with a limit', (tx) => firstKeys(tx, { start: bytes('a'), end: bytes('zz'), limit: 2 }, 9)],
  ['an empty range', (tx) => firstKeys(tx, { start: bytes('ab'), end: bytes('b') }, 1)],
  ['dependent reads', async (tx) => [text(await tx.get(bytes('c'))), await keysBelow(tx, 'a')]],
]

/** Stops after a number of entries. */
const firstKeys = async (tx: ReadTransaction, range: KeyRange, count: number): Promise<string[]> => {
  const found: string[] = []
  for await (const [key, value] of tx.range(range))
    if (found.push(`${text(key)}=${text(value)}`) === count) break
  return found
}

const seen = async (t: TestContext, candidate: Candidate, body: Body): Promise<void> => {
  const driver = await opened(t, candidate)
  const steps: Record<string, string>[] = [
    { a: '1' },
    { a: '2' },
    { b: '1' },
    { aa: '1' },
    { z: '1' },
    { ac: '1' },
  ]
  for (const step of [{}, ...steps]) {
    await save(driver, step)
    for (let time = 0; time < 3; time++)
      assert.deepEqual(await driver.read(body, named), await driver.read(body))
  }
  await driver.write(async (tx) => tx.delete(bytes('a')))
  assert.deepEqual(await driver.read(body, named), await driver.read(body))
}

const apart = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { a: 'one', b: 'other' })
  for (let time = 0; time < 3; time++)
    for (const key of ['a', 'b', 'none'])
      assert.equal(
        await driver.read(async (tx) => text(await tx.get(bytes(key))), { canRunAgain: true, cacheKey: key }),
        { a: 'one', b: 'other' }[key],
      )
}

const thrown = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  for (let time = 0; time < 3; time++)
    await assert.rejects(
      driver.read(async (tx) => {
        await tx.get(bytes('a'))
        throw new Error(`time ${time}`)
      }, named),
      { message: `time ${time}` },
    )
}

/** The write happens before the first read of the key or after it. */
const overtaken = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  for (const [at, body] of bodies.map(([, body]) => body).entries())
    for (const isBefore of [true, false]) {
      const as = `${at} ${isBefore}`
      await save(driver, { a: `old ${as}` })
      let isFirst = true
      await driver.read(
        async (tx) => {
          if (!isBefore) await body(tx)
          if (isFirst) {
            isFirst = false
            await save(driver, { a: `new ${as}`, [`a ${as}`]: 'added' })
          }
          return body(tx)
        },
        { canRunAgain: true, cacheKey: as },
      )
      assert.deepEqual(await driver.read(body, { canRunAgain: true, cacheKey: as }), await driver.read(body))
    }
}

const nothing = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  for (let time = 0; time < 3; time++)
    assert.equal(await driver.read(async (tx) => void (await tx.get(bytes('a'))), named), undefined)
}

const WRITES = 150
const READERS = 6

/** Each write sets two keys to the same number, so a read must find equal numbers. */
const racing = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { 'x 1': '0', 'y 1': '0' })
  let [acknowledged, isOver] = [0, false]
  const write = async () => {
    for (let number = 1; number <= WRITES; number++) {
      await save(driver, { 'x 1': String(number), 'y 1': String(number) })
      acknowledged = number
      if (number % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  const writing = write().finally(() => {
    isOver = true
  })
  await Promise.all([writing, ...Array.from({ length: READERS }, (_, at) => read(driver, at))])

  async function read(from: StorageDriver, reader: number) {
    let last = 0
    while (!isOver) {
      const [least, before] = [acknowledged, last]
      const [x, y] = await from.read(pair(reader % 2 === 0), {
        canRunAgain: true,
        cacheKey: `pair ${reader % 2}`,
      })
      assert.equal(x, y)
      assert.ok(
        Number(x) >= least && Number(x) >= before,
        `${x} after ${least} was acknowledged, and ${before} read`,
      )
      last = Number(x)
      // A cached result does not yield to the event loop. Each reader yields for another number of turns.
      for (let turn = 0; turn <= reader; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

const pair = (isRange: boolean) => async (tx: ReadTransaction) => {
  const x = text(await tx.get(bytes('x 1')))
  if (!isRange) return [x, text(await tx.get(bytes('y 1')))]
  for await (const [, value] of tx.range({ start: bytes('y'), end: bytes('z') })) return [x, text(value)]
  return [x, undefined]
}
