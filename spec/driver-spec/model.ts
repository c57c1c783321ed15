import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type {
  Bytes,
  Entry,
  KeyRange,
  ReadTransaction,
  StorageDriver,
  WriteTransaction,
} from '../../lib/storage/index.ts'
import { collect, hex, opened, type Part } from './fixture.ts'
import { checkProperty } from './property.ts'

/** A reference implementation of the contract, too simple to be wrong. */
class SortedArray {
  entries: Entry[] = []

  get(key: Bytes): Bytes | undefined {
    return this.entries.find(([other]) => hex(other) === hex(key))?.[1]
  }

  put(key: Bytes, value: Bytes): void {
    this.delete(key)
    this.entries.push([key, value])
    this.entries.sort(([left], [right]) => Buffer.compare(left, right))
  }

  delete(key: Bytes): void {
    this.entries = this.entries.filter(([other]) => hex(other) !== hex(key))
  }

  range({ start, end, reverse, limit }: KeyRange): Entry[] {
    const within = this.entries.filter(
      ([key]) => Buffer.compare(start, key) <= 0 && Buffer.compare(key, end) < 0,
    )
    return (reverse ? within.reverse() : within).slice(0, limit)
  }
}

type Step =
  | { does: 'get'; keys: Bytes[] }
  | { does: 'range'; range: KeyRange }
  | { does: 'put'; key: Bytes; value: Bytes }
  | { does: 'delete'; key: Bytes }

interface Transaction {
  kind: 'read' | 'write' | 'failing write' | 'reopening'
  steps: Step[]
}

const byte = fc.constantFrom(0, 1, 127, 128, 255)
const key = fc.array(byte, { minLength: 1, maxLength: 3 }).map((list) => Uint8Array.from(list))
const value = fc.uint8Array({ maxLength: 4 })
const range: fc.Arbitrary<KeyRange> = fc.record(
  { start: key, end: key, reverse: fc.boolean(), limit: fc.nat(6) },
  { requiredKeys: ['start', 'end'] },
)
const reading: fc.Arbitrary<Step>[] = [
  fc.record({ does: fc.constant('get'), keys: fc.array(key, { maxLength: 4 }) }),
  fc.record({ does: fc.constant('range'), range }),
]
const changing: fc.Arbitrary<Step>[] = [
  fc.record({ does: fc.constant('put'), key, value }),
  fc.record({ does: fc.constant('delete'), key }),
]
const steps = (possible: fc.Arbitrary<Step>[]) => fc.array(fc.oneof(...possible), { maxLength: 12 })
const transaction: fc.Arbitrary<Transaction> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('read'), steps: steps(reading) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('write', 'write', 'failing write'),
      steps: steps([...reading, ...changing, ...changing]),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopening'), steps: fc.constant<Step[]>([]) }) },
)

const shown = (entries: readonly Entry[]) => entries.map(([key, value]) => [hex(key), hex(value)])

const read = async (tx: ReadTransaction, step: Step, expected: SortedArray): Promise<void> => {
  if (step.does === 'get') {
    const found = (await tx.getMany(step.keys)).map(hex)
    assert.deepEqual(
      found,
      step.keys.map((key) => hex(expected.get(key))),
    )
    for (const key of step.keys) assert.equal(hex(await tx.get(key)), hex(expected.get(key)))
  }
  if (step.does === 'range')
    assert.deepEqual(shown(await collect(tx.range(step.range))), shown(expected.range(step.range)))
}

const change = (target: Pick<WriteTransaction, 'put' | 'delete'>, step: Step): void => {
  if (step.does === 'put') target.put(step.key, step.value)
  if (step.does === 'delete') target.delete(step.key)
}

const failure = new Error('on purpose')

const run = async (
  driver: StorageDriver,
  stored: SortedArray,
  { kind, steps }: Transaction,
): Promise<void> => {
  if (kind === 'reopening') return driver.close().then(() => driver.open())
  if (kind === 'read')
    return driver.read(async (tx) => {
      for (const step of steps) await read(tx, step, stored)
    })
  let changed = stored.entries
  const writing = driver.write(async (tx) => {
    const own = new SortedArray()
    own.entries = [...stored.entries]
    for (const step of steps) {
      await read(tx, step, own)
      change(tx, step)
      change(own, step)
    }
    if (kind === 'failing write') throw failure
    changed = own.entries
  })
  if (kind === 'failing write') await assert.rejects(writing, (error) => error === failure)
  else await writing
  stored.entries = changed
}

const clear = (driver: StorageDriver): Promise<void> =>
  driver.write(async (tx) => {
    for (const [key] of await collect(
      tx.range({ start: new Uint8Array(0), end: new Uint8Array(9).fill(255) }),
    ))
      tx.delete(key)
  })

export const model: Part = (candidate) =>
  describe('any sequence of transactions', () => {
    test('gives the same results as a sorted array', { timeout: 300_000 }, async (t) => {
      const driver = await opened(t, candidate)
      await checkProperty(fc.array(transaction, { minLength: 1, maxLength: 12 }), 150, async (history) => {
        await clear(driver)
        const stored = new SortedArray()
        for (const next of history) await run(driver, stored, next)
      })
    })
  })
