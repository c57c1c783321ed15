import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { aCheckout, attempt, commit, git, helperFor, urlFor } from '../git/client.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'
import { madeBefore, peopleBefore } from '../support/test-server.ts'
import { startLfs } from './served.ts'

const allot = madeBefore(() => startLfs())
const [alice] = peopleBefore(allot, 'alice')

/** A repository whose `*.bin` files are LFS objects, and its URL. */
const tracked = async (path: string) => {
  const folder = await aCheckout()
  await git(folder, 'lfs', 'install', '--local')
  await git(folder, 'remote', 'add', 'origin', urlFor(allot, path, alice))
  await git(folder, 'lfs', 'track', '*.bin')
  return folder
}

const cloned = async (path: string, who = alice) => {
  const folder = temporaryDirectory()
  await git(folder, 'clone', '--quiet', urlFor(allot, path, who), '.')
  await git(folder, 'lfs', 'install', '--local')
  await git(folder, 'lfs', 'pull')
  return folder
}

describe('git lfs', { skip: lacks('git-lfs') }, () => {
  it('pushes objects, which are counted, and downloads them again', async () => {
    const path = await allot.repository(alice, 'demo', { private: true })
    const folder = await tracked(path)
    const [one, other] = [randomBytes(300_000), randomBytes(2_000_000)]
    await commit(folder, { 'one.bin': one, 'other.bin': other })
    await git(folder, 'push', '--quiet', 'origin', 'main')
    assert.equal(await allot.lfsBytesOf('alice'), 2_300_000)
    const clone = await cloned(path)
    assert.ok(readFileSync(join(clone, 'one.bin')).equals(one))
    assert.ok(readFileSync(join(clone, 'other.bin')).equals(other))
    await git(clone, 'lfs', 'fsck')
    await allot.assertCounted('alice')
  })

  it('sends its credentials with each object, from every source of credentials', async () => {
    const path = await allot.repository(alice, 'credentials', { private: true })
    const basic = Buffer.from(`${alice.name}:${alice.token}`).toString('base64')
    const ways = {
      header: ['config', 'http.extraHeader', `Authorization: Basic ${basic}`],
      helper: ['config', 'credential.helper', helperFor(alice)],
    }
    for (const [name, way] of Object.entries(ways)) {
      const folder = await aCheckout()
      await git(folder, 'lfs', 'install', '--local')
      await git(folder, ...way)
      await git(folder, 'remote', 'add', 'origin', `${allot.base}/${path}.git`)
      await git(folder, 'lfs', 'track', '*.bin')
      const content = randomBytes(10_000)
      await commit(folder, { [`${name}.bin`]: content })
      await git(folder, 'push', '--quiet', '--force', 'origin', 'main')
      const clone = temporaryDirectory()
      await git(clone, 'init', '--quiet')
      await git(clone, 'lfs', 'install', '--local')
      await git(clone, ...way)
      await git(clone, 'remote', 'add', 'origin', `${allot.base}/${path}.git`)
      await git(clone, 'pull', '--quiet', 'origin', 'main')
      assert.ok(readFileSync(join(clone, `${name}.bin`)).equals(content), name)
    }
  })

  it('gets the reason when the server refuses a push', async () => {
    const path = await allot.repository(alice, 'closed')
    const bob = await allot.person('bob')
    const folder = await tracked(path)
    await commit(folder, { 'a.bin': randomBytes(1000) })
    await git(folder, 'remote', 'set-url', 'origin', urlFor(allot, path, bob))
    const { code, err } = await attempt(folder, ['lfs', 'push', 'origin', 'main'])
    assert.notEqual(code, 0)
    assert.match(err, /bob may not push to this repository/)
  })

  it('pushes without a word about file locking, and says for a lock that the server has none', async () => {
    const path = await allot.repository(alice, 'shared', { private: true })
    const folder = await aCheckout()
    await git(folder, 'lfs', 'install', '--local')
    await git(folder, 'config', 'credential.helper', helperFor(alice))
    await git(folder, 'remote', 'add', 'origin', `${allot.base}/${path}.git`)
    await git(folder, 'lfs', 'track', '--lockable', '*.bin')
    await commit(folder, { 'a.bin': randomBytes(1000) })
    const { code, err } = await attempt(folder, ['push', 'origin', 'main'])
    assert.equal(code, 0, err)
    assert.doesNotMatch(err, /lock|error|warning/i)
    for (const words of [['lock', 'a.bin'], ['locks'], ['unlock', 'a.bin'], ['unlock', '--id=1']]) {
      const refused = await attempt(folder, ['lfs', ...words])
      assert.notEqual(refused.code, 0)
      assert.match(refused.err, /: this server does not support file locking/)
    }
  })

  it('uploads, downloads and is refused locks at the former name of a private repository', async () => {
    await allot.repository(alice, 'before', { private: true })
    const folder = await aCheckout()
    await git(folder, 'lfs', 'install', '--local')
    await git(folder, 'config', 'credential.helper', helperFor(alice))
    await git(folder, 'remote', 'add', 'origin', `${allot.base}/alice/before.git`)
    await git(folder, 'lfs', 'track', '*.bin')
    await allot.as(alice, 'PATCH', '/repos/alice/before', { name: 'after' })
    const content = randomBytes(1000)
    await commit(folder, { 'a.bin': content })
    await git(folder, 'push', '--quiet', 'origin', 'main')
    assert.match((await attempt(folder, ['lfs', 'lock', 'a.bin'])).err, /does not support file locking/)
    for (const name of ['before', 'after'])
      assert.ok(readFileSync(join(await cloned(`alice/${name}`), 'a.bin')).equals(content), name)
  })
})
