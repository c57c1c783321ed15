import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { FileStorage } from '../../lib/files/index.ts'
import { files } from '../../lib/records/schema/index.ts'
import { aGround, fill } from '../files/ground.ts'
import { waitFor } from '../support/wait-for.ts'

/** A server with a repository with LFS objects, and a user who forks it. */
const withSource = async () => {
  const ground = aGround()
  const allot = await ground.open()
  const source = await fill(allot)
  const bob = await allot.hosting.accounts.createUser({ name: 'bob' })
  const fork = () => allot.hosting.forks.fork(bob, { owner: 'alice', name: 'demo' }, {})
  const objectsOf = async (id: number) => {
    const found = await ground.driver.read((tx) => files.list(tx, 'owner', { prefix: ['lfs', id] }))
    return found.length
  }
  return { ground, allot, fork, forkId: source + 1, objectsOf }
}

/** Makes contents of files hang after they are opened. */
const hangReads = (t: TestContext) =>
  t.mock.method(FileStorage.prototype, 'read', async () => new PassThrough())

describe('A server that is closed while it copies LFS objects', () => {
  it('ends the copy of a request, and completes it after the next start', async (t) => {
    const { ground, allot, fork, forkId, objectsOf } = await withSource()
    const read = hangReads(t)
    const forked = assert.rejects(fork(), { code: 'unavailable', message: 'the server is stopping' })
    await waitFor(() => read.mock.callCount() > 0)
    await Promise.all([allot.close(), forked])
    read.mock.restore()
    const again = await ground.open()
    await waitFor(async () => (await objectsOf(forkId)) === 3)
    assert.deepEqual((await again.verify()).messages, [])
    await again.close()
    ground.clear()
  })

  it('ends the copy of the job runner, and logs no failure', async (t) => {
    const { ground, allot, fork } = await withSource()
    const read = hangReads(t)
    const forked = assert.rejects(fork())
    await waitFor(() => read.mock.callCount() > 0)
    await Promise.all([allot.close(), forked])
    const logged: unknown[] = []
    const again = await ground.open({
      error: (...line: unknown[]) => logged.push(line),
      info: () => undefined,
    })
    const calls = read.mock.callCount()
    await waitFor(() => read.mock.callCount() > calls)
    await again.close()
    assert.deepEqual(logged, [])
    ground.clear()
  })
})
