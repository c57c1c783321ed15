import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { level } from '../../drivers/level/index.ts'
import { memory } from '../../drivers/memory/index.ts'
import { folderOf } from '../../lib/git/folders.ts'
import { importAllot, type StorageDriver } from '../../lib/index.ts'
import { contentOf } from '../records/raw.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { waitFor } from '../support/wait-for.ts'
import { exported, git, inChunks, populate, pushInto, type Secrets, type Served, serve } from './instance.ts'

const folder = temporaryDirectory()
const source = { driver: memory(), directory: join(folder, 'repositories') }
const filesIn = (name: string) => ({ directory: join(folder, `${name}-files`) })
let original: Served
let secrets: Secrets
let file: Buffer
let content: Awaited<ReturnType<typeof contentOf>>
before(async () => {
  const { driver, directory } = source
  original = await serve({ driver, repositories: { directory }, files: filesIn('original') })
  secrets = await populate(original.allot)
  pushInto(folderOf(source.directory, 1))
  // Until nothing is noted meanwhile, such as the use of a token.
  await waitFor(async () => {
    content = await contentOf(source.driver)
    file = await exported(original.allot)
    return isDeepStrictEqual(content, await contentOf(source.driver))
  })
})

const DRIVERS: [name: string, make: () => StorageDriver][] = [
  ['memory', memory],
  ['level', () => level(join(folder, 'level'))],
]

for (const [name, make] of DRIVERS)
  describe(`An instance that is imported into a store of the driver ${name}`, () => {
    const directory = join(folder, `${name}-repositories`)
    const driver = make()
    let copy: Served
    before(async () => {
      const kept = { driver, repositories: { directory }, files: filesIn(name) }
      await importAllot(kept, inChunks(file))
      copy = await serve(kept)
    })

    it('has the same bytes of records, indexes, counts and sequences', async () => {
      assert.deepEqual(await contentOf(driver), content)
    })

    it('has the same bytes of attachments', async () => {
      for (const who of [original, copy]) {
        const { body } = await who.ask('GET', '/repos/ann/hall/issues/1', { token: secrets.ann })
        const { pathname } = new URL(body.assets[0].browser_download_url)
        // A request with a range is not counted as a download.
        const headers = { range: 'bytes=0-' }
        assert.equal(await (await fetch(new URL(pathname, who.api), { headers })).text(), 'attached')
      }
    })

    it('has the same git data, which passes git fsck', () => {
      for (const id of [1, 2, 3]) {
        const [one, other] = [folderOf(source.directory, id), folderOf(directory, id)]
        for (const query of [['for-each-ref'], ['rev-list', '--objects', '--all'], ['symbolic-ref', 'HEAD']])
          assert.equal(git('-C', other, ...query), git('-C', one, ...query))
        git('-C', other, 'fsck', '--full', '--strict')
      }
      assert.match(git('-C', folderOf(directory, 1), 'for-each-ref'), /topic\/a\n.*notes.*\n.*v1/)
      assert.equal(git('-C', folderOf(directory, 3), 'symbolic-ref', 'HEAD'), 'refs/heads/trunk\n')
    })
  })

describe('An imported instance', () => {
  const directory = join(folder, 'twin')
  const moved = async () => {
    const driver = memory()
    const kept = { driver, repositories: { directory }, files: filesIn('twin') }
    await importAllot(kept, inChunks(file))
    return serve(kept)
  }

  it('continues its sequences', async () => {
    const copy = await moved()
    const made = await copy.ask('POST', '/user/repos', { token: secrets.ann, body: { name: 'next' } })
    assert.equal(made.status, 201)
    assert.ok(made.body.id > 4)
    await copy.stop()
  })
})
