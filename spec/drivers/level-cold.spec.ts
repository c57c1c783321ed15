import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ClassicLevel } from 'classic-level'
import { type Database, overAbstractLevel } from '../../drivers/level/abstract.ts'
import { toStorageError } from '../../drivers/level/errors.ts'
import { openFor } from '../driver-spec/fixture.ts'
import { temporaryDirectory } from '../support/folder.ts'

const keyOf = (at: number) => Buffer.from(`key ${at}`)

/**
 * A LevelDB with a hundred keys, whose reads take `delay` milliseconds longer and read `misses` blocks of the
 * disk. The process has read `blocks` in all, as the system says. The clock is `passed` milliseconds ahead.
 * Of the reads, `reads` were in the main thread; those in the thread pool last until `meanwhile` has ended.
 */
const slowed = async (t: TestContext) => {
  const disk = {
    delay: 0,
    misses: 0,
    blocks: 8,
    passed: 0,
    reads: 0,
    meanwhile: async () => undefined as unknown,
  }
  const usage = process.resourceUsage()
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + disk.passed)
  t.mock.method(process, 'resourceUsage', () => ({ ...usage, fsRead: disk.blocks }))
  const location = temporaryDirectory()
  const open = async () => {
    const database: Database & { open(): Promise<void> } = new ClassicLevel<Uint8Array, Uint8Array>(
      location,
      {
        keyEncoding: 'view',
        valueEncoding: 'view',
      },
    )
    await database.open()
    const [getSync, getMany] = [database.getSync.bind(database), database.getMany.bind(database)]
    const wait = () => {
      disk.passed += disk.delay
      disk.blocks += disk.misses
    }
    return Object.assign(database, {
      getSync(...args: Parameters<Database['getSync']>) {
        disk.reads++
        wait()
        return getSync(...args)
      },
      async getMany(...args: Parameters<Database['getMany']>) {
        wait()
        await disk.meanwhile()
        return getMany(...args)
      },
    })
  }
  const driver = await openFor(
    t,
    overAbstractLevel('level', open, (cause) => toStorageError(location, cause)),
  )
  await driver.write(async (tx) => {
    for (let at = 0; at < 100; at++) tx.put(keyOf(at), keyOf(at))
  })
  const read = async (...keys: number[]) => {
    disk.reads = 0
    const { one, many } = await driver.read(async (tx) => ({
      one: await tx.get(keyOf(keys[0]!)),
      many: await tx.getMany(keys.map(keyOf)),
    }))
    assert.deepEqual(one, keyOf(keys[0]!))
    assert.deepEqual(many, keys.map(keyOf))
    return disk.reads
  }
  return { disk, read }
}

test('after a read that waits for the disk, the main thread reads no key that has not been read since', async (t) => {
  const { disk, read } = await slowed(t)
  assert.equal(await read(1, 2, 3), 4)
  Object.assign(disk, { delay: 30, misses: 1 })
  assert.equal(await read(4), 1)
  Object.assign(disk, { delay: 0, misses: 0 })
  // The first read of a key is in the thread pool; `getMany` finds the one that `get` has read.
  assert.equal(await read(5), 1)
  assert.equal(await read(6, 7, 1), 0)
  assert.equal(await read(6, 7, 1), 4)
  assert.equal(await read(6, 8), 1)
})

test('a read that waits for the processor, and not for the disk, leaves the next ones in the main thread', async (t) => {
  const { disk, read } = await slowed(t)
  disk.delay = 30
  assert.equal(await read(4), 2)
})

test('what the process has read of other files before a slow read leaves the next ones in the main thread', async (t) => {
  const { disk, read } = await slowed(t)
  assert.equal(await read(1), 2)
  disk.blocks++
  disk.passed += 100
  disk.delay = 30
  assert.equal(await read(4), 2)
})

test('the main thread reads again two seconds after the last read that waited for the disk', async (t) => {
  const { disk, read } = await slowed(t)
  const waitFor = async (key: number) => {
    Object.assign(disk, { delay: 30, misses: 1 })
    const reads = await read(key)
    Object.assign(disk, { delay: 0, misses: 0 })
    disk.passed += 1500
    return reads
  }
  assert.equal(await waitFor(4), 1)
  // The thread pool waits, too, and then the time begins again.
  assert.equal(await waitFor(5), 1)
  assert.equal(await read(6), 1)
  disk.passed += 2000
  assert.equal(await read(7), 2)
})

test('a wait for the disk counts in the thread pool, although other reads begin meanwhile', async (t) => {
  const { disk, read } = await slowed(t)
  Object.assign(disk, { delay: 150, misses: 1 })
  assert.equal(await read(4), 1)
  disk.passed += 1500
  const meanwhile = async () => {
    Object.assign(disk, { delay: 0, misses: 0, meanwhile: async () => undefined })
    await read(4)
  }
  Object.assign(disk, { meanwhile })
  await read(5)
  disk.passed += 1500
  assert.equal(await read(6), 1)
})
