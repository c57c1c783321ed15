import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { ReadTransaction, StorageDriver, WriteTransaction } from '../../lib/storage/index.ts'
import {
  below,
  bytes,
  type Candidate,
  collect,
  load,
  opened,
  type Part,
  save,
  signal,
  text,
} from './fixture.ts'

/** One key through get, getMany, range and reversed range. */
const readAllWays = async (tx: ReadTransaction, key: string): Promise<(string | undefined)[]> => {
  const one = await tx.get(bytes(key))
  const [first] = await tx.getMany([bytes(key)])
  const ranges = await Promise.all(
    [false, true].map(async (reverse) => (await collect(tx.range({ ...below(key), reverse })))[0]?.[1]),
  )
  return [one, first, ...ranges].map(text)
}

const all = (value: string | undefined): (string | undefined)[] => [value, value, value, value]

export const isolation: Part = (candidate) =>
  describe('transactions are isolated', () => {
    test('a read sees one snapshot until it ends, with a name and without', (t) => oneSnapshot(t, candidate))
    test('a range that has begun does not see later writes', (t) => begunRange(t, candidate))
    test('a read may have a long chain of dependent reads', (t) => chain(t, candidate))
    test('a read may read thousands of keys at once', (t) => much(t, candidate))
    test('a read sees every write that resolved before it began', async (t) => {
      const driver = await opened(t, candidate)
      for (let at = 0; at < 30; at++) {
        await save(driver, { key: `${at}` })
        assert.deepEqual(await driver.read((tx) => readAllWays(tx, 'key'), 'name'), all(`${at}`))
      }
    })
    test('a read does not see a write that has not ended', (t) => unfinished(t, candidate))
    test('a write reads its own changes', (t) => ownChanges(t, candidate))
    test('a callback that throws writes nothing, and its error is passed on', (t) => failing(t, candidate))
    test('a callback that throws while it still reads ends its transaction', (t) =>
      failingWithReads(t, candidate))
    test('the result of the callback is passed on', async (t) => {
      const driver = await opened(t, candidate)
      const given = { any: 'thing' }
      assert.equal(await driver.read(async () => given), given)
      assert.equal(await driver.write(async () => given), given)
    })
    test('a transaction rejects every use after its callback has settled', (t) => usedLater(t, candidate))
  })

const oneSnapshot = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  for (const name of [undefined, 'name', 'name']) {
    await save(driver, { changed: 'old', deleted: 'old' })
    await driver.write(async (tx) => tx.delete(bytes('added')))
    await driver.read(async (tx) => {
      assert.deepEqual(await readAllWays(tx, 'changed'), all('old'))
      await driver.write(async (write) => {
        write.put(bytes('changed'), bytes('new'))
        write.put(bytes('added'), bytes('new'))
        write.delete(bytes('deleted'))
      })
      assert.deepEqual(await readAllWays(tx, 'changed'), all('old'))
      assert.deepEqual(await readAllWays(tx, 'deleted'), all('old'))
      assert.deepEqual(await readAllWays(tx, 'added'), all(undefined))
    }, name)
    assert.equal(await load(driver, 'added'), 'new')
  }
}

const begunRange = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const names = Array.from({ length: 400 }, (_, at) => `k${String(at).padStart(3, '0')}`)
  await save(driver, Object.fromEntries(names.map((name) => [name, 'old'])))
  const seen = await driver.read(async (tx) => {
    const found: (string | undefined)[] = []
    for await (const [key, value] of tx.range(below('k'))) {
      if (found.length === 0) await save(driver, { k200: 'new', k2005: 'new', k399: 'new' })
      assert.equal(text(value), 'old')
      found.push(text(key))
    }
    return found
  })
  assert.deepEqual(seen, names)
}

const chain = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`${at}`, `${at + 1}`])))
  const steps = await driver.read(async (tx) => {
    for (let [key, steps] = ['0', 0]; ; steps++) {
      const next = text(await tx.get(bytes(key)))
      if (next === undefined) return steps
      key = next
    }
  })
  assert.equal(steps, 40)
}

const much = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const names = Array.from({ length: 3000 }, (_, at) => `k${at}`)
  await save(driver, Object.fromEntries(names.map((name) => [name, name])))
  const found = await driver.read((tx) => tx.getMany(names.map(bytes)))
  assert.deepEqual(found.map(text), names)
  for (const reverse of [false, true]) {
    const entries = await driver.read((tx) => collect(tx.range({ ...below('k'), reverse })))
    assert.equal(entries.length, names.length)
  }
}

const unfinished = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { key: 'old' })
  const [put, release] = [signal(), signal()]
  const writing = driver.write(async (tx) => {
    tx.put(bytes('key'), bytes('new'))
    put.happen()
    await release.happened
  })
  await put.happened
  assert.deepEqual(await driver.read((tx) => readAllWays(tx, 'key')), all('old'))
  release.happen()
  await writing
  assert.deepEqual(await driver.read((tx) => readAllWays(tx, 'key')), all('new'))
}

const ownChanges = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { changed: 'old', deleted: 'old' })
  await driver.write(async (tx) => {
    tx.put(bytes('changed'), bytes('new'))
    assert.deepEqual(await readAllWays(tx, 'changed'), all('new'))
    tx.delete(bytes('deleted'))
    assert.deepEqual(await readAllWays(tx, 'deleted'), all(undefined))
    tx.put(bytes('deleted'), bytes('back'))
    assert.deepEqual(await readAllWays(tx, 'deleted'), all('back'))
  })
}

const refusal = new Error('no')
const putThenFail = async (tx: WriteTransaction): Promise<void> => {
  tx.put(bytes('key'), bytes('new'))
  tx.put(bytes('other'), bytes('new'))
  await tx.get(bytes('key'))
  throw refusal
}

const failing = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { key: 'old' })
  await assert.rejects(driver.write(putThenFail), (error) => error === refusal)
  const atOnce = () => {
    throw refusal
  }
  await assert.rejects(driver.write(atOnce), (error) => error === refusal)
  await assert.rejects(driver.read(atOnce), (error) => error === refusal)
  assert.equal(await load(driver, 'key'), 'old')
  assert.equal(await load(driver, 'other'), undefined)
}

const failingWithReads = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  const readAndFail = (tx: ReadTransaction) => Promise.all([tx.get(bytes('key')), Promise.reject(refusal)])
  for (let times = 0; times < 20; times++) {
    await assert.rejects(driver.read(readAndFail), (error) => error === refusal)
    await assert.rejects(driver.write(readAndFail), (error) => error === refusal)
  }
  await save(driver, { key: 'value' })
  assert.equal(await load(driver, 'key'), 'value')
}

const kept = async (
  driver: StorageDriver,
  kind: 'read' | 'write',
  fails: boolean,
): Promise<ReadTransaction> => {
  let escaped: ReadTransaction | undefined
  const work = async (tx: ReadTransaction) => {
    escaped = tx
    if (fails) throw refusal
  }
  await driver[kind](work).catch(() => undefined)
  return escaped!
}

const usedLater = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const driver = await opened(t, candidate)
  await save(driver, { key: 'old' })
  for (const kind of ['read', 'write'] as const)
    for (const fails of [false, true]) {
      const tx = await kept(driver, kind, fails)
      await assert.rejects(tx.get(bytes('key')), /transaction/)
      await assert.rejects(tx.getMany([bytes('key')]), /transaction/)
      await assert.rejects(collect(tx.range(below('key'))), /transaction/)
      if (kind === 'write')
        assert.throws(() => (tx as WriteTransaction).put(bytes('key'), bytes('new')), /transaction/)
      if (kind === 'write') assert.throws(() => (tx as WriteTransaction).delete(bytes('key')), /transaction/)
    }
  assert.equal(await load(driver, 'key'), 'old')
}
