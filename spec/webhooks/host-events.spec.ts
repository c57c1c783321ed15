import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { HostEvents } from '../../lib/index.ts'
import { aCheckout, git, urlFor } from '../git/client.ts'
import { startGit } from '../git/served.ts'
import { madeBefore, peopleBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

/** Messages of errors of listeners. */
const failures: string[] = []
const log = {
  error: ({ err }: { err?: Error }, message: string) =>
    void (message === 'a listener failed' && failures.push(err!.message)),
  info: () => undefined,
}
const allot = madeBefore(() => startGit({ log }))
const [alice] = peopleBefore(allot, 'alice')

const as: typeof allot.done = (...sent) => allot.done(...sent)

describe('A host that listens', () => {
  /** The events that the listeners got, in this order. */
  const heard: [name: string, detail: Record<string, unknown>][] = []
  const names = ['push', 'create', 'delete', 'fork', 'repository', 'issues', 'issue_comment'] as const
  const listeners = [...names, 'release' as const, 'package' as const].map((name) => {
    const listener = (detail: object) => void heard.push([name, detail as Record<string, unknown>])
    return [name, listener] as const
  })

  it('gets the same events with records and names, once each, until it is removed', async () => {
    const erin = await allot.person('erin')
    for (const [name, listener] of listeners) allot.allot.on(name, listener)
    const path = await allot.repository(erin, 'heard')
    const checkout = await aCheckout()
    await git(checkout, 'push', '--quiet', urlFor(allot, path, erin), 'main', 'main:side')
    await git(checkout, 'push', '--quiet', urlFor(allot, path, erin), ':side')
    await as(erin, 'POST', `/repos/${path}/issues`, { title: 'Listen' })
    await as(erin, 'PATCH', `/repos/${path}/issues/1`, { title: 'Hear', state: 'closed' })
    await as(erin, 'POST', `/repos/${path}/issues/1/comments`, { body: 'Heard.' })
    await as(erin, 'POST', `/repos/${path}/releases`, { tag_name: 'v1', draft: true })
    await as(erin, 'PATCH', `/repos/${path}/releases/1`, { draft: false })
    await as(alice, 'POST', `/repos/${path}/forks`, { name: 'copied' })
    for (const [name, listener] of listeners) allot.allot.off(name, listener)
    await as(erin, 'POST', `/repos/${path}/issues`, { title: 'Nobody listens' })
    assert.deepEqual(
      heard.map(([name, detail]) => [name, detail.action ?? detail.ref, detail.owner, detail.sender]),
      [
        ['repository', 'created', 'erin', 'erin'],
        ['create', 'refs/heads/main', 'erin', 'erin'],
        ['push', 'refs/heads/main', 'erin', 'erin'],
        ['create', 'refs/heads/side', 'erin', 'erin'],
        ['push', 'refs/heads/side', 'erin', 'erin'],
        ['delete', 'refs/heads/side', 'erin', 'erin'],
        ['issues', 'opened', 'erin', 'erin'],
        ['issues', 'edited', 'erin', 'erin'],
        ['issues', 'closed', 'erin', 'erin'],
        ['issue_comment', 'created', 'erin', 'erin'],
        ['release', 'published', 'erin', 'erin'],
        ['fork', undefined, 'erin', 'alice'],
        ['repository', 'created', 'alice', 'alice'],
      ],
    )
    const detailOf = (index: number) =>
      heard[index]![1] as unknown as HostEvents['issues'] & HostEvents['push'] & HostEvents['fork']
    const after = await git(checkout, 'rev-parse', 'main')
    assert.deepEqual([detailOf(2).before, detailOf(2).after, detailOf(5).after], [null, after, null])
    assert.deepEqual([detailOf(7).changes, detailOf(7).issue.title], [{ title: 'Listen' }, 'Hear'])
    assert.deepEqual([detailOf(11).repository.name, detailOf(11).fork.name], ['heard', 'copied'])
  })

  it('gets as sender who renamed the default branch, and not the owner', async () => {
    const path = await allot.repository(alice, 'renamed', { auto_init: true })
    const heard: string[] = []
    const onRepository = ({ action, owner, sender }: HostEvents['repository']) =>
      void heard.push(`${action} ${owner} ${sender}`)
    allot.allot.on('repository', onRepository)
    await as(allot.root, 'PATCH', `/repos/${path}/branches/main`, { name: 'trunk' })
    allot.allot.off('repository', onRepository)
    assert.deepEqual(heard, ['edited alice root'])
  })

  it('hears of a package, and nothing of a change that is refused', async () => {
    const events: string[] = []
    const onPackage = ({ action, owner, sender, version }: HostEvents['package']) =>
      void events.push(`${action} ${owner} ${sender} ${version.name} ${version.version}`)
    const onRepository = ({ action }: HostEvents['repository']) => void events.push(action)
    allot.allot.on('package', onPackage)
    await allot.repository(alice, 'taken')
    allot.allot.on('repository', onRepository)
    const { repositories, accounts } = allot.allot
    const owner = (await accounts.byName('alice'))!
    await assert.rejects(repositories.create(owner, owner, { name: 'taken' }), { code: 'conflict' })
    await allot.upload(alice, '/api/packages/alice/generic/kit/2/kit.tar', 'bytes')
    await as(alice, 'DELETE', '/packages/alice/generic/kit/2')
    allot.allot.off('package', onPackage)
    allot.allot.off('repository', onRepository)
    assert.deepEqual(events, ['created alice alice kit 2', 'deleted alice alice kit 2'])
  })

  it('gets records of its own after the change is durable, and its errors are logged and stop nothing', async () => {
    const { issues } = allot.allot
    const at = `/repos/${await allot.repository(alice, 'failing')}`
    const read: unknown[] = []
    const fail = () => {
      throw new Error('thrown by a listener')
    }
    const reject = async () => Promise.reject(new Error('rejected by a listener'))
    const change = ({ issue }: HostEvents['issues']) => {
      issue.title = 'changed by a listener'
    }
    const look = async () =>
      read.push(
        (await issues.find({ id: alice.id, admin: false }, { owner: 'alice', name: 'failing' }, 1))?.issue
          .title,
      )
    const all = [fail, reject, change, look]
    for (const listener of all) allot.allot.on('issues', listener)
    const { title } = await as(alice, 'POST', `${at}/issues`, { title: 'Told' })
    for (const listener of all) allot.allot.off('issues', listener)
    await waitFor(() => read.length > 0 && failures.length > 1)
    assert.deepEqual([title, read], ['Told', ['Told']])
    assert.deepEqual(failures.sort(), ['rejected by a listener', 'thrown by a listener'])
  })
})
