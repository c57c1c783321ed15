import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { Store } from '../../lib/records/store.ts'
import { DiskJournal } from '../../lib/repositories/disk-journal.ts'
import { signal } from '../driver-spec/fixture.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { start } from '../support/test-server.ts'

it('The end of a server waits for all removals before it, and for none that begins later', async () => {
  const driver = memory()
  await driver.open()
  const store = new Store(driver)
  const disk = new DiskJournal(store, assert.fail)
  const [first, later] = [signal(), signal()]
  const removed = new Set<number>()
  disk.handlers.folder = async ({ repository }, forget) => {
    await (repository <= 100 ? first : later).happened
    await forget()
    removed.add(repository)
  }
  const leave = (from: number, to: number) =>
    store.write(async (tx) => {
      for (let repository = from; repository <= to; repository++)
        await disk.leave(tx, { what: 'folder', repository })
    })
  await leave(1, 100)
  const idle = disk.idle().then(() => removed.size)
  await leave(101, 200)
  first.happen()
  assert.equal(await idle, 100)
  later.happen()
  await disk.idle()
  assert.equal(removed.size, 200)
  await driver.close()
})

it('A deletion of content waits for its own files, and not for the git data of another repository', {
  timeout: 60_000,
}, async (t) => {
  const driver = memory()
  const allot = await start({ driver, repositories: { directory: temporaryDirectory() } })
  const { disk } = allot.allot.hosting
  const alice = await allot.person('alice')
  await allot.made(alice, '/user/repos', { name: 'app' })
  const at = '/repos/alice/app'
  const withFile = async (path: string) => {
    await allot.attach(alice, path, 'content', 'file')
    return path
  }
  const attached = async (path: string) => `${path}/assets/${(await allot.attach(alice, path, 'c', 'f')).id}`
  await allot.made(alice, `${at}/issues`, { title: 'one' })
  const issue = `${at}/issues/1`
  const comment = async () =>
    `${at}/issues/comments/${(await allot.made(alice, `${issue}/comments`, { body: 'c' })).id}`
  const release = await allot.made(alice, `${at}/releases`, { tag_name: 'v1' })
  await allot.upload(alice, '/api/packages/alice/generic/tool/1/file', 'content')
  const paths = [
    await comment(),
    await withFile(await comment()),
    await attached(issue),
    await withFile(issue),
    await withFile(`${at}/releases/${release.id}`),
    '/packages/alice/generic/tool/1',
  ]

  const [slow, removeFile] = [signal(), disk.handlers.file!]
  t.after(() => slow.happen())
  let files = 0
  disk.handlers.folder = (_, forget) => slow.happened.then(forget)
  disk.handlers.file = (file, forget) => removeFile(file, forget).then(() => void files++)
  await new Store(driver).write(async (tx) => {
    for (let repository = 1001; repository <= 1100; repository++)
      await disk.leave(tx, { what: 'folder', repository })
  })
  for (const [count, path] of paths.entries()) {
    await allot.done(alice, 'DELETE', path)
    assert.equal(files, count, path)
  }
})
