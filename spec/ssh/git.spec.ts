import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, describe, it } from 'node:test'
import type { RefEvent } from '../../lib/webhooks/events.ts'
import { aCheckout, attempt, commit, git } from '../git/client.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore, peopleBefore } from '../support/test-server.ts'
import { gitWith, sshEnvironment, startSsh } from './client.ts'

const MAX_PUSH = 1024 * 1024

let key: string
const pushes: RefEvent[] = []
const allot = madeBefore(() => startSsh({ git: { maxPushSize: MAX_PUSH } }))
const [alice] = peopleBefore(allot, 'alice')
before(async () => {
  key = await allot.key(alice)
  allot.allot.on('push', (push) => void pushes.push(push))
})

const refs = async (path: string, ...more: string[]) =>
  (await gitWith(key, '/', 'ls-remote', ...more, allot.url(path))).split('\n').map((line) => line.slice(41))

describe('git over SSH', () => {
  it('pushes, clones and fetches', async () => {
    const path = await allot.repository(alice, 'demo', { private: true })
    const checkout = await aCheckout()
    await gitWith(key, checkout, 'push', '--quiet', allot.url(path), 'main')
    const clone = temporaryDirectory()
    await gitWith(key, clone, 'clone', '--quiet', allot.url(path), '.')
    const id = await commit(checkout, { b: 'two\n' })
    await gitWith(key, checkout, 'push', '--quiet', allot.url(path), 'main')
    await gitWith(key, clone, 'pull', '--quiet')
    assert.equal(await git(clone, 'rev-parse', 'HEAD'), id)
    await allot.assertCounted('alice')
  })

  for (const [type, bits] of [
    ['ecdsa', 256],
    ['ecdsa', 521],
    ['rsa', 2048],
  ] as const)
    it(`signs in with a key of the type ${type} and ${bits} bits`, async () => {
      const path = await allot.repository(alice, `${type}-${bits}`, { private: true })
      const other = await allot.key(alice, type, bits)
      await gitWith(other, await aCheckout(), 'push', '--quiet', allot.url(path), 'main')
      assert.match(await gitWith(other, '/', 'ls-remote', allot.url(path)), /refs\/heads\/main/)
    })

  it('speaks version 2 of the protocol, and the older ones', async () => {
    const path = await allot.repository(alice, 'versions')
    const checkout = await aCheckout()
    await gitWith(key, checkout, 'push', '--quiet', allot.url(path), 'main')
    for (const version of ['0', '1', '2']) {
      const clone = temporaryDirectory()
      const env = { ...sshEnvironment(key), GIT_TRACE_PACKET: '1' }
      const args = ['-c', `protocol.version=${version}`, 'clone', allot.url(path), clone]
      const { code, err } = await attempt(clone, args, env)
      assert.equal(code, 0, err)
      assert.equal(/< version 2/.test(err), version === '2')
      assert.equal(await git(clone, 'rev-parse', 'HEAD'), await git(checkout, 'rev-parse', 'HEAD'))
    }
  })

  it('changes, deletes and refuses references as over HTTP, and tells the host', async () => {
    const path = await allot.repository(alice, 'changes')
    const checkout = await aCheckout()
    const url = allot.url(path)
    await gitWith(key, checkout, 'push', '--quiet', url, 'main', 'main:other', 'main:refs/tags/v1')
    await gitWith(key, checkout, 'push', '--quiet', url, ':other')
    assert.deepEqual(await refs(path, '--refs'), ['refs/heads/main', 'refs/tags/v1'])
    assert.match(await gitWith(key, checkout, 'push', '--porcelain', url, 'main'), /up to date/)
    await git(checkout, 'commit', '--quiet', '--amend', '--message', 'amended')
    const { code, err } = await attempt(checkout, ['push', url, 'main'], sshEnvironment(key))
    assert.deepEqual([code, /non-fast-forward|fetch first/.test(err)], [1, true], err)
    await gitWith(key, checkout, 'push', '--quiet', '--force', url, 'main')
    const told = pushes.filter(({ repository }) => path === `alice/${repository.name}`)
    assert.deepEqual(
      told.map(({ sender, ref }) => [sender, ref]),
      ['heads/main', 'heads/other', 'tags/v1', 'heads/main'].map((ref) => ['alice', `refs/${ref}`]),
    )
  })

  it('has a push counted before git reports success, also for an owner who is over quota', async () => {
    const path = await allot.repository(alice, 'full')
    await allot.allot.quota.rules.create({ name: 'nothing', limit: 0, subjects: ['size:all'] })
    await allot.allot.quota.groups.create({ name: 'tight', rules: ['nothing'] })
    await allot.allot.quota.groups.assign('alice', 'tight')
    const before = (await allot.allot.quota.info('alice')).used.size.repos.public
    const content = randomBytes(100_000)
    await gitWith(key, await aCheckout({ content }), 'push', '--quiet', allot.url(path), 'main')
    const { used } = await allot.allot.quota.info('alice')
    assert.ok(Number(used.size.repos.public) - Number(before) > 100_000)
    assert.equal(await allot.allot.quota.isOver('alice', 'size:all'), true)
    await allot.assertCounted('alice')
  })

  it('refuses a push beyond the limit with the sentence that git has over HTTP', async () => {
    const path = await allot.repository(alice, 'large')
    const checkout = await aCheckout({ large: randomBytes(4 * MAX_PUSH) })
    const { code, err } = await attempt(checkout, ['push', allot.url(path), 'main'], sshEnvironment(key))
    assert.equal(code, 1, err)
    assert.match(err, /exceeds maximum allowed size/)
    assert.deepEqual(await refs(path), [''])
    await allot.assertCounted('alice')
  })

  it('sends an object that no reference reaches to who knows its full id', async () => {
    const path = await allot.repository(alice, 'secret')
    const checkout = await aCheckout()
    await gitWith(key, checkout, 'push', '--quiet', allot.url(path), 'main')
    const dropped = await commit(checkout, { secret: 'one' })
    await gitWith(key, checkout, 'push', '--quiet', allot.url(path), 'main:drop')
    await gitWith(key, checkout, 'push', '--quiet', allot.url(path), ':drop')
    for (const version of ['0', '2']) {
      const args = ['-c', `protocol.version=${version}`, 'fetch', allot.url(path), dropped]
      const empty = temporaryDirectory()
      await git(empty, 'init', '--quiet')
      const { code, err } = await attempt(empty, args, sshEnvironment(key))
      assert.equal(code, 0, err)
    }
  })
})
