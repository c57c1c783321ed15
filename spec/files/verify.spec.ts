import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { OpenAllot } from '../../lib/allot.ts'
import { checkFiles, type FileFault } from '../../lib/content/integrity.ts'
import { FileStorage } from '../../lib/files/index.ts'
import { upgradedFrom } from '../../lib/records/layout.ts'
import { files, ledgerEntries, packageFiles, packageVersions } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { repair, verify } from '../../lib/verify.ts'
import { times } from '../support/long.ts'
import { aGround, fill, type Ground, SMALL } from './ground.ts'

const within = async (work: (ground: Ground, repository: number) => Promise<void>) => {
  const ground = aGround()
  const allot = await ground.open()
  const repository = await fill(allot)
  await allot.close()
  await ground.driver.open()
  try {
    await work(ground, repository)
  } finally {
    await ground.driver.close()
    ground.clear()
  }
}

const diskOf = ({ files }: Ground) => new FileStorage(files)

const verified = (ground: Ground) => verify(ground.driver, diskOf(ground))

const pathOf = ({ files: { directory } }: Ground, part: string): string =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))
    .find((path) => path.includes(part))!

const used = async (ground: Ground, work: (allot: OpenAllot) => Promise<void>) => {
  await ground.driver.close()
  const allot = await ground.open()
  await work(allot)
  await allot.close()
  await ground.driver.open()
}

describe('allot verify', () => {
  it('finds that files and records agree', () =>
    within(async (ground) => assert.deepEqual((await verified(ground)).messages, [])))

  it('finds a file without a record, which a repair removes', () =>
    within(async (ground) => {
      const stray = join(ground.files.directory, 'attachments/07/7/ab/abcdef')
      mkdirSync(join(stray, '..'), { recursive: true })
      writeFileSync(stray, 'x')
      const { messages } = await verified(ground)
      assert.deepEqual(messages, ['the file attachments/7/abcdef is on the disk and belongs to nothing'])
      const { repaired, after } = await repair(ground.driver, diskOf(ground))
      assert.deepEqual([repaired, after.faults], [1, 0])
      assert.equal(pathOf(ground, 'abcdef'), undefined)
    }))

  for (const [what, harm] of [
    ['is lost', (path: string) => rmSync(path)],
    ['is longer than it was', (path: string) => appendFileSync(path, 'x')],
  ] as const)
    it(`finds an LFS object whose file ${what}; a repair removes it, so that it can be uploaded again`, () =>
      within(async (ground, repository) => {
        harm(pathOf(ground, SMALL.oid))
        const { messages } = await verified(ground)
        assert.equal(messages.length, 1)
        assert.match(
          messages[0]!,
          new RegExp(`lfs/${repository}/${SMALL.oid}.* must have 5 bytes, and (is not|has 6)`),
        )
        const { after } = await repair(ground.driver, diskOf(ground))
        assert.deepEqual(after.messages, [])
        assert.deepEqual((await verified(ground)).messages, [])
        await used(ground, async ({ hosting, quota }) => {
          assert.deepEqual(await hosting.lfs.find(repository, [SMALL.oid]), [undefined])
          assert.equal((await quota.info('alice')).used.size.git.LFS, 200_000)
        })
      }))

  it('repairs nothing while no file is on the disk, as when it is not mounted, unless it is forced', () =>
    within(async (ground) => {
      const { directory } = ground.files
      renameSync(directory, `${directory}.unmounted`)
      mkdirSync(directory)
      await assert.rejects(repair(ground.driver, diskOf(ground)), /^AllotError: nothing is repaired.*--force/)
      rmSync(directory, { recursive: true })
      renameSync(`${directory}.unmounted`, directory)
      assert.deepEqual((await verified(ground)).messages, [])
      renameSync(directory, `${directory}.lost`)
      const { repaired } = await repair(ground.driver, diskOf(ground), undefined, true)
      assert.ok(repaired > 0)
      rmSync(`${directory}.lost`, { recursive: true })
    }))

  it('removes no file that a server has stored since the check, when it repairs beside one', () =>
    within(async (ground) => {
      const store = new Store(ground.driver)
      const repairMeanwhile = async (store: () => Promise<void>) => {
        const faults: FileFault[] = []
        await checkFiles(ground.driver, diskOf(ground), (fault) => faults.push(fault))
        await store()
        return Promise.all(faults.map((fault) => fault.repair()))
      }
      const path = pathOf(ground, SMALL.oid)
      renameSync(path, `${ground.folder}/lost`)
      assert.deepEqual(await repairMeanwhile(async () => renameSync(`${ground.folder}/lost`, path)), [false])
      const { value: file } = await ground.driver.read((tx) => files.all(tx).next())
      const id = files.options.id(file)
      await store.write((tx) => files.remove(tx, id))
      const save = () => store.write(async (tx) => void (await files.save(tx, file)))
      assert.deepEqual(await repairMeanwhile(save), [false])
      assert.deepEqual((await verified(ground)).messages, [])
    }))

  it('upgrades no shared store beside others, when it repairs with force', () =>
    within(async ({ driver }) => {
      await driver.write(async (tx) => upgradedFrom.set(tx, 0))
      const shared = { ...driver, shared: true }
      const refused = {
        code: 'unavailable',
        message: /must be upgraded to layout \d+ first: stop every process/,
      }
      await assert.rejects(repair(shared, undefined, undefined, true), refused)
      assert.deepEqual((await repair(shared)).after.messages, [])
    }))

  it('finds a lost package file, which cannot be repaired', () =>
    within(async (ground) => {
      rmSync(pathOf(ground, '/packages/'))
      assert.match(
        (await verified(ground)).messages.join(),
        /packages\/.* must have 1 bytes, and is not on the disk/,
      )
      const { after } = await repair(ground.driver, diskOf(ground))
      assert.equal(after.faults, 1)
    }))

  it('finds ledger entries without files, files without entries, and wrong totals', () =>
    within(async (ground) => {
      await new Store(ground.driver).write(async (tx) => {
        for await (const entry of ledgerEntries.all(tx))
          if (entry.name === SMALL.oid) await ledgerEntries.remove(tx, [entry.kind, entry.key])
        for await (const one of packageVersions.all(tx))
          await packageVersions.save(tx, { ...one, size: 7, files: 9 })
      })
      const { messages } = await verified(ground)
      const all = messages.join('\n')
      assert.match(all, /ledger size of LFS object \d+ \w+ is missing, but the records give 5/)
      assert.match(all, /size of package version/)
      assert.match(all, /files of package version/)
      assert.match(all, /ledger size of package version/)
    }))

  it('finds files and versions whose owner does not exist', () =>
    within(async (ground) => {
      await new Store(ground.driver).write(async (tx) => {
        for await (const one of packageVersions.all(tx)) await packageVersions.remove(tx, [one.id])
        const stray = { area: 'attachments' as const, ownerId: 99, name: 'abcdef', size: 0, sha256: '' }
        await files.save(tx, stray)
        for await (const one of packageFiles.all(tx))
          if (one.name === 'a') await packageFiles.remove(tx, [one.id])
      })
      const all = (await verified(ground)).messages.join('\n')
      assert.match(all, /the package file \d+ belongs to package version 1, which does not exist/)
      assert.match(all, /the file attachments 99 abcdef belongs to repository 99, which does not exist/)
      assert.match(all, /file size of package file/)
    }))

  it('finds no faults while files are added and removed', () =>
    within(async (ground) => {
      await used(ground, async (allot) => {
        const { Readable } = await import('node:stream')
        const owner = (await allot.hosting.accounts.byName('alice'))!
        const viewer = { id: owner.id, admin: false }
        let isOver = false
        const play = async (version: string) => {
          const at = { owner: 'alice', type: 'generic', name: 'played', version }
          while (!isOver) {
            await allot.hosting.packages.add(viewer, at, 'a', Readable.from([Buffer.from('x')]))
            await allot.hosting.packages.remove(viewer, at)
          }
        }
        const playing = ['1', '2', '3'].map(play)
        try {
          for (let round = 0; round < times(2, 20); round++)
            assert.deepEqual((await allot.verify()).messages, [])
        } finally {
          isOver = true
          await Promise.all(playing)
        }
      })
      assert.deepEqual((await verified(ground)).messages, [])
    }))
})
