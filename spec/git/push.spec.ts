import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { folderOf } from '../../lib/git/folders.ts'
import { initialize } from '../../lib/git/initialize.ts'
import { fetchFrom } from '../../lib/git/remote-fetch.ts'
import { assertError } from '../support/expectations.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore, peopleBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { aCheckout, attempt, commit, git, urlFor } from './client.ts'
import { craftedPack, deltaTo, type Entry } from './crafted-pack.ts'
import { deepFile, largeCommits, longHeader, longNames, type Planted, plant } from './planted.ts'
import { scatter } from './scene.ts'
import { bytesIn, startGit } from './served.ts'
import { pktLine } from './slow-push.ts'

const allot = madeBefore(() => startGit())
const [alice] = peopleBefore(allot, 'alice')

const resource = async (path: string) => (await allot.as(alice, 'GET', `/repos/${path}`)).body

/** A repository on the server with one commit, and a checkout of it. */
const pushed = async (name: string, more = {}) => {
  const path = await allot.repository(alice, name, more)
  const checkout = await aCheckout()
  await git(checkout, 'remote', 'add', 'origin', urlFor(allot, path, alice))
  await git(checkout, 'push', '--quiet', 'origin', 'main')
  return { path, checkout }
}

const NONE = '0'.repeat(40)

/** Sends a push as a client could make it by hand. */
const send = async (path: string, commands: readonly string[], pack: Buffer) => {
  const [first, ...others] = commands
  const lines = [`${first}\0 report-status side-band-64k`, ...others].map(pktLine)
  const answer = await fetch(`${urlFor(allot, path)}/git-receive-pack`, {
    method: 'POST',
    headers: {
      authorization: `token ${alice.token}`,
      'content-type': 'application/x-git-receive-pack-request',
    },
    body: Buffer.concat([Buffer.from(`${lines.join('')}0000`), pack]),
  })
  return { status: answer.status, text: await answer.text() }
}

describe('git push', () => {
  it('fills an empty repository, whose size is counted afterwards', async () => {
    const path = await allot.repository(alice, 'filled')
    assert.equal((await resource(path)).empty, true)
    const checkout = await aCheckout({ big: randomBytes(300_000), 'späte Datei': 'ü' })
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'main')
    const { empty, size } = await resource(path)
    assert.equal(empty, false)
    assert.ok(size >= 293)
    await allot.assertCounted('alice')
    const clones = temporaryDirectory()
    await git(clones, 'clone', '--quiet', urlFor(allot, path), 'one')
    assert.equal(await git(`${clones}/one`, 'rev-parse', 'HEAD'), await git(checkout, 'rev-parse', 'HEAD'))
  })

  it('accepts tags, branches, forced changes and deletions, and counts each', async () => {
    const { checkout } = await pushed('changing')
    await git(checkout, 'tag', '--annotate', '--message', 'a tag', 'v1')
    await git(checkout, 'push', '--quiet', 'origin', 'v1', 'main:side')
    await allot.assertCounted('alice')
    await git(checkout, 'commit', '--quiet', '--amend', '--message', 'other')
    const refused = await attempt(checkout, ['push', 'origin', 'main'])
    assert.match(refused.err, /rejected/)
    await git(checkout, 'push', '--quiet', '--force', 'origin', 'main')
    await git(checkout, 'push', '--quiet', 'origin', ':side', ':v1')
    await allot.assertCounted('alice')
    assert.equal(
      await git(checkout, 'ls-remote', '--heads', '--tags', 'origin'),
      `${await git(checkout, 'rev-parse', 'HEAD')}\trefs/heads/main`,
    )
  })

  it('makes the first branch the default when the configured default does not exist', async () => {
    const path = await allot.repository(alice, 'named')
    const checkout = await aCheckout()
    await git(checkout, 'tag', 'v0')
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'v0')
    assert.equal((await resource(path)).empty, true, 'a tag alone is nothing to check out')
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'main:trunk')
    const { empty, default_branch } = await resource(path)
    assert.deepEqual([empty, default_branch], [false, 'trunk'])
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'main')
    assert.equal((await resource(path)).default_branch, 'trunk')
    await allot.assertCounted('alice')
    assert.match(
      await git(checkout, 'ls-remote', '--symref', urlFor(allot, path), 'HEAD'),
      /refs\/heads\/trunk/,
    )
  })

  it('makes the first branch by name the default, rather than one below the configured default', async () => {
    const path = await allot.repository(alice, 'below')
    const checkout = await aCheckout()
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'main:aaa', 'main:main/x')
    assert.equal((await resource(path)).default_branch, 'aaa')
  })

  it('is followed by clones that check out the default branch set by the API', async () => {
    const { path, checkout } = await pushed('switched')
    await git(checkout, 'push', '--quiet', 'origin', 'main:a-rather-long-name')
    const { status } = await allot.as(alice, 'PATCH', `/repos/${path}`, {
      default_branch: 'a-rather-long-name',
    })
    assert.equal(status, 200)
    await allot.assertCounted('alice')
    assert.match(
      await git(checkout, 'ls-remote', '--symref', 'origin', 'HEAD'),
      /refs\/heads\/a-rather-long-name/,
    )
    const refused = await attempt(checkout, ['push', 'origin', ':a-rather-long-name'])
    assert.match(refused.err, /refusing to delete the current branch/)
  })

  it('keeps the default branch when the API is given one that does not exist, unless there are no branches', async () => {
    const { path, checkout } = await pushed('kept')
    const ask = (default_branch: string) => allot.as(alice, 'PATCH', `/repos/${path}`, { default_branch })
    for (const name of ['nosuch', 'mai', 'main/x', 'refs/heads/main'])
      assertError(await ask(name), 422, /^default_branch: there is no branch named .*: push it first$/)
    assert.equal((await resource(path)).default_branch, 'main')
    assert.match(await git(checkout, 'ls-remote', '--symref', 'origin', 'HEAD'), /refs\/heads\/main/)
    assert.equal((await ask('main')).status, 200)
    const empty = await allot.repository(alice, 'unborn')
    const { status, body } = await allot.as(alice, 'PATCH', `/repos/${empty}`, { default_branch: 'later' })
    assert.deepEqual([status, body.default_branch], [200, 'later'])
  })

  it('stores a large pack as a pack, and a few objects as a file each', async () => {
    const { path, checkout } = await pushed('packed')
    const folder = await allot.folderOf(path)
    assert.match(await git(folder, 'count-objects', '-v'), /count: 3\n[\s\S]*packs: 0/)
    await commit(checkout, { big: randomBytes(2_000_000) })
    await git(checkout, 'push', '--quiet', 'origin', 'main')
    assert.match(await git(folder, 'count-objects', '-v'), /count: 3\n[\s\S]*packs: 1/)
    await allot.assertCounted('alice')
  })

  it('starts git gc when there are many loose objects, and counts the result', async () => {
    const { path, checkout } = await pushed('scattered')
    const folder = await allot.folderOf(path)
    scatter(folder)
    await commit(checkout, { c: 'more\n' })
    await git(checkout, 'push', '--quiet', 'origin', 'main')
    await waitFor(async () => /count: 0\n/.test(await git(folder, 'count-objects', '-v')))
    await waitFor(async () => (await resource(path)).size === Math.floor(bytesIn(folder) / 1024))
    await allot.assertCounted('alice')
    await git(temporaryDirectory(), 'clone', '--quiet', urlFor(allot, path))
  })

  it('succeeds when everything is up to date', async () => {
    const { checkout } = await pushed('same')
    assert.match((await attempt(checkout, ['push', 'origin', 'main'])).err, /up-to-date/)
  })

  it('is an event for each reference that changes, and a reference that it changes twice is refused', async () => {
    const { path, checkout } = await pushed('events')
    const first = await git(checkout, 'rev-parse', 'main')
    await commit(checkout, { a: 'two' })
    const second = await git(checkout, 'rev-parse', 'main')
    await git(checkout, 'push', '--quiet', 'origin', 'main:side')
    const heard: string[] = []
    const names = ['push', 'create', 'delete'] as const
    const listeners = names.map((name) => {
      const listener = ({ ref }: { ref: string }) => void heard.push(`${name} ${ref}`)
      allot.allot.on(name, listener)
      return () => allot.allot.off(name, listener)
    })
    const twice = [`${first} ${second} refs/heads/main`, `${first} ${NONE} refs/heads/main`]
    const refused = await send(path, twice, craftedPack([]))
    assert.deepEqual([refused.status, /changes a reference twice/.test(refused.text)], [400, true])
    const idle = [`${NONE} ${NONE} refs/heads/never`, `${second} ${second} refs/heads/side`]
    const { text } = await send(path, [...idle, `${first} ${second} refs/heads/main`], craftedPack([]))
    assert.match(text, /ok refs\/heads\/never\n.*ok refs\/heads\/side\n.*ok refs\/heads\/main/)
    for (const end of listeners) end()
    assert.deepEqual(heard, ['push refs/heads/main'])
  })

  it('refuses malformed objects, and leaves nothing', async () => {
    const { checkout } = await pushed('unsound')
    await allot.assertCounted('alice')
    const before = (await allot.allot.quota.info('alice')).used.size.repos.public
    const tree = await git(checkout, 'rev-parse', 'HEAD^{tree}')
    const text = `tree ${tree}\n\nx\n`
    const file = `${temporaryDirectory()}/commit`
    writeFileSync(file, text)
    const bad = await git(checkout, 'hash-object', '-t', 'commit', '-w', '--literally', file)
    const { code, err } = await attempt(checkout, ['push', 'origin', `${bad}:refs/heads/bad`])
    assert.equal(code, 1)
    assert.match(err, /fsck error|unpack/)
    await allot.assertCounted('alice')
    assert.equal((await allot.allot.quota.info('alice')).used.size.repos.public, before)
  })
})

describe('The faults of old histories', () => {
  const write = (checkout: string, type: 'commit' | 'tree', content: string | Buffer): Promise<string> => {
    const file = join(temporaryDirectory(), type)
    writeFileSync(file, content)
    return git(checkout, 'hash-object', '-t', type, '-w', '--literally', file)
  }
  const commitBy = (by: string, tree: string) =>
    `tree ${tree}\nauthor ${by}\ncommitter Ada <ada@example.test> 1700000000 +0000\n\nold\n`

  const DATE = '1700000000 +0000'
  for (const [fault, by, name] of [
    ['missingSpaceBeforeDate', `Ada <ada@example.test>${DATE}`, 'Ada'],
    ['badTimezone', 'Ada <ada@example.test> 1700000000 -051800', 'Ada'],
    ['zeroPaddedFilemode', `Ada <ada@example.test> ${DATE}`, 'Ada'],
    ['missingNameBeforeEmail', `<> ${DATE}`, ''],
    ['missingSpaceBeforeEmail', `Ada<ada@example.test> ${DATE}`, 'Ada'],
    ['badEmail', `Ada <ada@<example.test> ${DATE}`, 'Ada'],
    ['badName', `Ada> <ada@example.test> ${DATE}`, 'Ada>'],
    ['missingEmail', `Ada ${DATE}`, `Ada ${DATE}`],
  ] as const)
    it(`are let in by a push, a fork and a migration, and read: ${fault}`, async () => {
      const { path, checkout } = await pushed(fault)
      const blob = await git(checkout, 'rev-parse', 'HEAD:a')
      const inner = Buffer.concat([Buffer.from('100644 a\0'), Buffer.from(blob, 'hex')])
      const folder = Buffer.from(await write(checkout, 'tree', inner), 'hex')
      const mode = fault === 'zeroPaddedFilemode' ? '040000' : '40000'
      const tree = await write(checkout, 'tree', Buffer.concat([Buffer.from(`${mode} old\0`), folder]))
      const id = await write(checkout, 'commit', commitBy(by, tree))
      assert.match((await attempt(checkout, ['fsck'])).err, new RegExp(fault))
      await git(checkout, 'push', '--quiet', 'origin', `${id}:refs/heads/old`)

      const { body } = await allot.as(alice, 'GET', `/repos/${path}/git/commits/${id}`)
      assert.equal(body.commit.author.name, name)
      if (fault !== 'missingEmail') assert.equal(Date.parse(body.commit.author.date), 1_700_000_000_000)
      const read = await allot.as(alice, 'GET', `/repos/${path}/contents/old/a?ref=old`)
      assert.equal(read.status, 200)
      const fork = await allot.as(await allot.person(), 'POST', `/repos/${path}/forks`, {})
      assert.equal(fork.status, 202, fork.text)
      const ofFork = await allot.as(alice, 'GET', `/repos/${fork.body.full_name}/git/commits/${id}`)
      assert.equal(ofFork.status, 200)

      const directory = temporaryDirectory()
      await initialize('git', folderOf(directory, 1), 'main')
      const origin = { url: urlFor(allot, path), authorization: '' }
      const listener = { started: () => Promise.resolve() }
      const fetched = await fetchFrom(1, origin, { directory, git: 'git', isEmpty: true, ...listener })
      assert.equal(fetched.code, 0, fetched.stderr)
      assert.equal(await git(folderOf(directory, 1), 'rev-parse', 'old'), id)
    })
})

describe('A push', () => {
  const MIB = 1024 * 1024
  for (const [what, bad, reason, good] of [
    [
      'a commit of more than 1 MiB',
      largeCommits(1, MIB),
      /the commit [0-9a-f]{40} of this push is larger than 1048576 bytes/,
      largeCommits(1, MIB - 1000),
    ],
    [
      'a commit with more than 1,000 lines of headers',
      longHeader('x', 997),
      /the commit [0-9a-f]{40} of this push has more than 1000 lines of headers/,
      longHeader('x', 996),
    ],
    [
      'a name of more than 255 bytes',
      longNames(2, 255),
      /the tree [0-9a-f]{40} of this push has a name of 257 bytes, and at most 255 are possible/,
      longNames(2, 252),
    ],
    [
      'a path of more than 4,096 bytes',
      deepFile(17),
      /the path of [0-9a-f]{40} in this push has 4[12]\d\d bytes, and at most 4096 are possible/,
      deepFile(16),
    ],
  ] as const)
    it(`is refused with ${what}, alone or with others, and accepted with a little less`, async () => {
      const path = await allot.repository(alice, `limit-${bad.at(-1)!.id}`)
      const push = async (objects: Planted, ...refs: string[]) => {
        const checkout = await aCheckout({ large: randomBytes(100_000) })
        await git(checkout, 'branch', 'other')
        await plant(join(checkout, '.git'), objects)
        return attempt(checkout, ['push', '--quiet', '--force', urlFor(allot, path, alice), ...refs])
      }
      for (const refs of [['main'], ['main', 'other']]) {
        const { code, err } = await push(bad, ...refs)
        assert.notEqual(code, 0)
        assert.match(err, reason)
        assert.equal((await allot.as(alice, 'GET', `/repos/${path}/branches`)).body.length, 0)
      }
      for (const refs of [['main'], ['main', 'other']])
        assert.deepEqual(await push(good, ...refs), { code: 0, out: '', err: '' })
    })

  for (const [what, base, made, reason] of [
    ['a folder without long names', longNames(4, 240), longNames(5, 240), undefined],
    ['a name of more than 255 bytes', longNames(4, 240), longNames(4, 255), /has a name of 257 bytes/],
    [
      'a commit with more than 1,000 lines of headers',
      longHeader('x', 900),
      longHeader('x', 997),
      /has more than 1000 lines of headers/,
    ],
  ] as const)
    it(`whose deltas make ${what} of what is there is ${reason ? 'refused' : 'accepted'}`, async () => {
      const path = await allot.repository(alice, `delta-${made.at(-1)!.id}`)
      const checkout = await aCheckout()
      await plant(join(checkout, '.git'), base)
      const url = urlFor(allot, path, alice)
      assert.equal((await attempt(checkout, ['push', '--quiet', '--force', url, 'main'])).err, '')
      const entries = made.slice(1).flatMap((object, at): Entry[] => {
        const old = base[at + 1]!
        if (old.id === object.id) return []
        return [{ type: 7, content: deltaTo(old.content, object.content), base: old.id }]
      })
      const command = `${NONE} ${made.at(-1)!.id} refs/heads/new`
      const { text } = await send(path, [command], craftedPack(entries))
      assert.match(text, reason ?? /ok refs\/heads\/new/)
      const branches = (await allot.as(alice, 'GET', `/repos/${path}/branches`)).body
      assert.equal(branches.length, reason ? 1 : 2)
    })
})
