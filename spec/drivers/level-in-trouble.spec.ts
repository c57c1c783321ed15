import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { level } from '../../drivers/level/index.ts'
import { StorageError, type StorageReason } from '../../lib/storage/index.ts'
import { keysBelow, load, save } from '../driver-spec/fixture.ts'
import { temporaryFolder } from './folder.ts'

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
  const holder = spawn(process.execPath, [...tsx, '--input-type=module', '-e', HOLD, module, location], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(holder.stdout, 'data')
  const driver = level(location)
  await assert.rejects(driver.open(), refusal('locked', /stop that process first, or .* over HTTP/))
  const gone = once(holder, 'exit')
  holder.kill('SIGKILL')
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

test('a store whose table is overwritten says so when that is read', async (t) => {
  const location = await inFolder(t)
  await filled(location)
  const table = (await readdir(location)).find((name) => name.endsWith('.ldb'))!
  await writeFile(join(location, table), Buffer.alloc(4096, 0x55))
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
    ...[...tsx, script('./filler.ts'), location],
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
