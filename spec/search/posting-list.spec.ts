import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import { repairRecords } from '../../lib/integrity/repair.ts'
import { decodeKey, encodeKey } from '../../lib/records/key-codec.ts'
import { encodeValue, recordKey, sequenceKey } from '../../lib/records/layout.ts'
import { type Audience, type Repository, repositories, upgradeStore } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { DEFAULT_LIMITS } from '../../lib/search/compactor.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { exactly, openWith, type Raw } from '../records/raw.ts'
import { isLong, times } from '../support/long.ts'
import { agrees, compactAll, faultsOf, repository } from './posting-fixture.ts'

type Step =
  | { do: 'save'; id: number; name: string; audience: Audience }
  | { do: 'remove'; id: number }
  | { do: 'compact' }

const id = fc.integer({ min: 1, max: 12 })
const name = fc.string({ unit: fc.constantFrom('a', 'b', 'C'), minLength: 1, maxLength: 6 })
const audience = fc.constantFrom<Audience>(0, 0, 2)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('save' as const), id, name, audience }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), id }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('compact' as const) }) },
)

const opened = async (): Promise<Store> => {
  const driver = memory()
  await driver.open()
  await upgradeStore(driver)
  await driver.write(async (tx) => tx.put(sequenceKey('repository'), encodeValue(100)))
  return new Store(driver)
}

const take = async (store: Store, known: Map<number, Repository>, one: Step): Promise<void> => {
  if (one.do === 'compact') return compactAll(store)
  if (one.do === 'remove') {
    known.delete(one.id)
    await store.write((tx) => repositories.remove(tx, [one.id]))
    return
  }
  const saved = repository(one.id, one.name, one.audience)
  known.set(one.id, saved)
  await store.write((tx) => repositories.save(tx, saved))
}

const repaired = (driver: StorageDriver) =>
  repairRecords(driver, [], { onRepaired: () => undefined, onRound: () => () => undefined })

/** A store whose lists are in blocks, with entries that came and entries that went since. */
const made = async (): Promise<Store> => {
  const store = await opened()
  const save = (id: number, name: string) =>
    store.write((tx) => repositories.save(tx, repository(id, name, 0)))
  for (let id = 1; id <= 12; id++) await save(id, `name-${id % 5}`)
  await compactAll(store)
  await save(13, 'later')
  await save(3, 'renamed')
  await store.write((tx) => repositories.remove(tx, [7]))
  return store
}

const copyOf = async (raw: Raw): Promise<Store> => {
  const driver = memory()
  await openWith(driver, raw)
  return new Store(driver)
}

describe('A posting list in blocks', () => {
  it('has, counts and finds the same entries as a plain list, after any additions, removals and compactions', async () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 })
    const property = fc.asyncProperty(
      fc.array(step, { maxLength: 30 }),
      fc.array(word, { minLength: 1, maxLength: 4 }),
      async (steps, words) => {
        const store = await opened()
        const known = new Map<number, Repository>()
        for (const one of steps) await take(store, known, one)
        await agrees(store, [...known.values()], words)
        assert.deepEqual(await faultsOf(store.driver), [])
      },
    )
    await fc.assert(property, { numRuns: times(12, 60) })
  })

  it('is complete again after a repair, whichever of its blocks were lost or changed', async () => {
    const whole = await made()
    assert.deepEqual(await faultsOf(whole.driver), [])
    const raw = await exactly(whole.driver)
    const some = raw.filter(([key]) =>
      ['', 'ame', 'r'].includes(String(decodeKey(Buffer.from(key, 'hex'))[3])),
    )
    const packed = some.filter(([key]) => decodeKey(Buffer.from(key, 'hex'))[1] === 'p')
    const gone = some.filter(([, value]) => value === '')
    assert.ok(packed.length > 6 && gone.length > 2)
    const damages: [key: string, value: string | undefined][] = [
      ...[...packed, ...gone].map(([key]) => [key, undefined] as [string, undefined]),
      ...packed.flatMap(([key, value]) =>
        ['', '00000000', `${value}00`, value.slice(0, -2), value.replace(/../, 'ff')].map(
          (other) => [key, other] as [string, string],
        ),
      ),
      // One pack holds what is in the next: entries twice, and out of order.
      ...packed.slice(1).map(([, value], at) => [packed[at]![0], value] as [string, string]),
      // A compaction mark names no posting.
      [Buffer.from(encodeKey(['repository', 'g', 'trigrams', 'zz'])).toString('hex'), ''],
      // Something is said to be gone that never was there.
      [Buffer.from(encodeKey(['repository', 'o', 'trigrams', 'zz', 0, 'zz', 99])).toString('hex'), ''],
    ]
    // Not a multiple of the number of changes of a block: each of them is in the sample.
    const sample = damages.filter((_, at) => isLong || at % 11 === 0 || at >= damages.length - 2)
    for (const [key, value] of sample) {
      const store = await copyOf(raw)
      const at = Buffer.from(key, 'hex')
      await store.write(async (tx) =>
        value === undefined ? tx.delete(at) : tx.put(at, Buffer.from(value, 'hex')),
      )
      assert.notDeepEqual(await faultsOf(store.driver), [], `${key} as ${value} went unnoticed`)
      await repaired(store.driver)
      assert.deepEqual(await faultsOf(store.driver), [], `${key} as ${value} was not mended`)
      const known = [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13].map(nameNow)
      await agrees(store, known, ['name', 'later', 'ame-1'])
    }
  })

  it('is not compacted while too little of it changed', async () => {
    const store = await opened()
    await store.write((tx) => repositories.save(tx, repository(1, 'alone', 0)))
    await compactAll(store)
    const raw = await exactly(store.driver)
    const letters = raw.map(([key]) => decodeKey(Buffer.from(key, 'hex'))[1])
    assert.ok(!letters.includes('p') && !letters.includes('g'))
    assert.ok(raw.some(([key]) => key === Buffer.from(recordKey('repository', [1])).toString('hex')))
  })
})

describe('A compaction with the limits of a server', () => {
  it('compacts the long lists and no others, and search results stay the same', async () => {
    const store = await opened()
    const known = Array.from({ length: 400 }, (_, at) =>
      repository(at + 1, at < 300 ? `long-${at}` : `short-${at}`, 0),
    )
    await store.write(async (tx) => {
      for (const one of known) await repositories.save(tx, one)
      tx.put(sequenceKey('repository'), encodeValue(1000))
    })
    await compactAll(store, DEFAULT_LIMITS)
    const packed = new Set<string>()
    for (const [key] of await exactly(store.driver)) {
      const [collection, letter, , trigram] = decodeKey(Buffer.from(key, 'hex'))
      if (collection !== 'repository') continue
      assert.notEqual(letter, 'g')
      if (letter === 'p') packed.add(String(trigram))
    }
    assert.ok(packed.has('lon') && packed.has('') && !packed.has('sho'))
    assert.deepEqual(await faultsOf(store.driver), [])
    await agrees(store, known, ['long', 'short', 'ng-29'])
  })
})

const nameNow = (id: number): Repository =>
  repository(id, id === 13 ? 'later' : id === 3 ? 'renamed' : `name-${id % 5}`, 0)
