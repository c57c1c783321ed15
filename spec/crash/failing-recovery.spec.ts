import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { GitStorage } from '../../lib/git/index.ts'
import type { AllotOptions } from '../../lib/index.ts'
import { type BegunPush, diskEntries } from '../../lib/records/schema/index.ts'
import { takeNumber } from '../../lib/records/store.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { withFaults } from '../driver-spec/fault-injection.ts'
import { git, urlFor } from '../git/client.ts'
import { bytesIn, type ServedGit, startGit } from '../git/served.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { hookTo, startReceiver } from '../support/receiver.ts'
import type { Person } from '../support/test-server.ts'
import { wrappedGit } from '../support/wrapped-git.ts'

/** A line of the log: its message, and the fields that name what it is about. */
type Line = readonly [message: string, repository: unknown]

const UNCOUNTED = 'a push that was interrupted could not be counted; the next push or start counts it'
const STORE_FAILED =
  'the store failed while what was deleted was to be removed from the disk; a later start tries again'
const NOT_REMOVED = 'what was deleted could not be removed from the disk; a later start tries again'

/** Two repositories with a push each that git has stored and that a killed server has not counted. */
const killed = async (t: TestContext) => {
  const driver = memory()
  const [directory, files] = [temporaryDirectory(), temporaryDirectory()]
  const receiver = await startReceiver()
  t.after(() => receiver.stop())
  const webhooks = { allowedHosts: ['127.0.0.1'] }
  const place = { repositories: { directory }, files: { directory: files }, webhooks }
  const first = await startGit({ driver, ...place })
  const alice = await first.person('alice')
  const folders: Record<string, string> = {}
  const entries: BegunPush[] = []
  for (const name of ['one', 'two']) {
    const path = await first.repository(alice, name, { auto_init: true })
    await first.made(alice, `/repos/${path}/hooks`, hookTo(`${receiver.url}/${name}`, 'push'))
    const folder = await first.folderOf(path)
    folders[name] = folder
    writeFileSync(join(folder, 'objects/more'), 'x'.repeat(5000))
    const before = await git(folder, 'rev-parse', 'main')
    const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.test']
    const after = await git(folder, ...identity, 'commit-tree', '-p', before, '-m', 'more', 'main^{tree}')
    await git(folder, 'update-ref', 'refs/heads/main', after)
    const push = { by: alice.id, updates: [{ ref: 'refs/heads/main', before, after }] }
    const repository = (await first.as(alice, 'GET', `/repos/${path}`)).body.id
    entries.push({
      what: 'push',
      id: await driver.write((tx) => takeNumber(tx, 'push')),
      repository,
      pid: null,
      since: Math.floor(Date.now() / 1000),
      push,
    })
  }
  await first.stop()
  await driver.open()
  for (const entry of entries) await driver.write((tx) => diskEntries.save(tx, entry))
  const lines: Line[] = []
  const log = {
    info: () => undefined,
    error: (
      { name, repository, path }: { name?: string; repository?: number; path?: string },
      text: string,
    ) => void lines.push([text, name ?? repository ?? path]),
  }
  const restart = async (options: Partial<AllotOptions> = {}): Promise<ServedGit> => {
    lines.length = 0
    const server = await startGit({ driver, ...place, log, ...options }, { root: `root${++starts}` })
    t.after(() => server.stop().catch(() => undefined))
    return server
  }
  return {
    driver,
    alice,
    folders,
    files,
    directory,
    entries: entries.map(({ id }) => id),
    receiver,
    lines,
    restart,
  }
}
let starts = 0

const entriesIn = (driver: ReturnType<typeof memory>): Promise<number[]> =>
  driver.read(async (tx) => {
    const found: number[] = []
    for await (const entry of diskEntries.all(tx)) if (entry.what === 'push') found.push(entry.id)
    return found
  })

const sizeOf = async (allot: ServedGit, name: string): Promise<number> =>
  (await allot.allot.hosting.repositories.find({ id: 0, admin: true }, 'alice', name))!.size

/** Asserts that a repository is read, and takes a push. */
const assertServed = async (allot: ServedGit, alice: Person, name: string): Promise<void> => {
  const checkout = temporaryDirectory()
  await git(checkout, 'clone', '--quiet', urlFor(allot, `alice/${name}`, alice), '.')
  const answer = await allot.as(alice, 'POST', `/repos/alice/${name}/contents/${starts}`, {
    content: Buffer.from('text').toString('base64'),
    message: 'add',
  })
  assert.equal(answer.status, 201, answer.text)
}

describe('A start that cannot settle what a crash left', () => {
  it('leaves the push of a repository whose folder is away uncounted, says so by its name, and serves the others', async (t) => {
    const { driver, alice, folders, entries, lines, restart } = await killed(t)
    const away = `${folders.one}-away`
    renameSync(folders.one!, away)
    const without = await restart()
    assert.deepEqual(lines, [[UNCOUNTED, 'alice/one']])
    assert.deepEqual(await entriesIn(driver), [entries[0]])
    const before = await sizeOf(without, 'one')
    assert.ok(before > 0 && before < bytesIn(away))
    assert.equal(await sizeOf(without, 'two'), bytesIn(folders.two!))
    await assertServed(without, alice, 'two')
    await without.stop()
    renameSync(away, folders.one!)
    const again = await restart()
    assert.deepEqual([lines, await entriesIn(driver)], [[], []])
    assert.equal(await sizeOf(again, 'one'), bytesIn(folders.one!))
    await assertServed(again, alice, 'one')
  })

  it('with a git that fails keeps the push and its event for the next start', async (t) => {
    const { driver, alice, folders, directory, entries, receiver, lines, restart } = await killed(t)
    const failing = wrappedGit(`case "$*" in *${folders.one}*for-each-ref*) exit 3;; esac`)
    const first = await restart({ repositories: { directory, git: failing } })
    assert.deepEqual(lines, [[UNCOUNTED, 'alice/one']])
    assert.deepEqual(await entriesIn(driver), [entries[0]])
    await assertServed(first, alice, 'two')
    const [event] = await receiver.at('/two', 1)
    assert.equal(event?.body.commits[0].message, 'more\n')
    assert.deepEqual(await receiver.at('/one', 0), [])
    await first.stop()
    const again = await restart()
    assert.deepEqual([lines, await entriesIn(driver)], [[], []])
    assert.equal(await sizeOf(again, 'one'), bytesIn(folders.one!))
    const kept = await receiver.at('/one', 1)
    assert.deepEqual(
      kept.map(({ body }) => body.commits[0].message),
      ['more\n'],
    )
  })

  it('with a disk that cannot be read keeps the push and its event for the next push', async (t) => {
    const { driver, alice, folders, entries, receiver, lines, restart } = await killed(t)
    const failing = t.mock.method(GitStorage.prototype, 'size', async () => {
      throw new Error('EIO: i/o error')
    })
    const server = await restart()
    assert.deepEqual([lines.length, await entriesIn(driver)], [2, entries])
    failing.mock.restore()
    await assertServed(server, alice, 'one')
    assert.equal(await sizeOf(server, 'one'), bytesIn(folders.one!))
    assert.deepEqual(await entriesIn(driver), entries.slice(1))
    const events = await receiver.at('/one', 2)
    assert.deepEqual(
      events.map(({ body }) => body.commits[0].message),
      ['more\n', 'add\n'],
    )
  })

  it('counts a push and sends its event although a lock of a killed git cannot be removed, which the next start tries again', async (t) => {
    const { driver, alice, folders, entries, receiver, lines, restart } = await killed(t)
    const lock = join(folders.one!, 'refs/heads/other.lock')
    writeFileSync(lock, '')
    const failing = t.mock.method(GitStorage.prototype, 'recoverRepository', async () => {
      throw new Error('EIO: i/o error')
    })
    const first = await restart()
    assert.deepEqual(new Set(lines.map(([message]) => message)), new Set([NOT_REMOVED]))
    for (const name of ['one', 'two']) assert.equal(await sizeOf(first, name), bytesIn(folders[name]!))
    assert.equal((await receiver.at('/one', 1)).length, 1)
    assert.deepEqual(await entriesIn(driver), entries)
    await assertServed(first, alice, 'one')
    await first.stop()
    failing.mock.restore()
    await restart()
    assert.deepEqual([existsSync(lock), lines, await entriesIn(driver)], [false, [], []])
    const events = await receiver.at('/one', 2)
    assert.deepEqual(
      events.map(({ body }) => body.commits[0].message),
      ['more\n', 'add\n'],
    )
  })

  it('with a store whose disk is full keeps every entry for the next start, and serves all repositories', async (t) => {
    const { driver, alice, folders, entries, lines, restart } = await killed(t)
    await driver.write(async (tx) => {
      await diskEntries.save(tx, { what: 'folder', repository: 9999, since: 0 })
    })
    const full = withFaults(driver, async (call) => {
      if (call === 'commit' && lines.length < 3) throw new StorageError('full', 'the disk is full')
    })
    const first = await restart({ driver: full })
    assert.deepEqual(lines, [
      [STORE_FAILED, 9999],
      [UNCOUNTED, 'alice/one'],
      [UNCOUNTED, 'alice/two'],
    ])
    assert.deepEqual(await entriesIn(driver), entries)
    await assertServed(first, alice, 'one')
    await first.stop()
    const again = await restart()
    assert.deepEqual([lines, await entriesIn(driver)], [[], []])
    for (const name of ['one', 'two']) assert.equal(await sizeOf(again, name), bytesIn(folders[name]!))
  })

  it('names what cannot be deleted from the disk, and deletes the rest', async (t) => {
    const { alice, files, lines, restart } = await killed(t)
    const folder = join(files, 'arriving/folder')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(files, 'arriving/file'), '')
    const server = await restart()
    assert.deepEqual(lines, [[NOT_REMOVED, folder]])
    assert.deepEqual(readdirSync(join(files, 'arriving')), ['folder'])
    await assertServed(server, alice, 'one')
  })
})
