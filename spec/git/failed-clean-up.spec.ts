import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { GitStorage } from '../../lib/git/index.ts'
import { diskEntries, repositories } from '../../lib/records/schema/index.ts'
import { Store, takeNumber } from '../../lib/records/store.ts'
import { aCheckout, attempt, commit, git, urlFor } from './client.ts'
import { startGit } from './served.ts'

/** A clean-up that has ended, whose repository could not be measured while pushes waited for it. */
const failedCleanUp = async (t: TestContext, shared: boolean) => {
  const driver = { ...memory(), shared }
  const allot = await startGit({ driver, log: { error: () => undefined, info: () => undefined } })
  const alice = await allot.person('alice')
  const path = await allot.repository(alice, 'app')
  const checkout = await aCheckout()
  const push = (...args: string[]) => attempt(checkout, ['push', ...args, urlFor(allot, path, alice), 'main'])
  assert.equal((await push()).code, 0)
  await git(checkout, 'commit', '--quiet', '--amend', '--message', 'other')
  assert.equal((await push('--force')).code, 0)
  const store = new Store(driver)
  const record = async () => (await store.read((tx) => repositories.findBy(tx, 'name', [alice.id, 'app'])))!
  const { size } = GitStorage.prototype
  const disk = t.mock.method(GitStorage.prototype, 'size', async function (this: GitStorage, id: number) {
    if ((await record()).pushesWaitUntil !== undefined) throw new Error('the disk is away')
    return size.call(this, id)
  }).mock
  const cleanUp = async () => (await allot.as(alice, 'POST', `/repos/${path}/gc`)).status
  assert.equal(await cleanUp(), 500)
  assert.ok((await record()).pushesWaitUntil)
  disk.restore()
  return { store, record, cleanUp, push: () => commit(checkout, { more: 'more' }).then(() => push()) }
}

describe('A clean-up after which the repository could not be measured', () => {
  it('keeps no push waiting once the disk is back', async (t) => {
    const { record, push } = await failedCleanUp(t, false)
    const { code, err } = await push()
    assert.equal(code, 0, err)
    assert.equal((await record()).pushesWaitUntil, undefined)
  })

  it('does not end the wait for the clean-up that another server has begun meanwhile', async (t) => {
    const { store, record, cleanUp } = await failedCleanUp(t, true)
    const since = Math.floor(Date.now() / 1000)
    await store.write(async (tx) => {
      const repository = await record()
      await repositories.save(tx, { ...repository, pushesWaitUntil: since + 300 })
      await diskEntries.save(tx, {
        what: 'push',
        id: await takeNumber(tx, 'push'),
        repository: repository.id,
        pid: 1_000_000_000,
        since,
      })
    })
    assert.equal(await cleanUp(), 503)
    assert.equal((await record()).pushesWaitUntil, since + 300)
  })
})
