import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it, type TestContext } from 'node:test'
import { now } from '../../lib/clock.ts'
import { GitReader } from '../../lib/git/objects/reader.ts'
import { deliveries } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { aCheckout, git, urlFor } from '../git/client.ts'
import { startGit } from '../git/served.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { hookTo, type Receiver, startReceiver } from '../support/receiver.ts'
import { stopTimers } from '../support/stopped-timers.ts'
import { createSpecStore } from '../support/store.ts'
import { waitFor } from '../support/wait-for.ts'
import { wrappedGit } from '../support/wrapped-git.ts'

/** Milliseconds after which reading the commits of a push is tried again. */
const RETRY_MS = 5000

let receiver: Receiver
before(async () => {
  receiver = await startReceiver()
})

/**
 * Starts a server on which `git rev-list` waits until `release` is called, and pushes to a repository with a
 * webhook.
 */
const pushWithSlowGit = async (test: TestContext, contents: { timeout?: number } = {}) => {
  const directory = temporaryDirectory()
  const [begun, go] = [join(directory, 'begun'), join(directory, 'go')]
  const wait = `touch ${begun}; while [ ! -e ${go} ]; do sleep 0.05; done`
  const slow = wrappedGit(`case "$*" in *rev-list*) ${wait};; esac`, directory)
  const made = await createSpecStore()
  const logged: unknown[] = []
  const allot = await startGit(
    {
      repositories: { directory: join(directory, 'repositories'), git: slow },
      contents,
      webhooks: { allowedHosts: ['127.0.0.1'], retryFor: 1 },
      log: { error: ({ err }: { err?: Error }) => void logged.push(err?.message), info: () => undefined },
    },
    { store: async () => made },
  )
  const release = () => writeFileSync(go, '')
  atEnd(release)
  const alice = await allot.person('alice')
  const path = await allot.repository(alice, 'app')
  const url = `${receiver.url}/${test.name}`.replaceAll(' ', '-')
  await allot.made(alice, `/repos/${path}/hooks`, hookTo(url, 'push', 'issues'))
  await git(await aCheckout(), 'push', '--quiet', urlFor(allot, path, alice), 'main')
  await waitFor(() => existsSync(begun))
  return {
    store: new Store(made.driver),
    release,
    logged,
    openIssue: () => allot.as(alice, 'POST', `/repos/${path}/issues`, { title: 'after the push' }),
    /** The deliveries that the webhook got, once there are so many. */
    got: (count: number) => receiver.at(new URL(url).pathname, count),
  }
}

describe('A push', () => {
  it('whose commits git cannot read for a while is sent without them, and the events after it follow', async (test) => {
    const tick = stopTimers(test, 'lib/webhooks/', 'lib/git/')
    const { openIssue, got, logged } = await pushWithSlowGit(test, { timeout: 500 })
    await openIssue()
    const failed = (times: number) =>
      waitFor(() => {
        tick(500)
        return logged.length >= times
      })
    await failed(1)
    tick(RETRY_MS)
    await failed(2)
    const received = await got(2)
    assert.deepEqual(
      received.map(({ headers }) => headers['x-gitea-event']),
      ['push', 'issues'],
    )
    const { ref, commits } = received[0]!.body
    assert.deepEqual([ref, commits], ['refs/heads/main', []])
  })

  it('whose commits cannot be read for another reason is tried again, and the reason is logged', async (test) => {
    const logged: unknown[] = []
    const log = { error: ({ err }: { err?: Error }) => void logged.push(err?.message), info: () => undefined }
    const allot = await startGit({ webhooks: { allowedHosts: ['127.0.0.1'] }, log })
    const alice = await allot.person('alice')
    const path = await allot.repository(alice, 'app')
    const config = { url: `${receiver.url}/tried-again`, content_type: 'json' }
    await allot.as(alice, 'POST', `/repos/${path}/hooks`, { type: 'gitea', config, active: true })
    test.mock.method(GitReader.prototype, 'run').mock.mockImplementationOnce(async () => {
      throw new TypeError('unexpected')
    })
    const tick = stopTimers(test, 'lib/webhooks/')
    await git(await aCheckout(), 'push', '--quiet', urlFor(allot, path, alice), 'main')
    await waitFor(() => logged.includes('unexpected'))
    const received = receiver.at('/tried-again', 1)
    let isReceived = false
    received.then(
      () => {
        isReceived = true
      },
      () => undefined,
    )
    await waitFor(() => {
      tick(250)
      return isReceived
    })
    assert.equal((await received)[0]!.body.commits.length, 1)
    assert.ok(logged.includes('unexpected'), logged.join())
  })

  it('that another process has sent while its commits were read is not sent again', async (test) => {
    const { store, openIssue, release, got } = await pushWithSlowGit(test)
    await store.write(async (tx) => {
      const [waiting] = await deliveries.list(tx, 'waiting', { prefix: [], limit: 1 })
      await deliveries.save(tx, { ...waiting!, state: 'delivered', finishedAt: now() })
    })
    await openIssue()
    release()
    const [first] = await got(1)
    assert.equal(first?.headers['x-gitea-event'], 'issues')
  })
})
