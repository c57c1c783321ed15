import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { files, lfsCopies } from '../../lib/records/schema/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { signal } from '../driver-spec/fixture.ts'
import { run } from '../support/child.ts'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { type Person, start, startBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

const folder = temporaryDirectory()
const allot = startBefore()

const made = async (person: Person, path: string, body: object, status = 201) => {
  const answer = await allot.as(person, 'POST', path, body)
  assert.equal(answer.status, status, answer.text)
  return answer.body
}

/** Not synchronous: the server answers in this process. */
const git = async (...args: string[]): Promise<string> => {
  const env = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', HOME: folder, GIT_TERMINAL_PROMPT: '0' }
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.test']
  return (await run('git', [...identity, ...args], { env })).stdout
}

const urlOf = (person: Person, path: string): string =>
  `${allot.base.replace('://', `://${person.name}:${person.token}@`)}/${path}.git`

/** A repository with two commits, a branch and a tag. */
const aRepository = async (owner: Person, name: string, more: object = {}) => {
  await made(owner, '/user/repos', { name, auto_init: true, description: 'A source', ...more })
  const work = `${folder}/${owner.name}-${name}`
  await git('clone', '--quiet', urlOf(owner, `${owner.name}/${name}`), work)
  await git('-C', work, 'commit', '--quiet', '--allow-empty', '-m', 'second')
  await git('-C', work, 'tag', 'v1')
  await git('-C', work, 'push', '--quiet', 'origin', 'HEAD', 'HEAD:refs/heads/topic', 'v1')
  return `${owner.name}/${name}`
}

const refsOf = (person: Person, path: string): Promise<string> => git('ls-remote', urlOf(person, path))

const usedBy = async (person: Person) => (await allot.as(person, 'GET', '/user/quota')).body.used.size

const addLfs = async (owner: Person, id: number, text: string) => {
  const oid = createHash('sha256').update(text).digest('hex')
  const user = { id: owner.id, admin: false, username: owner.name }
  const content = Readable.from([Buffer.from(text)], { objectMode: false })
  await allot.allot.hosting.lfs.add(user, id, { oid, size: text.length }, content, undefined)
}

describe('A fork', () => {
  it('has every branch, tag and LFS object, its parent, and counts for its own owner', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const path = await aRepository(alice, 'app')
    await addLfs(alice, (await allot.as(alice, 'GET', `/repos/${path}`)).body.id, 'a large object')
    const fork = await made(bob, `/repos/${path}/forks`, {}, 202)
    assert.deepEqual(
      [fork.full_name, fork.fork, fork.parent.full_name, fork.empty, fork.default_branch, fork.description],
      [`${bob.name}/app`, true, path, false, 'main', 'A source'],
    )
    assert.equal(await refsOf(bob, fork.full_name), await refsOf(alice, path))
    const size = await usedBy(bob)
    assert.ok(size.repos.public > 0)
    assert.equal(size.git.LFS, 'a large object'.length)
    assert.equal((await allot.as(bob, 'GET', `/repos/${path}`)).body.forks_count, 1)
    assertList(await allot.as(undefined, 'GET', `/repos/${path}/forks`), 'full_name', [fork.full_name])
    const work = `${folder}/pushed`
    await git('clone', '--quiet', urlOf(bob, fork.full_name), work)
    await git('-C', work, 'commit', '--quiet', '--allow-empty', '-m', 'only here')
    await git('-C', work, 'push', '--quiet')
    assert.notEqual(await refsOf(bob, fork.full_name), await refsOf(alice, path))
  })

  it('stays sound when its parent is deleted, and is not counted after its own deletion', async () => {
    const [alice, bob, carl] = [await allot.person(), await allot.person(), await allot.person()]
    const path = await aRepository(alice, 'parent')
    for (const person of [bob, carl]) await made(person, `/repos/${path}/forks`, {}, 202)
    assertNoContent(await allot.as(carl, 'DELETE', `/repos/${carl.name}/parent`))
    assert.equal((await allot.as(bob, 'GET', `/repos/${path}`)).body.forks_count, 1)
    const refs = await refsOf(alice, path)
    assertNoContent(await allot.as(alice, 'DELETE', `/repos/${path}`))
    const { fork, parent } = (await allot.as(bob, 'GET', `/repos/${bob.name}/parent`)).body
    assert.deepEqual([fork, parent], [false, null])
    assert.equal(await refsOf(bob, `${bob.name}/parent`), refs)
    await git('clone', '--quiet', urlOf(bob, `${bob.name}/parent`), `${folder}/sound`)
    await git('-C', `${folder}/sound`, 'fsck', '--strict')
  })

  it('of a private repository is private, and shows its parent to those who can read it', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const path = await aRepository(alice, 'secret', { private: true })
    assertNotFound(await allot.as(bob, 'POST', `/repos/${path}/forks`, {}))
    assertNotFound(await allot.as(bob, 'GET', `/repos/${path}/forks`))
    const at = `/repos/${path}/collaborators/${bob.name}`
    await allot.as(alice, 'PUT', at, { permission: 'read' })
    const fork = await made(bob, `/repos/${path}/forks`, { name: 'mine' }, 202)
    assert.deepEqual([fork.private, fork.parent.full_name], [true, path])
    assertList(await allot.as(alice, 'GET', `/repos/${path}/forks`), 'name', [])
    assertList(await allot.as(bob, 'GET', `/repos/${path}/forks`), 'name', ['mine'])
    await allot.as(alice, 'DELETE', at)
    const { fork: isFork, parent } = (await allot.as(bob, 'GET', `/repos/${bob.name}/mine`)).body
    assert.deepEqual([isFork, parent], [true, null])
  })

  it('of a repository of a limited account is not public', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const path = await aRepository(alice, 'limited')
    await allot.as(allot.root, 'PATCH', `/admin/users/${alice.name}`, { visibility: 'limited' })
    assert.equal((await made(bob, `/repos/${path}/forks`, {}, 202)).private, true)
  })

  it('goes into an organization in which the user can create, once, and not beside its parent', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const path = await aRepository(alice, 'spread')
    await made(bob, '/orgs', { username: 'spreaders' })
    await made(alice, '/orgs', { username: 'closed' })
    const fork = (body: object, person = bob) => allot.as(person, 'POST', `/repos/${path}/forks`, body)
    assert.equal((await fork({ organization: 'spreaders' })).body.full_name, 'spreaders/spread')
    assertError(await fork({ organization: 'spreaders', name: 'again' }), 409, /already has a fork/)
    assertError(await fork({ organization: 'closed' }), 403)
    assertNotFound(await fork({ organization: 'nowhere' }))
    assertError(await fork({}, alice), 409, /already/)
    await made(bob, '/user/repos', { name: 'taken' })
    assertError(await fork({ name: 'taken' }), 409, /already has/)
    assertError(await fork({ name: 'a b' }), 422, /^name: /)
    assertError(await fork({ name: 7 }), 422, /^name: /)
    assert.equal((await allot.as(bob, 'GET', `/repos/${path}`)).body.forks_count, 1)
    assert.equal((await fork({})).status, 202)
  })
})

const LACKS = 'a fork lacks an LFS object, whose file is lost or damaged: run allot verify'

describe('A fork of a repository with lost and damaged LFS objects', () => {
  it('has the others, leaves no file open, and is logged with what it lacks', async (t) => {
    const files = { directory: `${folder}/lost` }
    const logged: [fields: object, text: string][] = []
    const log = {
      error: (fields: object, text: string) => void logged.push([fields, text]),
      info: () => undefined,
    }
    const lossy = await start({ files, log })
    const [alice, bob] = [await lossy.person('alice'), await lossy.person('bob')]
    await lossy.as(alice, 'POST', '/user/repos', { name: 'app' })
    const { id } = (await lossy.as(alice, 'GET', '/repos/alice/app')).body
    const user = { id: alice.id, admin: false, username: 'alice' }
    const texts = ['kept', 'lost', 'damaged']
    const oids = texts.map((text) => createHash('sha256').update(text).digest('hex'))
    for (const [index, text] of texts.entries()) {
      const content = Readable.from([Buffer.from(text)], { objectMode: false })
      const object = { oid: oids[index]!, size: text.length }
      await lossy.allot.hosting.lfs.add(user, id, object, content, undefined)
    }
    const stored = readdirSync(`${folder}/lost`, { recursive: true }).map((path) => `${folder}/lost/${path}`)
    const fileOf = (oid: string) => stored.find((path) => path.includes(`/${oid}-`))!
    rmSync(fileOf(oids[1]!))
    // Larger than what is read at once.
    writeFileSync(fileOf(oids[2]!), 'damaged'.repeat(100_000))

    t.after(async () => {
      for (const oid of oids.slice(1)) await lossy.allot.hosting.lfs.remove(user, id, oid)
      await lossy.stop()
    })
    const { status, text } = await lossy.as(bob, 'POST', '/repos/alice/app/forks', {})
    assert.equal(status, 202, text)
    const fork = (await lossy.as(bob, 'GET', '/repos/bob/app')).body
    const found = await lossy.allot.hosting.lfs.find(fork.id, oids)
    assert.deepEqual(
      found.map((object) => object !== undefined),
      [true, false, false],
    )
    const lacks = logged
      .filter(([, text]) => text === LACKS)
      .map(([fields]) => ({ ...fields, err: undefined }))
    assert.deepEqual(
      new Set(lacks),
      new Set(oids.slice(1).map((object) => ({ repository: id, fork: fork.id, object, err: undefined }))),
    )
    // A file that was read is closed beside the response.
    if (process.platform === 'linux')
      await waitFor(
        () =>
          !readdirSync('/proc/self/fd')
            .map(targetOf)
            .some((path) => path.includes('/lost/lfs/')),
      )
  })
})

/** Path of an open file. */
const targetOf = (descriptor: string): string => {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`)
  } catch {
    return ''
  }
}

describe('A server that is killed while a fork gets its LFS objects', () => {
  it('gives it the others after the next start, and counts each once', async () => {
    const driver = memory()
    const directories = {
      repositories: { directory: `${folder}/killed/r` },
      files: { directory: `${folder}/killed/f` },
    }
    const objectsOf = (id: number) => driver.read((tx) => files.list(tx, 'owner', { prefix: ['lfs', id] }))
    const dead = signal()
    let forkId: number | undefined
    let isDead = false
    const dying: StorageDriver = {
      ...driver,
      async write(work) {
        const hasOne = forkId !== undefined && (await objectsOf(forkId)).length === 1
        if (!isDead && !hasOne) return driver.write(work)
        isDead = true
        dead.happen()
        return new Promise(() => {})
      },
    }
    const first = await openAllot({ driver: dying, ...directories })
    const { accounts, repositories, lfs, forks } = first.hosting
    const [alice, bob] = [
      await accounts.createUser({ name: 'alice' }),
      await accounts.createUser({ name: 'bob' }),
    ]
    const source = await repositories.create(alice, alice, { name: 'app', autoInit: true })
    for (const text of ['one', 'two', 'three']) {
      const oid = createHash('sha256').update(text).digest('hex')
      const content = Readable.from([Buffer.from(text)], { objectMode: false })
      const user = { id: alice.id, admin: false, username: 'alice' }
      await lfs.add(user, source.id, { oid, size: text.length }, content, undefined)
    }
    forkId = source.id + 1
    await Promise.race([forks.fork(bob, { owner: 'alice', name: 'app' }, {}), dead.happened])
    assert.ok(isDead)

    const again = await openAllot({ driver, ...directories })
    const fork = (await again.hosting.repositories.find(bob, 'bob', 'app'))!
    const isPending = async () => (await driver.read((tx) => lfsCopies.get(tx, [fork.id]))) !== undefined
    await waitFor(async () => !(await isPending()))
    assert.equal((await objectsOf(fork.id)).length, 3)
    assert.equal((await again.quota.info('bob')).used.size.git.LFS, 'onetwothree'.length)
    assert.deepEqual((await again.verify()).messages, [])
    await again.close()
  })
})

describe('An Allot without forks', () => {
  it('does not serve them', async () => {
    const without = await start({ forks: false })
    await without.as(without.root, 'POST', '/user/repos', { name: 'x' })
    for (const method of ['GET', 'POST'])
      assertNotFound(
        await without.as(without.root, method, '/repos/root/x/forks', method === 'POST' ? {} : undefined),
      )
  })
})
