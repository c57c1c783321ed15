import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { chunksOf } from '../../lib/git/small-body.ts'
import type { AllotOptions, StorageDriver } from '../../lib/index.ts'
import { type PushJournalEntry, pushJournal } from '../../lib/records/schema/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { programOf } from '../support/requirements.mjs'
import { stopTimers } from '../support/stopped-timers.ts'
import type { Person } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { aCheckout, attempt, commit, git, urlFor } from './client.ts'
import { type ServedGit, startGit } from './served.ts'
import { beginPush, pktLine, pushBody } from './slow-push.ts'

const large = () => aCheckout({ big: randomBytes(400_000) })

/** The entries of the push journal. */
const entriesIn = (driver: StorageDriver): Promise<PushJournalEntry[]> =>
  driver.read(async (tx) => {
    const found: PushJournalEntry[] = []
    for await (const entry of pushJournal.all(tx)) found.push(entry)
    return found
  })

const notesIn = async (driver: StorageDriver): Promise<number> => (await entriesIn(driver)).length

const quarantines = (folder: string) =>
  readdirSync(`${folder}/objects`).filter((name) => /^(?:tmp_objdir|incoming)-/.test(name))

interface Scene {
  allot: ServedGit
  driver: StorageDriver
  alice: Person
  url: (path: string) => string
}

const scene = async (options: Partial<AllotOptions> = {}, driver = memory()): Promise<Scene> => {
  const allot = await startGit({ driver, ...options })
  const alice = await allot.person('alice')
  return { allot, driver, alice, url: (path) => `${allot.base}/${path}.git` }
}

describe('A deleted repository whose folder cannot be removed from the disk', () => {
  it('is gone all the same, is logged, and does not keep others from being removed', async () => {
    const logged: string[] = []
    const log = { error: (_: object, text: string) => void logged.push(text), info: () => undefined }
    const { allot, alice } = await scene({ log })
    const paths = [await allot.repository(alice, 'stuck'), await allot.repository(alice, 'free')]
    const folders = await Promise.all(paths.map((path) => allot.folderOf(path)))
    // A folder instead of a file: it cannot be removed as a file is.
    mkdirSync(`${folders[0]}.due`)
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

describe('During a push', () => {
  let on: Scene
  before(async () => {
    // As many as push at once, so that none of them waits for another.
    on = await scene({ git: { maxConcurrentPerClient: 12 } })
  })

  const begun = async (name: string) => {
    const path = await on.allot.repository(on.alice, name)
    const folder = await on.allot.folderOf(path)
    const push = await beginPush(on.url(path), on.alice.token, await pushBody(await large(), 'main'))
    await waitFor(() => quarantines(folder).length > 0)
    return { path, folder, push }
  }

  it('its objects are not counted', async () => {
    const { push } = await begun('under-way')
    const other = await on.allot.repository(on.alice, 'other')
    await git(await aCheckout(), 'push', '--quiet', urlFor(on.allot, other, on.alice), 'main')
    const { used } = await on.allot.allot.quota.info('alice')
    assert.ok(used.size.repos.public < 10_000)
    const { status, text } = await push.finish()
    assert.equal(status, 200)
    assert.match(text, /ok refs\/heads\/main/)
    await on.allot.assertCounted('alice')
  })

  it('a disconnected client leaves nothing', async () => {
    const { folder, push } = await begun('left')
    push.vanish()
    await waitFor(async () => quarantines(folder).length === 0 && (await notesIn(on.driver)) === 0)
    await on.allot.assertCounted('alice')
    assert.equal(await git(folder, 'count-objects'), '0 objects, 0 kilobytes')
  })

  it('its git may be killed beside another push: it fails at once, and its entry stays in the journal until what it left is removed', async () => {
    const { path, folder, push } = await begun('killed')
    const [entry] = await entriesIn(on.driver)
    const other = await beginPush(on.url(path), on.alice.token, await pushBody(await large(), 'other'))
    await waitFor(() => quarantines(folder).length === 2)
    process.kill(-entry!.pid!, 'SIGKILL')
    assert.doesNotMatch((await push.finish()).text, /ok refs/)
    assert.deepEqual([quarantines(folder).length, await notesIn(on.driver)], [2, 2])
    assert.match((await other.finish()).text, /ok refs\/heads\/other/)
    await waitFor(async () => quarantines(folder).length === 0 && (await notesIn(on.driver)) === 0)
    await on.allot.assertCounted('alice')
  })

  it('a disconnected client of a shared store leaves what a push at another server may hold, until it is old', async (t) => {
    const driver = { ...memory(), shared: true }
    const { allot, alice, url } = await scene({}, driver)
    const path = await allot.repository(alice, 'held')
    const folder = await allot.folderOf(path)
    const [lock, old] = ['other', 'old'].map((name) => `${folder}/refs/heads/${name}.lock`) as [
      string,
      string,
    ]
    for (const file of [lock, old]) writeFileSync(file, '')
    utimesSync(old, 0, 0)
    const push = await beginPush(url(path), alice.token, await pushBody(await large(), 'main'))
    await waitFor(() => quarantines(folder).length > 0)
    writeFileSync(`${folder}/objects/pack/tmp_pack_other`, Buffer.alloc(100_000))
    push.vanish()
    await waitFor(() => !existsSync(old))
    await git(await aCheckout(), 'push', '--quiet', urlFor(allot, path, alice), 'main')
    assert.deepEqual([existsSync(lock), await notesIn(driver)], [true, 1])
    const counted = (await allot.as(alice, 'GET', '/user/quota')).body.used
    const begun = Date.now()
    const settleAfter = async (hours: number) => {
      t.mock.timers.enable({ apis: ['Date'], now: begun + hours * 3600_000 })
      await allot.allot.hosting.settleAbandoned()
      t.mock.timers.reset()
    }
    const later = begun / 1000 + 1800
    utimesSync(lock, later, later)
    await settleAfter(25.2)
    assert.deepEqual([existsSync(lock), await notesIn(driver)], [true, 1])
    await settleAfter(26)
    assert.deepEqual(
      [existsSync(lock), existsSync(`${folder}/objects/pack/tmp_pack_other`), await notesIn(driver)],
      [false, false, 0],
    )
    assert.deepEqual((await allot.as(alice, 'GET', '/user/quota')).body.used, counted)
    await allot.assertCounted('alice')
  })

  it('the repository may be renamed and transferred, and the new owner is charged', async () => {
    const { path, push } = await begun('moving')
    await on.allot.as(on.alice, 'POST', '/orgs', { username: 'acme' })
    assert.equal((await on.allot.as(on.alice, 'PATCH', `/repos/${path}`, { name: 'moved' })).status, 200)
    const moved = await on.allot.as(on.alice, 'POST', '/repos/alice/moved/transfer', { new_owner: 'acme' })
    assert.equal(moved.status, 202)
    assert.equal((await on.allot.as(on.alice, 'PATCH', '/repos/acme/moved', { private: true })).status, 200)
    assert.match((await push.finish()).text, /ok refs\/heads\/main/)
    await on.allot.assertCounted('alice', 'acme')
    assert.ok((await on.allot.allot.quota.info('acme')).used.size.repos.private > 400_000)
  })

  it('the repository may be deleted, and the push fails', async () => {
    const { path, folder, push } = await begun('deleted')
    assert.equal((await on.allot.as(on.alice, 'DELETE', `/repos/${path}`)).status, 204)
    const { text } = await push.finish()
    assert.doesNotMatch(text, /ok refs/)
    await waitFor(async () => (await notesIn(on.driver)) === 0)
    assert.equal(existsSync(folder), false)
    await on.allot.assertCounted('alice')
  })

  it('other clients may push: each push is stored or refused with a reason', async () => {
    const path = await on.allot.repository(on.alice, 'many')
    const checkouts = await Promise.all(Array.from({ length: 6 }, large))
    const results = await Promise.all(
      checkouts.flatMap((checkout, at) => [
        attempt(checkout, ['push', urlFor(on.allot, path, on.alice), `main:own-${at}`]),
        attempt(checkout, ['push', urlFor(on.allot, path, on.alice), 'main:shared']),
      ]),
    )
    const failed = results.filter(({ code }) => code !== 0)
    assert.equal(failed.length, checkouts.length - 1, 'one of them made the shared branch')
    for (const { err } of failed) assert.match(err, /rejected/)
    await on.allot.assertCounted('alice')
    assert.equal(await notesIn(on.driver), 0)
    const branches = await git(await on.allot.folderOf(path), 'for-each-ref', '--format=%(refname:short)')
    assert.deepEqual(branches.split('\n').sort(), [...checkouts.map((_, at) => `own-${at}`), 'shared'])
  })
})

describe('During a clone', () => {
  it('the repository may be deleted, and the clone is aborted', async () => {
    const { allot, alice, url } = await scene()
    const path = await allot.repository(alice, 'cloned')
    const checkout = await aCheckout({ big: randomBytes(24_000_000) })
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'main')
    const folder = await allot.folderOf(path)
    const wish = `${pktLine(`want ${await git(checkout, 'rev-parse', 'HEAD')}\n`)}0000${pktLine('done\n')}`
    const headers = { 'content-type': 'application/x-git-upload-pack-request' }
    const req = request(`${url(path)}/git-upload-pack`, { method: 'POST', headers, agent: false })
    req.on('error', () => undefined).end(wish)
    const answer = await new Promise<IncomingMessage>((resolve) => req.once('response', resolve))
    assert.equal((await allot.as(alice, 'DELETE', `/repos/${path}`)).status, 204)
    await assert.rejects(async () => {
      for await (const _ of answer);
    }, /aborted/)
    assert.equal(existsSync(folder), false)
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
    await git(checkout, 'ls-remote', urlFor(allot, path, alice))
    const left = `${await allot.folderOf(path)}/objects/pack/tmp_pack_left`
    writeFileSync(left, '')
    state.left = 0
    const { err } = await attempt(checkout, ['push', urlFor(allot, path, alice), 'main'])
    assert.match(err, /HTTP 500/)
    await waitFor(() => !existsSync(left))
    state.left = Number.POSITIVE_INFINITY
    assert.equal(await git(checkout, 'ls-remote', urlFor(allot, path, alice)), '')
  })

  it('when a push is counted fails the push, and the next one counts both', async () => {
    const { state, driver } = failing(memory())
    const { allot, alice } = await scene({}, driver)
    const path = await allot.repository(alice, 'uncounted')
    // One write reserves a block of numbers for the journal.
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

describe('A missing git', () => {
  it('is reported with 503', async () => {
    const git = join(temporaryDirectory(), 'git')
    symlinkSync(programOf('git')!, git)
    const { allot, alice, url } = await scene({ repositories: { directory: temporaryDirectory(), git } })
    const path = await allot.repository(alice, 'demo', { auto_init: true })
    const asked = `${url(path)}/info/refs?service=git-upload-pack`
    assert.equal((await fetch(asked)).status, 200)
    unlinkSync(git)
    const answer = await fetch(asked)
    assert.equal(answer.status, 503)
    assert.match(await answer.text(), /was not found: install git/)
  })
})
