import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ClassicLevel } from 'classic-level'
import { level } from '../../drivers/level/index.ts'
import { StorageError, type StorageReason } from '../../lib/storage/index.ts'
import { keysBelow, load, save } from '../driver-spec/fixture.ts'
import { temporaryFolder } from './temporary-folder.ts'

const refusal =
  (reason: StorageReason, words: RegExp) =>
  (error: unknown): boolean =>
    error instanceof StorageError && error.reason === reason && words.test(error.message)

const inFolder = async (t: TestContext): Promise<string> => {
  const { folder, remove } = await temporaryFolder()
  t.after(remove)
  return join(folder, 'store')
}

const tsx = ['--import', import.meta.resolve('tsx')]
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const HOLD = `
  const { level } = await import(process.argv[1])
  await level(process.argv[2]).open()
  console.log('open')
  setInterval(() => {}, 1000)`

test('a store that another process holds says what to do', async (t) => {
  const location = await inFolder(t)
  const module = import.meta.resolve('../../drivers/level/index.ts')
  const target = spawn(process.execPath, [...tsx, '--input-type=module', '-e', HOLD, module, location], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(target.stdout, 'data')
  const driver = level(location)
  await assert.rejects(driver.open(), refusal('locked', /stop that process first, or .* over HTTP/))
  const gone = once(target, 'exit')
  target.kill('SIGKILL')
  await gone
  await driver.open()
  await save(driver, { key: 'value' })
  await driver.close()
})

test('a store that this process holds already says so as well', async (t) => {
  const location = await inFolder(t)
  const [first, second] = [level(location), level(location)]
  await first.open()
  await assert.rejects(second.open(), refusal('locked', /in use/))
  await first.close()
  await second.open()
  await second.close()
})

/** Closed and opened once, so that the first part of its records is in a table. */
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
    what: 'whose CURRENT file is rubbish',
    harm: (location) => writeFile(join(location, 'CURRENT'), 'rubbish'),
  },
  {
    what: 'that lacks its CURRENT file',
    harm: (location) => rm(join(location, 'CURRENT')),
  },
  {
    what: 'whose manifest is empty',
    harm: (location, files) => truncate(join(location, files.find((name) => name.startsWith('MANIFEST'))!)),
  },
  {
    what: 'that lacks its manifest',
    harm: (location, files) => rm(join(location, files.find((name) => name.startsWith('MANIFEST'))!)),
  },
  {
    what: 'that lacks a table',
    harm: (location, files) => rm(join(location, files.find((name) => name.endsWith('.ldb'))!)),
  },
]

for (const { what, harm } of damages)
  test(`a store ${what} is not opened, and says what to run`, async (t) => {
    const location = await inFolder(t)
    await filled(location)
    await harm(location, await readdir(location))
    const before = await readdir(location)
    await assert.rejects(level(location).open(), refusal('corrupt', /damaged: `allot verify --repair`/))
    const tables = (names: string[]) => names.filter((name) => name.endsWith('.ldb'))
    assert.deepEqual(tables(await readdir(location)), tables(before), 'what can be saved is still there')
  })

const named = (files: string[], pattern: RegExp): string => files.find((name) => pattern.test(name))!

const halved = async (path: string) => truncate(path, Math.floor((await stat(path)).size / 2))

/** The last byte is another one. */
const spoilt = async (path: string) => {
  const bytes = await readFile(path)
  bytes[bytes.length - 1]! ^= 1
  await writeFile(path, bytes)
}

/** LevelDB opens all of these, without the records that are lost or with an error later on. */
const silentDamages: { what: string; says: RegExp; harm: (file: string) => Promise<unknown>; of: RegExp }[] =
  [
    { what: 'log was cut', says: /\.log has gone from \d+ bytes to \d+/, harm: halved, of: /\.log$/ },
    {
      what: 'log lost one byte',
      says: /\.log has gone/,
      harm: async (file) => truncate(file, (await stat(file)).size - 1),
      of: /\.log$/,
    },
    {
      what: 'log was emptied',
      says: /\.log has gone from \d+ bytes to 0/,
      harm: (file) => truncate(file),
      of: /\.log$/,
    },
    { what: 'log has another byte at its end', says: /\.log has other bytes/, harm: spoilt, of: /\.log$/ },
    { what: 'log is gone', says: /\.log is gone/, harm: rm, of: /\.log$/ },
    {
      what: 'manifest has another byte at its end',
      says: /MANIFEST-\d+ has other bytes/,
      harm: spoilt,
      of: /^MANIFEST/,
    },
    { what: 'table was cut', says: /\.ldb has gone/, harm: halved, of: /\.ldb$/ },
  ]

for (const { what, says, harm, of } of silentDamages)
  test(`a store that was closed in order and whose ${what} since is not opened, and says what and what to run`, async (t) => {
    const location = await inFolder(t)
    await filled(location)
    await harm(join(location, named(await readdir(location), of)))
    const opening = level(location)
    for (const _ of ['once', 'and again'])
      await assert.rejects(
        opening.open(),
        (error) =>
          refusal('corrupt', /damaged: `allot verify --repair`/)(error) && refusal('corrupt', says)(error),
      )
  })

test('a store that is damaged since it was closed opens again once LevelDB has repaired it', async (t) => {
  const location = await inFolder(t)
  await filled(location)
  await halved(join(location, named(await readdir(location), /\.log$/)))
  await ClassicLevel.repair(location)
  const driver = level(location)
  await driver.open()
  assert.equal(await load(driver, 'k1'), 'first'.repeat(20), 'what is left is what was written before')
  await driver.close()
})

test('a log that a kill has cut is opened with what is whole in it', async (t) => {
  const location = await inFolder(t)
  await filled(location)
  const driver = level(location)
  await driver.open()
  await save(driver, { a: 'whole' })
  await save(driver, { b: 'cut' })
  // The folder as a kill at this moment leaves it.
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

test('a note of a clean stop that something else has opened the store since does not count', async (t) => {
  const location = await inFolder(t)
  await filled(location)
  const note = await readFile(join(location, 'CLOSED.json'))
  const other = level(location)
  await other.open()
  await save(other, { key: 'value' })
  await other.close()
  await writeFile(join(location, 'CLOSED.json'), note)
  const driver = level(location)
  await driver.open()
  assert.equal(await load(driver, 'key'), 'value')
  await driver.close()
})

test('a note of a clean stop that is rubbish is damage too', async (t) => {
  const location = await inFolder(t)
  await filled(location)
  await writeFile(join(location, 'CLOSED.json'), '{')
  await assert.rejects(level(location).open(), refusal('corrupt', /CLOSED\.json cannot be read/))
})

test('a store whose table is overwritten says so when that is read', async (t) => {
  const location = await inFolder(t)
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
  await assert.rejects(read(), refusal('corrupt', /damaged/))
})

test('a location that is a file cannot be opened, and the file stays as it is', async (t) => {
  const location = await inFolder(t)
  await writeFile(location, 'mine')
  await assert.rejects(level(location).open(), refusal('failed', /cannot be used: .*EEXIST/))
})

test('a store that could not be opened can be opened later', async (t) => {
  const location = await inFolder(t)
  await writeFile(location, 'in the way')
  const driver = level(location)
  await assert.rejects(driver.open())
  await assert.rejects(load(driver, 'key'), refusal('closed', /not open/))
  await rm(location)
  await driver.open()
  await driver.close()
})

test('when the disk takes no more, writes are refused as full, reads go on and nothing acknowledged is lost', async (t) => {
  const location = await inFolder(t)
  const fill = `ulimit -f 200; exec "$0" "$@"`
  const { stdout } = await promisify(execFile)('bash', [
    ...['-c', fill, process.execPath],
    ...[...tsx, script('./fill-disk.ts'), location],
  ])
  const { acknowledged, reasons, readable } = JSON.parse(stdout)
  assert.ok(acknowledged > 10)
  assert.deepEqual(reasons, ['full', 'full', 'full'])
  assert.equal(readable, 1000)
  const driver = level(location)
  await driver.open()
  assert.ok((await driver.read((tx) => keysBelow(tx, 'k'))).length >= acknowledged)
  await driver.close()
})
