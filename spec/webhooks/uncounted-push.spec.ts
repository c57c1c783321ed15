import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { GitStorage } from '../../lib/git/index.ts'
import { GitProcesses } from '../../lib/git/processes.ts'
import { withFaults } from '../driver-spec/fault-injection.ts'
import { aCheckout, attempt, commit, git, urlFor } from '../git/client.ts'
import { startGit } from '../git/served.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { hookTo, startReceiver } from '../support/receiver.ts'

/** A repository with a webhook, to which one commit was pushed, and a checkout of it. */
const scene = async (t: TestContext) => {
  const receiver = await startReceiver()
  t.after(() => receiver.stop())
  const driver = memory()
  /** Whether the next write is committed, and taken for failed. */
  const next = { isUnknown: false }
  const faulty = withFaults(driver, async (call) => {
    if (call !== 'answer' || !next.isUnknown) return
    next.isUnknown = false
    throw new Error('the store is away')
  })
  const place = {
    repositories: { directory: temporaryDirectory() },
    webhooks: { allowedHosts: ['127.0.0.1'] },
    log: { error: () => undefined, info: () => undefined },
  }
  const first = await startGit({ driver: faulty, ...place })
  const alice = await first.person('alice')
  const path = await first.repository(alice, 'app')
  await first.made(alice, `/repos/${path}/hooks`, hookTo(`${receiver.url}/hook`, 'push'))
  const checkout = await aCheckout()
  /** Pushes a new commit. */
  const push = async (allot = first) => {
    const id = await commit(checkout, {})
    return { id, ...(await attempt(checkout, ['push', urlFor(allot, path, alice), 'main'])) }
  }
  const { id } = await push()
  return {
    first,
    id,
    push,
    next,
    folder: await first.folderOf(path),
    restart: async () => {
      await first.stop()
      await driver.open()
      return startGit({ driver, ...place }, { root: 'other' })
    },
    /** The commits of the events, once there are so many. */
    pushed: async (count: number) => (await receiver.at('/hook', count)).map(({ body }) => body.after),
  }
}

const failingDisk = (t: TestContext) =>
  t.mock.method(GitStorage.prototype, 'size', async () => {
    throw new Error('the disk is away')
  }).mock

describe('A push that could not be counted', () => {
  it('has its event, in order, when the branch is pushed to again', async (t) => {
    const { first, id, push, pushed } = await scene(t)
    const disk = failingDisk(t)
    const failed = await push()
    assert.match(failed.err, /could not be counted yet/)
    disk.restore()
    const after = await push()
    assert.equal(after.code, 0, after.err)
    assert.deepEqual(await pushed(3), [id, failed.id, after.id])
    await first.assertCounted('alice')
  })

  it('lets no other change the branch before it is counted, and has its event after a restart', async (t) => {
    const { id, push, folder, restart, pushed } = await scene(t)
    const disk = failingDisk(t)
    const failed = await push()
    assert.match((await push()).err, /HTTP 500/)
    assert.equal(await git(folder, 'rev-parse', 'main'), failed.id)
    disk.restore()
    const server = await restart()
    const after = await push(server)
    assert.equal(after.code, 0, after.err)
    assert.deepEqual(await pushed(3), [id, failed.id, after.id])
    await server.assertCounted('alice')
  })

  for (const isCleaned of [true, false])
    it(`has its event once when the store has counted it all the same, ${isCleaned ? '' : 'and git left something'}`, async (t) => {
      const { first, id, push, next, pushed } = await scene(t)
      const cleaned = t.mock.method(GitProcesses.prototype, 'isCleaned', async () => isCleaned).mock
      const { size } = GitStorage.prototype
      const disk = t.mock.method(GitStorage.prototype, 'size', function (this: GitStorage, of: number) {
        next.isUnknown = true
        return size.call(this, of)
      }).mock
      const uncertain = await push()
      disk.restore()
      cleaned.restore()
      assert.match(uncertain.err, /could not be counted yet/)
      const after = await push()
      assert.equal(after.code, 0, after.err)
      assert.deepEqual(await pushed(3), [id, uncertain.id, after.id])
      await first.assertCounted('alice')
    })
})
