import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { ReadTransaction, StorageDriver } from '../../lib/storage/index.ts'
import { bytes, type Candidate, keysBelow, opened, type Part, save, text } from './fixture.ts'

export const namedReads: Part = (candidate) =>
  describe('reads with a name', () => {
    for (const [what, work] of works)
      test(`see what was written before they began: ${what}`, (t) => seen(t, candidate, work))
    test('that differ in their name are not mistaken for each other', (t) => apart(t, candidate))
    test('give what the work throws each time', (t) => thrown(t, candidate))
    test('that lasted while what they read was written are not given again', (t) => overtaken(t, candidate))
    test('may come to nothing', (t) => nothing(t, candidate))
    test('are never older than what was acknowledged, nor than each other, while others write', (t) =>
      racing(t, candidate))
  })

const named = { again: true, as: 'the read' }

type Work = (tx: ReadTransaction) => Promise<unknown>

const works: [what: string, work: Work][] = [
  ['one key', async (tx) => text(await tx.get(bytes('a')))],
  ['several keys', async (tx) => (await tx.getMany(['b', 'a', 'c'].map(bytes))).map(text)],
  ['a range', (tx) => keysBelow(tx, '')],
  ['one thing after another', async (tx) => [text(await tx.get(bytes('c'))), await keysBelow(tx, 'a')]],
]

const seen = async (t: TestContext, candidate: Candidate, work: Work): Promise<void> => {
  const driver = await opened(t, candidate)
  const steps: Record<string, string>[] = [{ a: '1' }, { a: '2' }, { b: '1' }, { aa: '1' }, { z: '1' }]
  for (const step of [{}, ...steps]) {
    await save(driver, step)
    for (let time = 0; time < 3; time++)
      assert.deepEqual(await driver.read(work, named), await driver.read(work))
  }
  await driver.write(async (tx) => tx.delete(bytes('a')))
  assert.deepEqual(await driver.read(work, named), await driver.read(work))
}

const apart = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { a: 'one', b: 'other' })
  for (let time = 0; time < 3; time++)
    for (const key of ['a', 'b', 'none'])
      assert.equal(
        await driver.read(async (tx) => text(await tx.get(bytes(key))), { again: true, as: key }),
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

/** Written before the key is read for the first time, after it, or in a range. */
const overtaken = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  for (const [at, work] of works.map(([, one]) => one).entries())
    for (const isBefore of [true, false]) {
      const as = `${at} ${isBefore}`
      await save(driver, { a: `old ${as}` })
      let isFirst = true
      await driver.read(
        async (tx) => {
          if (!isBefore) await work(tx)
          if (isFirst) {
            isFirst = false
            await save(driver, { a: `new ${as}`, [`a ${as}`]: 'added' })
          }
          return work(tx)
        },
        { again: true, as },
      )
      assert.deepEqual(await driver.read(work, { again: true, as }), await driver.read(work))
    }
}

const nothing = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  for (let time = 0; time < 3; time++)
    assert.equal(await driver.read(async (tx) => void (await tx.get(bytes('a'))), named), undefined)
}

const WRITES = 150
const READERS = 6

/** Two keys are written together, in turns with others: whoever reads must see both of one write. */
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
    isOver = true
  }
  await Promise.all([write(), ...Array.from({ length: READERS }, (_, at) => read(driver, at))])

  async function read(from: StorageDriver, reader: number) {
    let last = 0
    while (!isOver) {
      const [least, before] = [acknowledged, last]
      const [x, y] = await from.read(pair(reader % 2 === 0), { again: true, as: `pair ${reader % 2}` })
      assert.equal(x, y)
      assert.ok(
        Number(x) >= least && Number(x) >= before,
        `${x} after ${least} was acknowledged, and ${before} read`,
      )
      last = Number(x)
      // What is remembered comes without any wait, and others must have their turn; at moments of its own for each reader.
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
