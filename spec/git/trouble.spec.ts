import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { chunksOf } from '../../lib/git/small-body.ts'
import type { StorageDriver } from '../../lib/index.ts'
import { diskEntries } from '../../lib/records/schema/index.ts'
import { setSequence } from '../../lib/records/store.ts'
import { repair } from '../../lib/verify.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { stopTimers } from '../support/stopped-timers.ts'
import { waitFor } from '../support/wait-for.ts'
import { wrappedGit } from '../support/wrapped-git.ts'
import { aCheckout, attempt, commit, git, urlFor } from './client.ts'
import { large, notesIn, quarantines, scene } from './scene.ts'
import { beginPush, pushBody } from './slow-push.ts'

describe('A deleted repository whose folder cannot be removed from the disk', () => {
  it('is gone all the same, is logged, and does not keep others from being removed', async () => {
    const logged: string[] = []
    const log = { error: (_: object, text: string) => void logged.push(text), info: () => undefined }
    const { allot, alice } = await scene({ log })
    const paths = [await allot.repository(alice, 'stuck'), await allot.repository(alice, 'free')]
    const folders = await Promise.all(paths.map((path) => allot.folderOf(path)))
    // The repository is renamed to this name before it is removed, and that fails.
    mkdirSync(`${folders[0]}.discarded/filled`, { recursive: true })
    const deletions = paths.map((path) => allot.as(alice, 'DELETE', `/repos/${path}`))
    assert.deepEqual(
      (await Promise.all(deletions)).map(({ status }) => status),
      [204, 204],
    )
    for (const path of paths) assert.equal((await allot.as(alice, 'GET', `/repos/${path}`)).status, 404)
    await waitFor(() => !existsSync(folders[1]!) && logged.length > 0)
    assert.deepEqual(logged, [
      'what was deleted could not be removed from the disk; a later start tries again',
    ])
  })
})

describe('A repository whose id is given again', () => {
  const one = async () => {
    const { allot, alice, driver } = await scene({ log: { error: () => undefined, info: () => undefined } })
    const path = await allot.repository(alice, 'one', { auto_init: true })
    const { id } = (await allot.as(alice, 'GET', `/repos/${path}`)).body
    const create = () => allot.as(alice, 'POST', '/user/repos', { name: 'two' })
    const createAgain = async () => {
      await driver.write(async (tx) => setSequence(tx, 'repository', id))
      assert.equal((await create()).status, 500)
    }
    return { allot, driver, create, createAgain, id: id as number, folder: await allot.folderOf(path) }
  }

  it('keeps its git data when another is created, which succeeds once the sequence is repaired', async () => {
    const { allot, driver, create, createAgain } = await one()
    await createAgain()
    await allot.assertCounted('alice')
    assert.equal((await repair(driver)).repaired, 1)
    assert.equal((await create()).status, 201)
    await allot.assertCounted('alice')
  })

  it('gets no git data of another, when its own is lost', async () => {
    const { driver, createAgain, folder } = await one()
    rmSync(folder, { recursive: true })
    await createAgain()
    await repair(driver)
    assert.ok(!existsSync(folder))
  })

  it('keeps its git data when the journal of the disk has it as abandoned', async () => {
    const { allot, driver, id } = await one()
    await driver.write((tx) => diskEntries.save(tx, { what: 'folder', repository: id, since: 0 }))
    await allot.allot.hosting.disk.settleAbandoned()
    await allot.assertCounted('alice')
    assert.equal(await driver.read((tx) => diskEntries.get(tx, ['folder', id])), undefined)
  })
})

describe('The limits', () => {
  it('answer 503 with Retry-After when too many requests run at once', async () => {
    const { allot, alice, url } = await scene({ git: { maxConcurrent: 1 } })
    const path = await allot.repository(alice, 'one')
    const push = await beginPush(url(path), alice.token, await pushBody(await large(), 'main'))
    const folder = await allot.folderOf(path)
    await waitFor(() => quarantines(folder).length > 0)
    const answer = await fetch(`${url(path)}/info/refs?service=git-upload-pack`)
    assert.equal(answer.status, 503)
    assert.equal(answer.headers.get('retry-after'), '1')
    assert.match((await push.finish()).text, /ok refs/)
    assert.equal((await fetch(`${url(path)}/info/refs?service=git-upload-pack`)).status, 200)
  })

  for (const [option, git] of [
    ['idle', { idleTimeout: 200 }],
    ['deadline', { timeout: 300 }],
  ] as const)
    it(`stop a push that exceeds git.${option}`, async () => {
      const logged: unknown[] = []
      const info = ({ cause }: { cause?: unknown }) => void logged.push(cause)
      const { allot, driver, alice, url } = await scene({ git, log: { error: () => undefined, info } })
      const path = await allot.repository(alice, 'slow')
      const push = await beginPush(url(path), alice.token, await pushBody(await large(), 'main'))
      await waitFor(() => logged.includes(option))
      assert.doesNotMatch((await push.finish()).text, /ok refs/)
      await waitFor(async () => (await notesIn(driver)) === 0)
      assert.deepEqual(quarantines(await allot.folderOf(path)), [])
      await allot.assertCounted('alice')
    })

  it('refuse a push larger than git.maxPushSize, and leave nothing', async () => {
    const { allot, alice } = await scene({ git: { maxPushSize: '100 KiB' } })
    const path = await allot.repository(alice, 'bounded')
    const checkout = await large()
    const { code, err } = await attempt(checkout, ['push', urlFor(allot, path, alice), 'main'])
    assert.notEqual(code, 0)
    assert.match(err, /exceeds maximum allowed size/)
    await allot.assertCounted('alice')
    assert.ok((await allot.allot.quota.info('alice')).used.size.repos.public < 1000)
    await commit(checkout, { big: 'small' })
    await git(checkout, 'checkout', '--quiet', '--orphan', 'fresh')
    await commit(checkout, { big: 'small' })
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'fresh')
  })
})

describe('A request whose body stops', () => {
  it('is told so after the idle time, which begins again with each byte, and is no failure of the server', async (t) => {
    const logged: string[] = []
    const log = { error: (_: object, text: string) => void logged.push(text), info: () => undefined }
    const { allot, alice, url } = await scene({ log, git: { idleTimeout: 100 } })
    const path = await allot.repository(alice, 'stops')
    const stopped = async (service: string) => {
      const headers = {
        authorization: `token ${alice.token}`,
        'content-type': `application/x-git-${service}-request`,
        'content-length': 1000,
      }
      const req = request(`${url(path)}/git-${service}`, { method: 'POST', headers, agent: false })
      const answered = new Promise<IncomingMessage>((resolve) => req.once('response', resolve))
      req.write('00a0')
      const response = await answered
      assert.equal(response.statusCode, 400)
      assert.match(
        Buffer.concat(await response.toArray()).toString(),
        /no data of the request arrived for 0\.1 seconds/,
      )
      req.destroy()
    }
    await Promise.all(['upload-pack', 'receive-pack'].map(stopped))
    assert.deepEqual(logged, [])

    const tick = stopTimers(t, 'lib/git/small-body.ts')
    const body = new PassThrough()
    const chunks = chunksOf(body, 100)
    for (const byte of '00a0') {
      const next = chunks.next()
      tick(99)
      body.write(byte)
      assert.equal(String((await next).value), byte)
    }
    const idle = assert.rejects(chunks.next(), /no data of the request arrived for 0\.1 seconds/)
    tick(100)
    await idle
  })
})

describe('A failure of the store', () => {
  /** A driver that fails after a number of writes, until it is reset. */
  const failing = (driver: StorageDriver) => {
    const state = { left: Number.POSITIVE_INFINITY }
    const write: StorageDriver['write'] = (work) =>
      state.left-- > 0 ? driver.write(work) : Promise.reject(new Error('the store is away'))
    return { state, driver: { ...driver, write } }
  }

  it('before git may change anything stops the push, and removes what git left', async () => {
    const { state, driver } = failing(memory())
    const { allot, alice } = await scene({}, driver)
    const path = await allot.repository(alice, 'refused')
    const checkout = await aCheckout()
    // A branch may have the name of a file of a pack.
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'main:objects/pack/pack-1.abc')
    await git(checkout, 'ls-remote', urlFor(allot, path, alice))
    const packs = `${await allot.folderOf(path)}/objects/pack`
    const left = ['tmp_pack_left', 'pack-00.pack', 'pack-00.rev'].map((name) => `${packs}/${name}`)
    for (const file of left) writeFileSync(file, '')
    state.left = 0
    const { err } = await attempt(checkout, ['push', urlFor(allot, path, alice), 'main'])
    assert.match(err, /HTTP 500/)
    await waitFor(() => !left.some((file) => existsSync(file)))
    state.left = Number.POSITIVE_INFINITY
    const refs = await git(checkout, 'ls-remote', '--heads', urlFor(allot, path, alice))
    assert.match(refs, /^\w+\trefs\/heads\/objects\/pack\/pack-1\.abc$/)
  })

  it('when a push is counted fails the push, and the next one counts both', async () => {
    const { state, driver } = failing(memory())
    const { allot, alice } = await scene({}, driver)
    const path = await allot.repository(alice, 'uncounted')
    await git(await aCheckout(), 'push', '--quiet', urlFor(allot, path, alice), 'main')
    const checkout = await large()
    state.left = 1
    const { code, err } = await attempt(checkout, ['push', urlFor(allot, path, alice), 'main:more'])
    assert.notEqual(code, 0)
    assert.match(err, /could not be counted yet/)
    state.left = Number.POSITIVE_INFINITY
    await git(checkout, 'push', urlFor(allot, path, alice), 'main:again')
    await allot.assertCounted('alice')
  })
})

it('What git only warns of is not logged as a failure', async () => {
  const logged: string[] = []
  const note = (_: object, message: string) => void logged.push(message)
  const repositories = {
    directory: temporaryDirectory(),
    git: wrappedGit('echo "warning: an old history" >&2'),
  }
  const { allot, alice, url } = await scene({ log: { error: note, info: note }, repositories })
  const path = await allot.repository(alice, 'demo')
  const checkout = await aCheckout()
  await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'main')
  await git(checkout, 'clone', '--quiet', url(path), 'clone')
  assert.equal((await allot.as(alice, 'GET', `/repos/${path}/branches`)).status, 200)
  const failures = logged.filter((message) => message.includes('fail'))
  assert.deepEqual(failures, [])
})
