import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import type { AllotError, StorageDriver } from '../../lib/index.ts'
import { diskEntries, repositories } from '../../lib/records/schema/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { withFaults } from '../driver-spec/fault-injection.ts'
import { signal } from '../driver-spec/fixture.ts'
import { driverKilledAt } from '../support/killed-driver.ts'
import { pausedAfterReads, pausedBeforeWrite, secondServerOn } from '../support/paused-driver.ts'

const foldersIn = async (directory: string): Promise<string[]> => {
  const found = await readdir(directory, { recursive: true }).catch((): string[] => [])
  return found.filter((path) => /^..\/[^/]+$/.test(path)).map((path) => basename(path))
}

const recordsOf = (driver: StorageDriver): Promise<number[]> =>
  driver.read(async (tx) => {
    const ids: number[] = []
    for await (const { id } of repositories.all(tx)) ids.push(id)
    return ids
  })

const pendingFoldersOf = (driver: StorageDriver): Promise<unknown[]> =>
  driver.read(async (tx) => {
    const found: unknown[] = []
    for await (const stray of diskEntries.all(tx, ['folder'])) found.push(stray)
    return found
  })

/** Leaves the entry of a folder, as a server does that is killed while it creates it. */
const leaveFolder = (driver: StorageDriver, repository: number): Promise<void> =>
  driver.write(async (tx) => {
    await diskEntries.save(tx, { what: 'folder', repository, since: 0 })
  })

const createNamed = async ({ hosting }: OpenAllot, name: string, autoInit = true) => {
  const owner = (await hosting.accounts.byName('alice'))!
  return hosting.repositories.create(owner, owner, { name, autoInit })
}

const operations: { what: string; does: (allot: OpenAllot) => Promise<unknown> }[] = [
  { what: 'creating a repository', does: (allot) => createNamed(allot, 'new') },
  {
    what: 'deleting a repository',
    async does({ hosting }) {
      const { id } = (await hosting.accounts.byName('alice'))!
      const { items } = await hosting.repositories.list(null, id, 'name', { offset: 0, limit: 9 })
      await hosting.repositories.remove(items[0]!.id)
    },
  },
  {
    what: 'deleting an account with its repositories',
    async does({ hosting }) {
      await hosting.accounts.remove((await hosting.accounts.byName('alice'))!.id, { purge: true })
    },
  },
]

interface Place {
  driver: StorageDriver
  directory: string
}

const withDirectory = async (work: (place: Place) => Promise<void>) => {
  const directory = await mkdtemp(join(tmpdir(), 'allot-folders-'))
  try {
    await work({ driver: memory(), directory })
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const startOn = (driver: StorageDriver, { directory }: Place): Promise<OpenAllot> =>
  openAllot({ driver, repositories: { directory } })

const prepare = async (place: Place) => {
  const allot = await startOn(place.driver, place)
  await allot.hosting.accounts.createUser({ name: 'alice' })
  for (const name of ['one', 'two']) await createNamed(allot, name, false)
  await allot.close()
}

describe('After a start, directories match the repositories', () => {
  for (const { what, does } of operations)
    for (const isCommitted of [false, true])
      it(`when the process was killed ${isCommitted ? 'after' : 'before'} any commit of ${what}`, async () => {
        let [deaths, outcome] = [0, 'dead' as unknown]
        for (let write = 1; outcome === 'dead'; write++)
          await withDirectory(async (place) => {
            await prepare(place)
            const { dying, dead } = driverKilledAt(place.driver, write, isCommitted)
            const done = does(await startOn(dying, place)).then(() => 'done')
            outcome = await Promise.race([done, dead])
            if (outcome === 'dead') deaths++
            const allot = await startOn(place.driver, place)
            const records = (await recordsOf(place.driver)).map((id) => `${id}.git`)
            assert.deepEqual((await foldersIn(place.directory)).sort(), records.sort(), `write ${write}`)
            assert.deepEqual(await pendingFoldersOf(place.driver), [])
            if (await allot.hosting.accounts.byName('alice')) await createNamed(allot, 'another')
            await allot.close()
          })
        assert.ok(deaths >= 2, `killed at ${deaths} writes`)
      })

  for (const { what, failure } of [
    { what: 'fails', failure: new Error('sector 7 is broken') },
    { what: 'reports a failed store', failure: new StorageError('failed', 'the disk is gone') },
  ])
    it(`when the driver ${what}, whether or not the write was committed`, async () => {
      for (const at of ['commit', 'answer'] as const)
        for (const write of [1, 2])
          await withDirectory(async (place) => {
            await prepare(place)
            let writes = 0
            const failing = withFaults(place.driver, async (call) => {
              if (call === at && ++writes === write) throw failure
            })
            const allot = await startOn(failing, place)
            await createNamed(allot, 'new').then(
              () => assert.fail('expected an error'),
              (error) => assert.equal(error, failure),
            )
            await allot.close()
            const again = await startOn(place.driver, place)
            const records = (await recordsOf(place.driver)).map((id) => `${id}.git`)
            assert.deepEqual((await foldersIn(place.directory)).sort(), records.sort(), `${at} ${write}`)
            assert.equal(records.length, at === 'answer' && write === 2 ? 3 : 2)
            await again.close()
          })
    })

  it('when git was killed while it created a repository', () =>
    withDirectory(async (place) => {
      await prepare(place)
      const unfinished = join(place.directory, '00', '256.git.unfinished')
      await mkdir(unfinished, { recursive: true })
      await writeFile(join(unfinished, 'HEAD'), 'ref: ')
      await place.driver.open()
      await leaveFolder(place.driver, 256)
      await (await startOn(place.driver, place)).close()
      assert.equal((await foldersIn(place.directory)).length, 2)
    }))

  it('also when a start without repositories came between the crash and the start', () =>
    withDirectory(async (place) => {
      await prepare(place)
      const unfinished = join(place.directory, '00', '256.git')
      await mkdir(unfinished, { recursive: true })
      await place.driver.open()
      await leaveFolder(place.driver, 256)
      await (await openAllot({ driver: place.driver, repositories: false })).close()
      await (await startOn(place.driver, place)).close()
      assert.equal((await foldersIn(place.directory)).length, 2)
    }))

  it('and a repository that git could not create leaves nothing behind', () =>
    withDirectory(async (place) => {
      await prepare(place)
      const allot = await openAllot({
        driver: place.driver,
        repositories: { directory: place.directory, git: 'false' },
      })
      await assert.rejects(createNamed(allot, 'new'), /git init failed/)
      assert.equal((await foldersIn(place.directory)).length, 2)
      assert.deepEqual(await pendingFoldersOf(place.driver), [])
      await allot.close()
    }))
})

/**
 * Creates a repository in a shared store, and calls `pause` between the creation of its folder and the write
 * of its record.
 */
const createPaused = async (place: Place, pause: () => Promise<unknown>) => {
  const isPending = async () => (await pendingFoldersOf(place.driver)).length > 0
  const makeOld = () =>
    place.driver.write(async (tx) => {
      for await (const folder of diskEntries.all(tx)) await diskEntries.save(tx, { ...folder, since: 0 })
    })
  const driver = pausedBeforeWrite(place.driver, isPending, async () => {
    await makeOld()
    await pause()
  })
  const allot = await startOn(secondServerOn(driver), place)
  const created = await createNamed(allot, 'new').catch((error: AllotError) => ({
    code: error.code,
    name: undefined,
  }))
  await allot.close()
  return created
}

const assertConsistent = async ({ driver, directory }: Place, count: number) => {
  const records = await recordsOf(driver)
  assert.equal(records.length, count)
  assert.deepEqual((await foldersIn(directory)).sort(), records.map((id) => `${id}.git`).sort())
  assert.deepEqual(await pendingFoldersOf(driver), [])
}

describe('In a shared store, when another server gives up a folder that is still being created', () => {
  it('the creation is refused, and nothing of it is left', () =>
    withDirectory(async ({ directory }) => {
      const place = { driver: { ...memory(), shared: true }, directory }
      await prepare(place)
      await place.driver.open()
      const startAnother = async () => (await startOn(secondServerOn(place.driver), place)).close()
      const created = await createPaused(place, startAnother)
      assert.deepEqual(created, { code: 'unavailable', name: undefined })
      await assertConsistent(place, 2)
    }))

  it('no folder is deleted whose record is saved before the other server has marked the folder', () =>
    withDirectory(async ({ directory }) => {
      const place = { driver: { ...memory(), shared: true }, directory }
      await prepare(place)
      await place.driver.open()
      const [found, created] = [signal(), signal()]
      let isPausing = false
      const paused = pausedAfterReads(place.driver, async () => {
        if (!isPausing) return
        found.happen()
        await created.happened
      })
      const other = await startOn(secondServerOn(paused), place)
      let recovered: Promise<void> | undefined
      const repository = await createPaused(place, async () => {
        isPausing = true
        recovered = other.hosting.recover()
        await found.happened
      })
      created.happen()
      await recovered
      await other.close()
      assert.equal(repository.name, 'new')
      await assertConsistent(place, 3)
    }))
})
