import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { memory } from '../../drivers/memory/index.ts'
import { registerRemovalJobs } from '../../lib/content/removers.ts'
import { AllotError } from '../../lib/errors.ts'
import { type FilePlace, FileStorage } from '../../lib/files/index.ts'
import { JobRunner } from '../../lib/records/job-runner.ts'
import { Jobs } from '../../lib/records/jobs.ts'
import { diskEntries, files } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { DiskJournal, leftoverAge } from '../../lib/repositories/disk-journal.ts'
import { StoredFiles } from '../../lib/repositories/stored-files.ts'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { withFaults } from '../driver-spec/fault-injection.ts'
import { signal } from '../driver-spec/fixture.ts'
import { driverKilledAt } from '../support/killed-driver.ts'
import { pausedAfterReads, pausedBeforeWrite } from '../support/paused-driver.ts'
import { waitFor } from '../support/wait-for.ts'

const place: FilePlace = { area: 'attachments', ownerId: 1, name: 'abcdef' }
const content = (words = 'hello') => Readable.from([Buffer.from(words)])
const nothing = async () => undefined

interface Ground {
  driver: StorageDriver
  directory: string
}

const within = async (work: (ground: Ground) => Promise<void>) => {
  const directory = await mkdtemp(join(tmpdir(), 'allot-files-'))
  const driver = memory()
  await driver.open()
  try {
    await work({ driver, directory })
  } finally {
    await driver.close()
    await rm(directory, { recursive: true, force: true })
  }
}

const open = (
  driver: StorageDriver,
  { directory }: Ground,
  fileStorage = new FileStorage({ directory }),
): { stored: StoredFiles; disk: DiskJournal } => {
  const store = new Store(driver)
  const disk = new DiskJournal(store, (error) => {
    throw error
  })
  return { stored: new StoredFiles({ store, disk, fileStorage, beforeStore: undefined }), disk }
}

/** What a server does when it starts. */
const recover = async (driver: StorageDriver, ground: Ground): Promise<void> => {
  await new FileStorage(ground).recover(leftoverAge({ driver }))
  await open(driver, ground).disk.settleAbandoned()
}

/** Contents become durable, or fail to, when `sync` is called. */
const slowToSync = ({ directory }: Ground) => {
  const storage = new FileStorage({ directory })
  const stage = storage.stage.bind(storage)
  let sync: (failure?: Error) => void = () => undefined
  const called = new Promise<Error | undefined>((resolve) => {
    sync = resolve
  })
  storage.stage = async (...given) => {
    const staged = await stage(...given)
    const synced = Promise.all([called, staged.synced]).then(([failure]) => {
      if (failure !== undefined) throw failure
    })
    synced.catch(() => undefined)
    return { ...staged, synced }
  }
  return { storage, sync }
}

const onDisk = async ({ directory }: Ground): Promise<string[]> =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((one) => one.isFile())
    .map((one) => one.name)

const recorded = ({ driver }: Ground): Promise<{ name: string; state: string }[]> =>
  driver.read(async (tx) => {
    const found = []
    for await (const entry of diskEntries.all(tx))
      if (entry.what === 'file')
        found.push({ name: entry.name, state: entry.leaving ? 'leaving' : 'arriving' })
    for await (const { name } of files.all(tx)) found.push({ name, state: 'kept' })
    return found
  })

const assertEmpty = async (ground: Ground, why?: string) => {
  assert.deepEqual(await onDisk(ground), [], why)
  assert.deepEqual(await recorded(ground), [], why)
}

describe('A stored file', () => {
  it('exists as long as its record', () =>
    within(async (ground) => {
      const { stored, disk } = open(ground.driver, ground)
      const store = new Store(ground.driver)
      const size = await stored.add(place, content(), {}, null, async (_tx, file) => file.size)
      assert.equal(size, 5)
      assert.deepEqual((await recorded(ground)).length, 1)
      assert.equal(await text(await stored.read(place)), 'hello')
      await store.write((tx) => stored.deleteAfterCommit(tx, place))
      await disk.idle()
      await assertEmpty(ground)
      await assert.rejects(stored.read(place), { code: 'not_found' })
    }))

  it('leaves nothing when the write of its owner is refused', () =>
    within(async (ground) => {
      const { stored, disk } = open(ground.driver, ground)
      const refuse = async () => {
        throw new AllotError('not_found', 'the issue is gone')
      }
      await assert.rejects(stored.add(place, content(), {}, null, refuse), /the issue is gone/)
      await disk.idle()
      await assertEmpty(ground)
    }))

  it('is not saved before its content is durable', () =>
    within(async (ground) => {
      const { storage, sync } = slowToSync(ground)
      const { stored } = open(ground.driver, ground, storage)
      let isSaved = false
      const added = stored.add(place, content(), {}, null, async () => {
        isSaved = true
      })
      await waitFor(async () => (await recorded(ground)).length > 0)
      for (let turn = 0; turn < 50; turn++) await setImmediate()
      assert.deepEqual([isSaved, await recorded(ground)], [false, [{ name: 'abcdef', state: 'arriving' }]])
      sync()
      await added
      assert.deepEqual([isSaved, await recorded(ground)], [true, [{ name: 'abcdef', state: 'kept' }]])
    }))

  it('leaves nothing when its content cannot be made durable', () =>
    within(async (ground) => {
      const { storage, sync } = slowToSync(ground)
      const { stored, disk } = open(ground.driver, ground, storage)
      sync(new Error('the disk is gone'))
      await assert.rejects(stored.add(place, content(), {}, null, nothing), /the disk is gone/)
      await disk.idle()
      await assertEmpty(ground)
    }))

  it('may be deleted several times at once', () =>
    within(async (ground) => {
      const { stored, disk } = open(ground.driver, ground)
      const store = new Store(ground.driver)
      await stored.add(place, content(), {}, null, nothing)
      await Promise.all([1, 2, 3].map(() => store.write((tx) => stored.deleteAfterCommit(tx, place))))
      await disk.idle()
      await assertEmpty(ground)
    }))

  it('must not replace another file', () =>
    within(async (ground) => {
      const { stored, disk } = open(ground.driver, ground)
      await stored.add(place, content(), {}, null, nothing)
      await assert.rejects(stored.add(place, content('other'), {}, null, nothing), /already exists/)
      await disk.idle()
      assert.equal(await text(await stored.read(place)), 'hello')
    }))

  it('stays when the journal has an entry beside its record, and the entry goes', () =>
    within(async (ground) => {
      const { stored, disk } = open(ground.driver, ground)
      const [entry, store] = [{ what: 'file', ...place } as const, new Store(ground.driver)]
      await stored.add(place, content(), {}, null, nothing)
      for (const settle of [() => disk.giveUp(entry), () => disk.settleAbandoned()]) {
        await store.write((tx) => diskEntries.save(tx, { ...entry, since: 0, leaving: true }))
        await settle()
        await disk.idle()
        assert.deepEqual(await recorded(ground), [{ name: place.name, state: 'kept' }])
        assert.equal(await text(await stored.read(place)), 'hello')
      }
    }))
})

describe('Files and their records agree after a restart', () => {
  const deeds = [
    {
      what: 'adding one',
      does: ({ stored }: ReturnType<typeof open>) => stored.add(place, content(), {}, null, nothing),
    },
    {
      what: 'deleting one',
      async does({ stored, disk }: ReturnType<typeof open>, driver: StorageDriver) {
        await new Store(driver).write((tx) => stored.deleteAfterCommit(tx, { ...place, name: 'fedc' }))
        await disk.idle()
      },
    },
  ]
  for (const { what, does } of deeds)
    for (const kept of [false, true])
      it(`when the process was killed just ${kept ? 'after' : 'before'} any write of ${what}`, async () => {
        let [deaths, outcome] = [0, 'dead' as unknown]
        for (let write = 1; outcome === 'dead'; write++)
          await within(async (ground) => {
            await open(ground.driver, ground).stored.add(
              { ...place, name: 'fedc' },
              content(),
              {},
              null,
              nothing,
            )
            const { dying, dead } = driverKilledAt(ground.driver, write, kept)
            const done = does(open(dying, ground), dying).then(() => 'done')
            outcome = await Promise.race([done, dead])
            if (outcome === 'dead') deaths++
            await recover(ground.driver, ground)
            const records = await recorded(ground)
            assert.ok(records.every(({ state }) => state === 'kept'))
            assert.deepEqual((await onDisk(ground)).sort(), records.map(({ name }) => name).sort())
          })
        assert.equal(deaths, 2)
      })

  it('when a write fails, whether or not it was committed', async () => {
    for (const at of ['commit', 'answer'] as const)
      for (const write of [1, 2])
        await within(async (ground) => {
          let writes = 0
          const failing = withFaults(ground.driver, async (call) => {
            if (call === at && ++writes === write) throw new StorageError('failed', 'the disk is gone')
          })
          await assert.rejects(
            open(failing, ground).stored.add(place, content(), {}, null, nothing),
            /the disk is gone/,
          )
          await recover(ground.driver, ground)
          const records = await recorded(ground)
          assert.deepEqual(
            await onDisk(ground),
            records.map(({ name }) => name),
          )
          assert.equal(records.length, at === 'answer' && write === 2 ? 1 : 0)
        })
  })
})

describe('In a shared store, when another server gives up a file that is still being stored', () => {
  /** Stores a file, and calls `pause` between the write of its record and the write that keeps it. */
  const addPaused = async (ground: Ground, driver: StorageDriver, pause: () => Promise<unknown>) => {
    const isArriving = async () => (await recorded(ground)).length > 0
    const makeOld = () =>
      driver.write(async (tx) => {
        for await (const entry of diskEntries.all(tx)) await diskEntries.save(tx, { ...entry, since: 0 })
      })
    const paused = pausedBeforeWrite(driver, isArriving, () => makeOld().then(pause))
    const { stored, disk } = open(paused, ground)
    const added = await stored.add(place, content(), {}, null, async () => 'kept').catch((error) => error)
    await disk.idle()
    return added
  }

  it('the request is refused, and nothing of the file is left', () =>
    within(async (ground) => {
      const driver = { ...ground.driver, shared: true }
      const error = await addPaused(ground, driver, () => recover(driver, ground))
      assert.equal(error.code, 'unavailable')
      await assertEmpty(ground)
    }))

  it('no file is deleted that is kept before the other server has marked it', () =>
    within(async (ground) => {
      const driver = { ...ground.driver, shared: true }
      const [found, kept] = [signal(), signal()]
      const paused = pausedAfterReads(driver, async () => {
        found.happen()
        await kept.happened
      })
      let recovered: Promise<void> | undefined
      const added = await addPaused(ground, driver, async () => {
        recovered = recover(paused, ground)
        await found.happened
      })
      kept.happen()
      await recovered
      assert.equal(added, 'kept')
      assert.deepEqual(await onDisk(ground), [place.name])
      assert.deepEqual(await recorded(ground), [{ name: place.name, state: 'kept' }])
    }))
})

describe('The files of a deleted repository', () => {
  it('are removed in steps of a limited size, and no other files are', () =>
    within(async (ground) => {
      const { stored, disk } = open(ground.driver, ground)
      const store = new Store(ground.driver)
      const jobs = new Jobs({ maxPerTransaction: 4, batchSize: 3 }, () => undefined)
      registerRemovalJobs({ jobs, files: stored, disk } as never)
      const jobRunner = new JobRunner(store, jobs, (error) => {
        throw error
      })
      for (let at = 0; at < 12; at++)
        await stored.add({ ...place, name: `abc${at.toString(16)}` }, content(), {}, null, nothing)
      await stored.add({ ...place, area: 'lfs' }, content(), {}, null, nothing)
      await stored.add({ ...place, ownerId: 2, name: 'fedc' }, content(), {}, null, nothing)
      await store.write((tx) => jobs.runNow(tx, 'removeRepositoryContents', 1))
      const left = []
      do {
        await disk.idle()
        left.push((await onDisk(ground)).length)
      } while ((await jobRunner.round()).pending > 0)
      assert.deepEqual(left, [10, 7, 4, 1, 1])
      assert.deepEqual(await recorded(ground), [{ name: 'fedc', state: 'kept' }])
    }))
})
