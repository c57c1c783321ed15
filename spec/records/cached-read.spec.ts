import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import { viewerText } from '../../lib/caches.ts'
import { Store } from '../../lib/records/store.ts'
import type { KeyRange, ReadTransaction } from '../../lib/storage/index.ts'
import { bytes, keysBelow, text } from '../driver-spec/fixture.ts'

type Body = (tx: ReadTransaction) => Promise<unknown>

const BODIES: Readonly<Record<string, Body>> = {
  'one key': async (tx) => text(await tx.get(bytes('a'))),
  'several keys': async (tx) => (await tx.getMany(['b', 'a', 'c'].map(bytes))).map(text),
  'a range': (tx) => keysBelow(tx, ''),
  'the first entries of a range': (tx) => firstKeys(tx, { start: bytes('a'), end: bytes('zz') }, 2),
  'the last entries of a range': (tx) =>
    firstKeys(tx, { start: bytes('a'), end: bytes('zz'), reverse: true }, 1),
  'a range with a limit': (tx) => firstKeys(tx, { start: bytes('a'), end: bytes('zz'), limit: 2 }, 9),
  'an empty range': (tx) => firstKeys(tx, { start: bytes('ab'), end: bytes('b') }, 1),
  'dependent reads': async (tx) => [text(await tx.get(bytes('c'))), await keysBelow(tx, 'a')],
}

/** Stops after a number of entries. */
const firstKeys = async (tx: ReadTransaction, range: KeyRange, count: number): Promise<string[]> => {
  const found: string[] = []
  for await (const [key, value] of tx.range(range))
    if (found.push(`${text(key)}=${text(value)}`) === count) break
  return found
}

const openStore = async (): Promise<Store> => {
  const driver = memory()
  await driver.open()
  return new Store(driver)
}

const save = (store: Store, values: Readonly<Record<string, string>>): Promise<void> =>
  store.write(async (tx) => {
    for (const [key, value] of Object.entries(values)) tx.put(bytes(key), bytes(value))
  })

describe('A cached read', () => {
  it('runs once until a key or a range that it has read changes', async () => {
    const store = await openStore()
    let runs = 0
    const read = (key: string) =>
      store.cached(`read ${key}`, async (tx) => {
        runs++
        return [text(await tx.get(bytes(key))), await keysBelow(tx, `${key}/`)]
      })
    await save(store, { a: '1' })
    assert.deepEqual([await read('a'), await read('a'), runs], [['1', []], ['1', []], 1])
    await save(store, { b: '1', a0: '1' })
    assert.deepEqual([await read('a'), runs], [['1', []], 1])
    await save(store, { 'a/x': '1' })
    assert.deepEqual([await read('a'), runs], [['1', ['a/x']], 2])
    assert.deepEqual([await read('none'), await read('none'), runs], [[undefined, []], [undefined, []], 3])
    await save(store, { none: '1' })
    assert.deepEqual([await read('none'), runs], [['1', []], 4])
  })

  for (const [what, body] of Object.entries(BODIES))
    it(`sees each write that was acknowledged before it: ${what}`, async () => {
      const store = await openStore()
      const steps = [{}, { a: '1' }, { a: '2' }, { b: '1' }, { aa: '1' }, { z: '1' }, { ac: '1' }]
      for (const step of steps) {
        await save(store, step as Record<string, string>)
        for (let times = 0; times < 3; times++)
          assert.deepEqual(await store.cached('it', body), await store.read(body))
      }
      await store.write(async (tx) => tx.delete(bytes('a')))
      assert.deepEqual(await store.cached('it', body), await store.read(body))
    })

  it('keeps nothing that a write changed while it read, before or after its snapshot', async () => {
    for (const [at, body] of Object.values(BODIES).entries())
      for (const isBefore of [true, false]) {
        const store = await openStore()
        const key = `${at} ${isBefore}`
        await save(store, { a: 'old' })
        let isFirst = true
        await store.cached(key, async (tx) => {
          if (!isBefore) await body(tx)
          if (isFirst) await save(store, { a: 'new', [`a ${key}`]: 'added' })
          isFirst = false
          return body(tx)
        })
        assert.deepEqual(await store.cached(key, body), await store.read(body))
      }
  })

  it('keeps neither an error nor undefined, and runs again when the store is closed', async () => {
    const store = await openStore()
    let runs = 0
    for (let times = 1; times <= 2; times++) {
      const failing = store.cached('error', async () => Promise.reject(new Error(`run ${++runs}`)))
      await assert.rejects(failing, { message: `run ${times}` })
      assert.equal(await store.cached('nothing', async () => void runs), undefined)
    }
    assert.equal(await store.cached('kept', async () => 1), 1)
    assert.equal(store.known('kept'), 1)
    await store.close()
    assert.equal(store.known('kept'), undefined)
    await assert.rejects(
      store.cached('kept', async () => 2),
      { reason: 'closed' },
    )
  })

  it('keeps nothing on a shared store, where other processes write, too', async () => {
    const driver = { ...memory(), shared: true }
    await driver.open()
    const store = new Store(driver)
    let runs = 0
    for (let times = 1; times <= 2; times++) assert.equal(await store.cached('it', async () => ++runs), times)
  })

  it('is never older than an acknowledged write or an earlier read', async () => {
    const store = await openStore()
    await save(store, { 'x 1': '0', 'y 1': '0' })
    let [acknowledged, isOver] = [0, false]
    const write = async () => {
      for (let number = 1; number <= 150; number++) {
        await save(store, { 'x 1': `${number}`, 'y 1': `${number}` })
        acknowledged = number
        if (number % 3 === 0) await setImmediate()
      }
      isOver = true
    }
    const readAll = async (reader: number) => {
      let last = 0
      while (!isOver) {
        const [least, before] = [acknowledged, last]
        const [x, y] = await store.cached(`pair ${reader % 2}`, pair(reader % 2 === 0))
        assert.equal(x, y)
        assert.ok(Number(x) >= least && Number(x) >= before, `${x} after ${least} and ${before}`)
        last = Number(x)
        // Each reader yields for another number of turns.
        for (let turn = 0; turn <= reader; turn++) await setImmediate()
      }
    }
    await Promise.all([write(), ...Array.from({ length: 6 }, (_, reader) => readAll(reader))])
  })
})

const pair = (isRange: boolean) => async (tx: ReadTransaction) => {
  const x = text(await tx.get(bytes('x 1')))
  if (!isRange) return [x, text(await tx.get(bytes('y 1')))]
  for await (const [, value] of tx.range({ start: bytes('y'), end: bytes('z') })) return [x, text(value)]
  return [x, undefined]
}

describe('The text of a viewer', () => {
  const name = fc.string({ unit: 'binary' })
  const credential = fc.record({ kind: fc.constantFrom('token', 'key'), id: fc.nat(2) })
  const viewer = fc.option(
    fc.record(
      {
        id: fc.nat(2),
        username: name,
        admin: fc.boolean(),
        scopes: fc.uniqueArray(name, { maxLength: 3 }),
        credential,
        administrator: fc.record({ id: fc.nat(2), username: name }),
      },
      { requiredKeys: ['id'] },
    ),
  )
  type Given = typeof viewer extends fc.Arbitrary<infer T> ? T : never
  const textOf = (given: Given) =>
    viewerText(given && { ...given, ...(given.scopes && { scopes: new Set(given.scopes) }) })

  it('is the same for equal viewers, and differs for others', () => {
    const canonical = (given: Given) =>
      JSON.stringify(given, (key, member) => (key === 'scopes' ? member.toSorted() : member))
    fc.assert(
      fc.property(viewer, viewer, (one, other) => {
        assert.equal(textOf(one), textOf(structuredClone(one)))
        assert.equal(textOf(one) === textOf(other), canonical(one) === canonical(other))
      }),
    )
  })
})
