import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { ReadTransaction, StorageDriver } from '../../lib/storage/index.ts'
import { below, bytes, type Candidate, collect, keysBelow, opened, type Part, save, text } from './fixture.ts'

const again = { canRunAgain: true }

const load = (driver: StorageDriver, key: string): Promise<string | undefined> =>
  driver.read(async (tx) => text(await tx.get(bytes(key))), again)

export const readAgain: Part = (candidate) =>
  describe('reads with `canRunAgain`, whose callback may run several times', () => {
    test('see all writes that were acknowledged before they began', async (t) => {
      const driver = await opened(t, candidate)
      for (let at = 0; at < 30; at++) {
        await save(driver, { key: `${at}`, [`k${at}`]: `${at}` })
        assert.equal(await load(driver, 'key'), `${at}`)
        const keys = await driver.read((tx) => keysBelow(tx, 'k'), again)
        assert.equal(keys.length, at + 2)
      }
    })
    test('see one state in spite of concurrent writes', (t) => oneState(t, candidate))
    test('see one state in a range of several pages', (t) => oneStateInPages(t, candidate))
    test('do not see a partial write', (t) => partial(t, candidate))
    test('return or throw what the callback returns or throws', (t) => returned(t, candidate))
    test('may contain a long chain of dependent reads', (t) => chain(t, candidate))
    test('may read more than a driver caches', (t) => much(t, candidate))
  })

const states = async (tx: ReadTransaction): Promise<(string | undefined)[]> => [
  ...(await tx.getMany(['changed', 'added', 'deleted'].map(bytes))).map(text),
  ...(await keysBelow(tx, '')),
]

const oneState = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { changed: 'old', deleted: 'old' })
  const before = await driver.read(states)
  let isFirst = true
  const seen = await driver.read(async (tx) => {
    const early = text(await tx.get(bytes('changed')))
    if (isFirst) {
      isFirst = false
      await driver.write(async (write) => {
        for (const key of ['changed', 'added']) write.put(bytes(key), bytes('new'))
        write.delete(bytes('deleted'))
      })
    }
    return [early, ...(await states(tx))]
  }, again)
  const after = await driver.read(states)
  const possible = [before, after].map((state) => [state[0], ...state])
  assert.ok(
    possible.some((state) => isDeepStrictEqual(state, seen)),
    `${seen} is neither ${possible[0]} nor ${possible[1]}`,
  )
}

const oneStateInPages = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const names = Array.from({ length: 600 }, (_, at) => `k${String(at).padStart(3, '0')}`)
  await save(driver, Object.fromEntries(names.map((name) => [name, 'old'])))
  const whole = async (tx: ReadTransaction, midway?: () => Promise<void>) => {
    const found: string[] = []
    for await (const [key, value] of tx.range(below('k'))) {
      if (found.length === 1) await midway?.()
      found.push(`${text(key)} ${text(value)}`)
    }
    return found
  }
  const before = await driver.read(whole)
  let isFirst = true
  const midway = async () => {
    if (isFirst) await save(driver, { k000: 'new', k300: 'new', k3005: 'new', k599: 'new' })
    isFirst = false
  }
  const seen = await driver.read((tx) => whole(tx, midway), again)
  const after = await driver.read(whole)
  assert.ok(isDeepStrictEqual(seen, before) || isDeepStrictEqual(seen, after))
}

const partial = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { from: '100', to: '0' })
  const transfer = (amount: number) =>
    driver.write(async (tx) => {
      const [from, to] = (await tx.getMany([bytes('from'), bytes('to')])).map((value) => Number(text(value)))
      tx.put(bytes('from'), bytes(`${from! - amount}`))
      tx.put(bytes('to'), bytes(`${to! + amount}`))
    })
  const sum = () =>
    driver.read(async (tx) => {
      const from = Number(text(await tx.get(bytes('from'))))
      await new Promise(setImmediate)
      return from + Number(text(await tx.get(bytes('to'))))
    }, again)
  const sums: number[] = []
  const reading = async () => {
    for (let at = 0; at < 50; at++) sums.push(await sum())
  }
  await Promise.all([reading(), ...Array.from({ length: 40 }, (_, at) => transfer(at))])
  assert.deepEqual(new Set(sums), new Set([100]))
}

const returned = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const given = { any: 'thing' }
  assert.equal(await driver.read(async () => given, again), given)
  const refusal = new Error('no')
  const fails = async (tx: ReadTransaction) => {
    await tx.get(bytes('key'))
    throw refusal
  }
  await assert.rejects(driver.read(fails, again), (error) => error === refusal)
  let escaped: ReadTransaction | undefined
  await driver.read(async (tx) => {
    escaped = tx
  }, again)
  await assert.rejects(escaped!.get(bytes('key')), /transaction/)
}

const chain = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`${at}`, `${at + 1}`])))
  const follow = async (tx: ReadTransaction) => {
    let [key, steps] = ['0', 0]
    for (;;) {
      const next = text(await tx.get(bytes(key)))
      if (next === undefined) return steps
      key = next
      steps++
    }
  }
  for (let times = 0; times < 2; times++) assert.equal(await driver.read(follow, again), 40)
}

const much = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const names = Array.from({ length: 3000 }, (_, at) => `k${at}`)
  await save(driver, Object.fromEntries(names.map((name) => [name, name])))
  for (let times = 0; times < 2; times++) {
    const found = await driver.read((tx) => tx.getMany(names.map(bytes)), again)
    assert.deepEqual(found.map(text), names)
    const entries = await driver.read((tx) => collect(tx.range(below('k'))), again)
    assert.equal(entries.length, names.length)
  }
}
