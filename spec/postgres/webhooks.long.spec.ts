import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { postgres } from '../../drivers/postgres/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { atEnd } from '../support/cleanup.ts'
import { hookTo, type Receiver, startReceiver } from '../support/receiver.ts'
import { onPostgres } from '../support/store.ts'
import { waitFor } from '../support/wait-for.ts'
import { missing } from './cluster.ts'
import { emptyStore } from './empty-store.ts'
import { type ServerProcess, startServerProcess } from './server-processes.ts'

/** How many deliveries the receiver answers before the process that sends them is killed. */
const ANSWERED = 20

/** Numbers of the issues that a receiver was told of, each when it was told first. */
const numbersAt = (receiver: Receiver, path: string): number[] => [
  ...new Set(receiver.received.filter((one) => one.path === path).map(({ body }) => body.number as number)),
]

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

describe('Two processes over one PostgreSQL', { skip: missing }, () => {
  let url: string
  let receiver: Receiver
  let [first, second]: ServerProcess[] = []
  let token: string
  let isKilled = false
  before(async () => {
    receiver = await startReceiver(({ path }, res) => {
      // It answers no more than 20 deliveries of the one that is killed: the others are still waiting then.
      if (path !== '/killed' || numbersAt(receiver, path).length <= ANSWERED || isKilled) res.end()
    })
    ;({ url } = await emptyStore())
    const allot = await openAllot({ driver: postgres(url), repositories: false })
    const alice = await allot.accounts.createUser({ name: 'alice' })
    token = (await allot.tokens.create(alice.id, 'spec', ['all'])).secret
    await allot.close()
    ;[first, second] = await Promise.all([startServerProcess(url), startServerProcess(url)])
  })

  /** Creates a repository with a webhook. */
  const watched = async (name: string): Promise<void> => {
    await first!.send('POST', '/user/repos', { token, body: { name } })
    const body = hookTo(`${receiver.url}/${name}`, 'issues')
    const { status } = await first!.send('POST', `/repos/alice/${name}/hooks`, { token, body })
    assert.equal(status, 201)
  }

  const openIssues = async ({ send }: ServerProcess, name: string, count: number): Promise<void> => {
    for (let opened = 0; opened < count; ) {
      const { status, text } = await send('POST', `/repos/alice/${name}/issues`, {
        token,
        body: { title: 'An issue' },
      })
      // On a busy machine a write may be refused, and the client tries again.
      assert.ok(status === 201 || status === 503, text)
      if (status === 201) opened++
    }
  }

  /**
   * How many issues there are: one that was refused may be stored all the same, when the outcome was not
   * known.
   */
  const countIssues = async (name: string): Promise<number> => {
    const { headers } = await second!.send('GET', `/repos/alice/${name}/issues?limit=1`, { token })
    return Number(headers.get('x-total-count'))
  }

  it('send what either of them records, in the order of the changes, each delivery once', async () => {
    await watched('shared')
    const each = onPostgres ? 60 : 10
    await Promise.all([first!, second!, first!, second!].map((one) => openIssues(one, 'shared', each)))
    const count = await countIssues('shared')
    await waitFor(() => numbersAt(receiver, '/shared').length === count)
    assert.deepEqual(numbersAt(receiver, '/shared'), upTo(count))
    assert.equal(receiver.received.length, count)
  })

  it('lose nothing and keep the order when the one that sends is killed', async () => {
    await watched('killed')
    await Promise.all(upTo(4).map(() => openIssues(first!, 'killed', 25)))
    await waitFor(() => numbersAt(receiver, '/killed').length > ANSWERED)
    first!.child.kill('SIGKILL')
    isKilled = true
    await openIssues(second!, 'killed', 20)
    const count = await countIssues('killed')
    const hasAll = () => numbersAt(receiver, '/killed').length === count
    // Its lease ends after half a minute.
    for (let waited = 0; waited < 120 && !hasAll(); waited++) await sleep(1000)
    assert.deepEqual(numbersAt(receiver, '/killed'), upTo(count))
  })

  it('leave a store in which a recount finds no fault', async () => {
    const allot = await openAllot({ driver: postgres(url), repositories: false })
    atEnd(() => allot.close())
    assert.deepEqual((await allot.verify()).messages, [])
  })
})
