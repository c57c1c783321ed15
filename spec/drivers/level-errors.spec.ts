import assert from 'node:assert/strict'
import { once } from 'node:events'
import { appendFile, cp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { level } from '../../drivers/level/index.ts'
import { StorageError, type StorageReason } from '../../lib/storage/index.ts'
import { keysBelow, load, openFor, save } from '../driver-spec/fixture.ts'
import { killGroup, printed, spawnChild } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { commandFor } from './opening.ts'

const storageError =
  (reason: StorageReason, message: RegExp) =>
  (error: unknown): boolean =>
    error instanceof StorageError && error.reason === reason && message.test(error.message)

const inFolder = (): string => join(temporaryDirectory(), 'store')

test('a store that another process has open is refused, with what to do', async () => {
  const location = inFolder()
  const [command, ...args] = commandFor({ mode: 'hold', locations: [location] })
  const target = spawnChild(command, args)
  await printed(target, /open\n/)
  const driver = level(location)
  await assert.rejects(driver.open(), storageError('locked', /stop that process first$/))
  const exited = once(target, 'exit')
  killGroup(target)
  await exited
  await driver.open()
  await save(driver, { key: 'value' })
  await driver.close()
})

test('a store that this process has open is refused', async () => {
  const location = inFolder()
  const [first, second] = [level(location), level(location)]
  await first.open()
  await assert.rejects(second.open(), storageError('locked', /in use/))
  await first.close()
  await second.open()
  await second.close()
})

/** Writes, closes, reopens and writes, so that the first records are in a table file. */
const filled = async (location: string): Promise<void> => {
  const driver = level(location)
  for (const value of ['first', 'second']) {
    await driver.open()
    await save(
      driver,
      Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`k${at}`, value.repeat(20)])),
    )
    await driver.close()
  }
}

const damages: { what: string; harm: (location: string, files: string[]) => Promise<unknown> }[] = [
  {
    what: 'with an invalid CURRENT file',
    harm: (location) => writeFile(join(location, 'CURRENT'), 'rubbish'),
  },
  {
    what: 'without a CURRENT file',
    harm: (location) => rm(join(location, 'CURRENT')),
  },
  {
    what: 'with an empty manifest',
    harm: (location, files) => truncate(join(location, files.find((name) => name.startsWith('MANIFEST'))!)),
  },
  {
    what: 'without a manifest',
    harm: (location, files) => rm(join(location, files.find((name) => name.startsWith('MANIFEST'))!)),
  },
  {
    what: 'with a missing table',
    harm: (location, files) => rm(join(location, files.find((name) => name.endsWith('.ldb'))!)),
  },
]

for (const { what, harm } of damages)
  test(`a store ${what} is not opened, and the error names the repair command`, async () => {
    const location = inFolder()
    await filled(location)
    await harm(location, await readdir(location))
    const before = await readdir(location)
    await assert.rejects(
      level(location).open(),
      storageError('corrupt', /damaged: restore a backup, or run `allot verify --repair`/),
    )
    const tables = (names: string[]) => names.filter((name) => name.endsWith('.ldb'))
    assert.deepEqual(tables(await readdir(location)), tables(before), 'no table is deleted')
  })

const named = (files: string[], pattern: RegExp): string => files.find((name) => pattern.test(name))!

const halved = async (path: string) => truncate(path, Math.floor((await stat(path)).size / 2))

const harms: { what: string; harm: (file: string) => Promise<unknown> }[] = [
  { what: 'is truncated', harm: halved },
  { what: 'has a wrong end', harm: (file) => appendFile(file, 'rubbish') },
  { what: 'is missing', harm: rm },
]

for (const { what, harm } of harms)
  test(`after a clean shutdown, a store whose log ${what} has lost nothing`, async (t) => {
    const location = inFolder()
    await filled(location)
    await harm(join(location, named(await readdir(location), /\.log$/)))
    const driver = await openFor(t, level(location))
    assert.equal(await load(driver, 'k1'), 'second'.repeat(20))
  })

test('a table that was truncated is reported as damage when it is read', async (t) => {
  const location = inFolder()
  await filled(location)
  for (const name of await readdir(location)) if (name.endsWith('.ldb')) await halved(join(location, name))
  const driver = level(location)
  t.after(() => driver.close())
  const read = async () => {
    await driver.open()
    await load(driver, 'k1')
  }
  await assert.rejects(read(), storageError('corrupt', /^the server cannot use its store/))
})

test('a log that was truncated by a kill is opened with its complete writes', async () => {
  const location = inFolder()
  await filled(location)
  const driver = level(location)
  await driver.open()
  await save(driver, { a: 'whole' })
  await save(driver, { b: 'cut' })
  // A copy of the folder as a kill would leave it now.
  const left = `${location}-left`
  await cp(location, left, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
  await driver.close()
  const log = join(left, named(await readdir(left), /\.log$/))
  await truncate(log, (await stat(log)).size - 2)
  const again = level(left)
  await again.open()
  assert.deepEqual([await load(again, 'a'), await load(again, 'b')], ['whole', undefined])
  await again.close()
})

test('an overwritten table is reported as damage when it is read', async (t) => {
  const location = inFolder()
  await filled(location)
  const table = join(location, (await readdir(location)).find((name) => name.endsWith('.ldb'))!)
  await writeFile(table, Buffer.alloc((await stat(table)).size, 0x55))
  const driver = level(location)
  t.after(() => driver.close())
  const read = async () => {
    await driver.open()
    await driver.read((tx) => keysBelow(tx, 'k'))
    await load(driver, 'k1')
  }
  // API clients get the message, which must not name the folder.
  await assert.rejects(read(), (error: Error) => {
    assert.ok(storageError('corrupt', /^the server cannot use its store: its log has the reason$/)(error))
    return storageError(
      'corrupt',
      /damaged: restore a backup, or run `allot verify --repair`/,
    )(error.cause as Error)
  })
})

test('a location that is a file is refused, and the file is unchanged', async () => {
  const location = inFolder()
  await writeFile(location, 'mine')
  await assert.rejects(level(location).open(), storageError('failed', /cannot be used: it is a file$/))
  const below = level(join(location, 'store')).open()
  await assert.rejects(below, storageError('failed', /cannot be used: it lies below a file$/))
  assert.equal(await readFile(location, 'utf8'), 'mine')
})

test('a location that cannot be created is refused at once', async () => {
  const refused = storageError('failed', /^\/proc\/none\/store cannot be used: /)
  await assert.rejects(level('/proc/none/store').open(), refused)
})

for (const openFiles of [63, 0, -5, 64.5])
  test(`openFiles: ${openFiles} is refused`, () => {
    assert.throws(() => level('./store', { openFiles }), {
      code: 'invalid',
      message: /^openFiles: expected a whole number of at least 64, received /,
    })
  })

for (const blockCache of [-1, 0.5, 2 ** 32])
  test(`blockCache: ${blockCache} is refused`, () => {
    assert.throws(() => level('./store', { blockCache }), {
      code: 'invalid',
      message: /^blockCache: expected a whole number from 0 to 4294967295, received /,
    })
  })

test('a driver whose opening failed can be opened later', async () => {
  const location = inFolder()
  await writeFile(location, 'in the way')
  const driver = level(location)
  await assert.rejects(driver.open())
  await assert.rejects(load(driver, 'key'), storageError('closed', /not open/))
  await rm(location)
  await driver.open()
  await driver.close()
})
