import assert from 'node:assert/strict'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { ClassicLevel } from 'classic-level'
import { level } from '../../drivers/level/index.ts'
import { repairLevel } from '../../drivers/level/repair.ts'
import type { StorageError } from '../../lib/storage/index.ts'
import { keysBelow, load, openFor, save } from '../driver-spec/fixture.ts'
import { killGroup, outcome, printed, spawnChild } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { waitFor } from '../support/wait-for.ts'
import { commandFor, threadFor } from './opening.ts'

const MODULE = import.meta.resolve('../../drivers/level/index.ts')
const root = fileURLToPath(new URL('../../', import.meta.url))

const inFolder = (): string => join(realpathSync(temporaryDirectory()), 'store')

/**
 * A process that opens the folder and keeps it open. `prefix` is a command that starts it, such as
 * `unshare`.
 */
const holder = (
  t: TestContext,
  location: string,
  prefix: readonly string[] = [],
): ChildProcessWithoutNullStreams => {
  const [command, ...args] = [...prefix, ...commandFor({ mode: 'hold', locations: [location] })]
  const child = spawnChild(command!, args)
  t.after(() => killed(child))
  return child
}

const killed = async (child: ChildProcessWithoutNullStreams): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  killGroup(child)
  await exited
}

const firstLine = async (child: ChildProcessWithoutNullStreams): Promise<string> =>
  (await printed(child, /(open|refused: .*)\n/))[1]!

/** The result of another process that tries to open the folder. */
const openElsewhere = async (t: TestContext, location: string): Promise<string> => {
  const child = holder(t, location)
  const line = await firstLine(child)
  await killed(child)
  return line
}

/** Compares names, because a second copy of the package has its own class StorageError. */
const refusedHere = (error: unknown): boolean => {
  const { name, reason, message } = error as StorageError
  const expected = new RegExp(`already in use by this process \\(pid ${process.pid}\\).*close that one first`)
  return name === 'StorageError' && reason === 'locked' && expected.test(message)
}

/** A second copy of the package with its own LevelDB, as npm installs one when two versions are required. */
const copyOfPackage = (folder: string): string => {
  for (const path of [
    'drivers/level',
    'lib/storage',
    'lib/caches.ts',
    'lib/deferred.ts',
    'lib/disk.ts',
    'lib/errors.ts',
    'package.json',
  ])
    cpSync(join(root, path), join(folder, path), { recursive: true })
  for (const name of COPIED)
    cpSync(join(root, 'node_modules', name), join(folder, 'node_modules', name), { recursive: true })
  return pathToFileURL(join(folder, 'drivers/level/index.ts')).href
}

const COPIED = [
  ...['level', 'abstract-level', 'classic-level', 'node-gyp-build', 'module-error', 'lru-cache'],
  ...[
    'buffer',
    'base64-js',
    'ieee754',
    'is-buffer',
    'level-supports',
    'level-transcoder',
    'maybe-combine-errors',
  ],
]

const seconds: { what: string; second: (location: string) => Promise<{ open(): Promise<void> }> }[] = [
  { what: 'the same spelling of the path', second: async (location) => level(location) },
  { what: 'a relative path', second: async (location) => level(relative(process.cwd(), location)) },
  {
    what: 'a path with dots and slashes in it',
    second: async (location) => level(`${location}//./../store/`),
  },
  {
    what: 'a symbolic link to the folder',
    async second(location) {
      symlinkSync(location, `${location}-link`)
      return level(`${location}-link`)
    },
  },
  {
    what: 'a symbolic link to a folder above it',
    async second(location) {
      symlinkSync(join(location, '..'), `${location}-above`)
      return level(join(`${location}-above`, 'store'))
    },
  },
  {
    what: 'a second instance of the module, as after a hot reload',
    second: async (location) => (await import(`${MODULE}?again=${Date.now()}`)).level(location),
  },
  {
    what: 'a second copy of the package',
    second: async (location) => (await import(copyOfPackage(`${location}-package`))).level(location),
  },
]

describe('A LevelDB folder that this process has open', () => {
  for (const { what, second } of seconds)
    test(`is refused through ${what}, and stays refused to other processes`, async (t) => {
      const location = inFolder()
      const first = await openFor(t, level(location))
      await save(first, { before: 'written' })
      const other = await second(location)
      await assert.rejects(other.open(), refusedHere)
      assert.match(
        await openElsewhere(t, location),
        new RegExp(`^refused: .*in use by another process \\(pid ${process.pid}\\): stop that process first`),
      )
      await save(first, { after: 'written' })
      await first.close()
      await other.open()
      await (other as ReturnType<typeof level>).close()
      await first.open()
      assert.deepEqual([await load(first, 'before'), await load(first, 'after')], ['written', 'written'])
    })

  test('is refused to a worker thread, and the error names the process', async (t) => {
    const location = inFolder()
    await openFor(t, level(location))
    const line = await fromWorker(t, location)
    assert.match(line, new RegExp(`already in use by this process \\(pid ${process.pid}\\)`))
    assert.match(await openElsewhere(t, location), /^refused: .*in use by another process/)
  })

  test('is refused while a worker thread has it open, and opens once that thread has ended', async (t) => {
    const location = inFolder()
    const worker = holderIn(location)
    t.after(() => worker.terminate())
    assert.equal(await message(worker), 'open')
    await assert.rejects(level(location).open(), refusedHere)
    await worker.terminate()
    const driver = level(location)
    await driver.open()
    await driver.close()
  })

  test('is not repaired', async (t) => {
    const location = inFolder()
    await openFor(t, level(location))
    await assert.rejects(repairLevel(location), refusedHere)
    assert.match(await openElsewhere(t, location), /^refused: .*in use by another process/)
  })

  test('can be opened by a child process once it is closed here', async (t) => {
    const location = inFolder()
    const first = level(location)
    await first.open()
    // A child process inherits LevelDB's descriptors.
    const child = spawnChild('sleep', ['60'])
    t.after(() => killed(child))
    await first.close()
    assert.equal(await openElsewhere(t, location), 'open')
  })
})

const holderIn = (location: string): Worker => threadFor({ mode: 'hold', locations: [location] })

const message = async (worker: Worker): Promise<string> => ((await once(worker, 'message')) as [string])[0]

const fromWorker = async (t: TestContext, location: string): Promise<string> => {
  const worker = holderIn(location)
  t.after(() => worker.terminate())
  return message(worker)
}

/**
 * A command that starts a process with pid 1, where this system lets us: some forbid it even root.
 * Elsewhere the folder is opened by processes with different pids.
 */
const processNamespace = async (): Promise<readonly string[]> => {
  const words = ['--pid', '--fork', '--kill-child', '--mount-proc']
  for (const command of [
    ['unshare', ...words],
    ['unshare', '--user', '--map-root-user', ...words],
  ]) {
    const [program, ...args] = command
    if ((await outcome(program!, [...args, 'true']).catch(() => undefined))?.code === 0) return command
  }
  return []
}

describe('A LevelDB folder that another process has open', () => {
  test('is neither opened nor repaired, and the error names that process', async (t) => {
    const location = inFolder()
    const child = holder(t, location)
    assert.equal(await firstLine(child), 'open')
    const expected = {
      name: 'StorageError',
      reason: 'locked',
      message: new RegExp(`process \\(pid ${child.pid}\\)`),
    }
    await assert.rejects(level(location).open(), expected)
    await assert.rejects(repairLevel(location), expected)
    await killed(child)
    const driver = level(location)
    await driver.open()
    await driver.close()
  })

  test('stays closed to other processes while it is repaired', async (t) => {
    const location = inFolder()
    const driver = level(location)
    await driver.open()
    await save(driver, { key: 'value' })
    await driver.close()
    const { repair } = ClassicLevel
    let meanwhile = ''
    t.mock.method(ClassicLevel, 'repair', async (folder: string) => {
      meanwhile = await openElsewhere(t, location)
      return repair(folder)
    })
    await repairLevel(location)
    assert.match(meanwhile, new RegExp(`^refused: .*in use by another process \\(pid ${process.pid}\\)`))
    assert.equal(await openElsewhere(t, location), 'open')
    assert.deepEqual(
      readdirSync(location).filter((name) => name.startsWith('repair-')),
      [],
    )
    await driver.open()
    assert.equal(await load(driver, 'key'), 'value')
    await driver.close()
  })

  test('opens after kill -9 of a process with pid 1, in another process with pid 1', async (t) => {
    const alone = await processNamespace()
    const location = inFolder()
    for (const turn of ['first', 'second', 'third']) {
      const child = holder(t, location, alone)
      assert.equal(await firstLine(child), 'open', turn)
      const { pid } = JSON.parse(readFileSync(join(location, 'OWNER.json'), 'utf8'))
      assert.equal(pid, alone.length > 0 ? 1 : child.pid)
      await killed(child)
    }
  })

  test('opens with any content of OWNER.json that a killed process left, including our own pid', async () => {
    const location = inFolder()
    const driver = level(location)
    await driver.open()
    await driver.close()
    for (const left of [
      '',
      '{',
      JSON.stringify({ pid: process.pid, thread: 0, host: 'h' }),
      'x'.repeat(9999),
    ]) {
      await writeFile(join(location, 'OWNER.json'), left)
      await driver.open()
      await driver.close()
    }
  })
})

test('No acknowledged write is lost when threads and processes compete for a folder', async () => {
  const location = inFolder()
  const spellings = [location, `${location}/../store`, relative(root, location), `${location}/.`]
  const acknowledged: string[] = []
  const writers = () => new Set(acknowledged.map((line) => line.split('/')[0]))
  const running = ['a', 'b', 'c'].map((name) => {
    const [command, ...args] = commandFor({ mode: 'race', locations: spellings, name })
    const child = spawnChild(command, args)
    createInterface({ input: child.stdout }).on('line', (line) => acknowledged.push(line))
    return child
  })
  const closed = running.map((child) => once(child, 'close'))
  await waitFor(() => acknowledged.length > 20 && writers().size > 3)
  // Whichever of them writes now is killed while it writes.
  for (const child of running) killGroup(child)
  await Promise.all(closed)
  const driver = level(location)
  await driver.open()
  const kept = new Set(await driver.read((tx) => keysBelow(tx, '')))
  await driver.close()
  assert.deepEqual(
    acknowledged.filter((key) => !kept.has(key)),
    [],
  )
})
