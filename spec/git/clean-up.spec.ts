import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { memory } from '../../drivers/memory/index.ts'
import { GitStorage } from '../../lib/git/index.ts'
import { accounts, diskEntries, repositories } from '../../lib/records/schema/index.ts'
import { takeNumber } from '../../lib/records/store.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import type { Person } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { wrappedGit } from '../support/wrapped-git.ts'
import { createPageClient, words } from '../web/browser.ts'
import { aCheckout, attempt, commit, git, urlFor } from './client.ts'
import { entriesIn, large, notesIn, scatter } from './scene.ts'
import { bytesIn, type ServedGit, startGit } from './served.ts'
import { beginPush, pushBody } from './slow-push.ts'

const HOUR = 3600

const driver = memory()
const folder = temporaryDirectory()
const inFolder = (name: string) => join(folder, name)
const [hold, log, holdPacking, packed] = [
  inFolder('hold'),
  inFolder('log'),
  inFolder('hold-packing'),
  inFolder('packed'),
]
const [holdBeforeCruft, beforeCruft] = [inFolder('hold-before-cruft'), inFolder('before-cruft')]
/**
 * The git that `git gc` runs: it waits before it packs unreachable objects, and after that, before it deletes
 * old packs.
 */
const packing = wrappedGit(
  `case "$*" in pack-objects*' --cruft '*)
    touch '${beforeCruft}'
    while [ -e '${holdBeforeCruft}' ]; do sleep 0.05; done
    git "$@"
    touch '${packed}'
    while [ -e '${holdPacking}' ]; do sleep 0.05; done
    exit;;
  esac`,
)
/** A git that notes its arguments, and waits before it deletes objects while there is a file `hold`. */
const noting = wrappedGit(
  `echo "$*" >> '${log}'
  case "$*" in
    *' repack '*|*' prune --expire='*) while [ -e '${hold}' ]; do sleep 0.05; done;;
    *' gc '*) export GIT_EXEC_PATH='${dirname(packing)}';;
  esac`,
  folder,
)

let allot: ServedGit
let alice: Person
before(async () => {
  const directory = temporaryDirectory()
  let served: ServedGit | undefined
  served = await startGit(
    { driver, repositories: { directory, git: noting }, git: { maxConcurrentPerClient: 16 } },
    { mount: (handler) => (req, res) => handler(req, res, () => served!.allot.pages(req, res)) },
  )
  allot = served
  alice = await allot.person('alice')
  for (const file of [hold, holdPacking, holdBeforeCruft]) atEnd(() => rmSync(file, { force: true }))
})

const cleanUp = (path: string, who: Person | undefined = alice) => allot.as(who, 'POST', `/repos/${path}/gc`)

/** Makes all objects some hours old; those of pushes that go on may vanish meanwhile. */
const age = (repository: string, hours = 2): void => {
  const then = Date.now() / 1000 - hours * HOUR
  const folders = readdirSync(join(repository, 'objects')).filter((name) =>
    /^(?:[0-9a-f]{2}|pack)$/.test(name),
  )
  for (const name of folders.flatMap((folder) => entriesBelow(join(repository, 'objects', folder))))
    try {
      utimesSync(name, then, then)
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOENT')
    }
}

const entriesBelow = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []

/** A repository with the branches `main` and `extra`; the latter has the files. */
const withBranch = async (name: string, files: Record<string, string | Uint8Array>) => {
  const path = await allot.repository(alice, name)
  const checkout = await aCheckout({ a: 'one\n' })
  const url = urlFor(allot, path, alice)
  const push = (...refs: string[]) => git(checkout, 'push', '--quiet', url, ...refs)
  await push('main')
  const id = await commit(checkout, files)
  await push('main:extra')
  return { path, checkout, push, id, folder: await allot.folderOf(path) }
}

const deleted = async (
  name: string,
  files: Record<string, string | Uint8Array> = { b: randomBytes(300_000) },
) => {
  const made = await withBranch(name, files)
  await made.push(':extra')
  age(made.folder)
  return made
}

/** How often git has looked for what to delete. */
const pruned = () => readFileSync(log, 'utf8').match(/ --(?:cruft-expiration|expire)=/g)?.length ?? 0

const hasObject = async (repository: string, id: string) =>
  (await attempt(repository, ['cat-file', '-e', id])).code === 0

describe('A clean-up', () => {
  it('frees the bytes of a deleted branch, and what is counted is what is left on the disk', async () => {
    const { path, folder, id } = await deleted('freed', { big: randomBytes(2_000_000) })
    const before = bytesIn(folder)
    const { status, body } = await cleanUp(path)
    assert.equal(status, 200)
    assert.deepEqual(body, { size_before: before, size_after: bytesIn(folder) })
    assert.ok(body.size_before - body.size_after > 2_000_000)
    assert.equal(await hasObject(folder, id), false)
    await allot.assertCounted('alice')
    await git(temporaryDirectory(), 'clone', '--quiet', urlFor(allot, path, alice))
  })

  it('deletes single files of objects, and leaves the others as they are', async () => {
    const { path, folder, id } = await deleted('loose', { b: 'two\n' })
    const { body } = await cleanUp(path)
    assert.ok(body.size_after < body.size_before)
    assert.equal(await hasObject(folder, id), false)
    assert.match(await git(folder, 'count-objects', '-v'), /^count: 3\n[\s\S]*packs: 0$/m)
    await allot.assertCounted('alice')
  })

  it('leaves no commit-graph that names commits which are gone', async () => {
    for (const name of ['graph', 'graphs']) {
      const { path, folder, push, id } = await withBranch(name, { b: randomBytes(300_000) })
      await git(folder, 'commit-graph', 'write', '--reachable', ...(name === 'graph' ? [] : ['--split']))
      await push(':extra')
      age(folder)
      assert.equal((await cleanUp(path)).status, 200)
      assert.equal(await hasObject(folder, id), false)
    }
    await allot.assertCounted('alice')
  })

  it('leaves what is younger than an hour, for which it does not look again and again', async (t) => {
    const { path, folder, push, id } = await withBranch('young', { b: randomBytes(300_000) })
    await push(':extra')
    const earlier = pruned()
    for (let times = 0; times < 3; times++) assert.equal((await cleanUp(path)).status, 200)
    assert.equal(await hasObject(folder, id), true)
    assert.equal(pruned() - earlier, 1)
    age(folder)
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 600_000 })
    await cleanUp(path)
    t.mock.timers.reset()
    assert.equal(await hasObject(folder, id), false)
    await allot.assertCounted('alice')
  })

  it('deletes once, however many requests of one repository come at the same time', async () => {
    const { path, folder, id } = await deleted('at-once')
    const earlier = pruned()
    const all = await Promise.all(Array.from({ length: 5 }, () => cleanUp(path)))
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([200]))
    assert.equal(pruned() - earlier, 1)
    assert.equal(await hasObject(folder, id), false)
  })

  it('is not possible in a damaged repository, which the log says', async () => {
    const { path, folder } = await deleted('damaged', { b: 'two\n' })
    const tree = await git(folder, 'rev-parse', 'main^{tree}')
    rmSync(join(folder, 'objects', tree.slice(0, 2), tree.slice(2)))
    const { status, body } = await cleanUp(path)
    assert.equal(status, 503)
    assert.match(body.message, /could not clean up the repository: its log has the reason/)
    await allot.done(alice, 'DELETE', `/repos/${path}`)
  })

  it('changes nothing in a repository in which everything is used, and in an empty one', async () => {
    for (const path of [
      await allot.repository(alice, 'empty'),
      await allot.repository(alice, 'used', { auto_init: true }),
    ]) {
      const bytes = bytesIn(await allot.folderOf(path))
      assert.deepEqual((await cleanUp(path)).body, { size_before: bytes, size_after: bytes })
    }
  })

  it('is for those who administer the repository, also when it is archived', async () => {
    const { path, folder } = await deleted('archived')
    await allot.done(alice, 'PATCH', `/repos/${path}`, { archived: true, private: true })
    const [writer, stranger] = [await allot.person(), await allot.person()]
    await allot.done(alice, 'PUT', `/repos/${path}/collaborators/${writer.name}`, { permission: 'write' })
    const reader = { ...alice, token: await allot.scoped(alice, 'read:repository') }
    const statuses = []
    for (const who of [undefined, stranger, writer, reader])
      statuses.push((await allot.as(who, 'POST', `/repos/${path}/gc`)).status)
    assert.deepEqual(statuses, [401, 404, 403, 403])
    assert.equal((await cleanUp('alice/nothing')).status, 404)
    const bytes = bytesIn(folder)
    assert.equal((await cleanUp(path)).body.size_before, bytes)
    assert.ok(bytesIn(folder) < bytes)
  })
})

describe('The page of a repository', () => {
  const page = (path: string) => `/-/storage/${path.replace('/', '/repositories/')}`

  it('has a button that frees unused git data, and says whether there was some', async () => {
    const { path, folder, id } = await deleted('shown')
    const browser = createPageClient(allot.base)
    await browser.signIn('alice', alice.token)
    assert.match(words((await browser.get(page(path))).text), /Free unused git data/)
    for (const said of [/Unused git data was deleted/, /Nothing was freed/]) {
      const { status, headers } = await browser.post(`${page(path)}/gc`, {})
      assert.equal(status, 303)
      assert.match(words((await browser.get(headers.get('location')!)).text), said)
    }
    assert.equal(await hasObject(folder, id), false)
    assert.equal((await browser.post(`${page('alice/nothing')}/gc`, {})).status, 404)
  })

  it('has none in a session that may only read, which cannot do it either', async () => {
    const { path, folder, id } = await deleted('read')
    const browser = createPageClient(allot.base)
    await browser.signIn('alice', await allot.scoped(alice, 'read:user', 'read:repository'))
    assert.doesNotMatch(words((await browser.get(page(path))).text), /Free unused git data/)
    assert.equal((await browser.post(`${page(path)}/gc`, {})).status, 403)
    assert.equal(await hasObject(folder, id), true)
  })
})

describe('Beside pushes, a clean-up', () => {
  it('waits for a push that has begun, and deletes nothing before it has ended; other pushes go on', async () => {
    const { path, folder, id, push: pushWhole } = await deleted('begun')
    const url = `${allot.base}/${path}.git`
    const push = await beginPush(url, alice.token, await pushBody(await large(), 'other'))
    await waitFor(async () => (await notesIn(driver)) === 1)
    const cleaning = cleanUp(path)
    await sleep(500)
    await pushWhole('main~1:refs/heads/meanwhile')
    assert.equal(await waiting(path), false)
    assert.equal(await hasObject(folder, id), true)
    assert.match((await push.finish()).text, /ok refs\/heads\/other/)
    assert.equal((await cleaning).status, 200)
    assert.equal(await hasObject(folder, id), false)
    await allot.assertCounted('alice')
  })

  it('gives up after some seconds, and the push and later ones are stored', async (t) => {
    const { path, folder, id, push } = await deleted('patient')
    const url = `${allot.base}/${path}.git`
    const begun = await beginPush(url, alice.token, await pushBody(await large(), 'other'))
    await waitFor(async () => (await notesIn(driver)) === 1)
    const cleaning = cleanUp(path)
    hurry(t)
    const { status, headers } = await cleaning
    assert.deepEqual([status, headers.get('retry-after')], [503, '30'])
    assert.match((await begun.finish()).text, /ok refs\/heads\/other/)
    await push('main:later')
    assert.equal(await hasObject(folder, id), true)
    await allot.assertCounted('alice')
  })

  it('does not wait for what a crash has left days ago', async () => {
    const { path, folder, id } = await deleted('left')
    const repository = (await record(path))!.id
    const entry = { what: 'push', id: 1_000_000, repository, pid: 1_000_000_000 } as const
    await driver.write((tx) =>
      diskEntries.save(tx, { ...entry, since: Math.floor(Date.now() / 1000) - 72 * HOUR }),
    )
    assert.equal((await cleanUp(path)).status, 200)
    assert.equal(await hasObject(folder, id), false)
    await driver.write((tx) => diskEntries.remove(tx, ['push', entry.id]))
  })

  it('counts a push that could not be counted, and does not wait for it', async (t) => {
    const { path, folder, id, push } = await deleted('uncounted')
    const disk = t.mock.method(GitStorage.prototype, 'size', async () => {
      throw new Error('the disk is away')
    }).mock
    await assert.rejects(push('main~1:refs/heads/uncounted'), /could not be counted yet/)
    disk.restore()
    assert.equal((await cleanUp(path)).status, 200)
    assert.deepEqual([await hasObject(folder, id), await notesIn(driver)], [false, 0])
    await allot.assertCounted('alice')
  })

  it('packs everything before it lets pushes wait, and does not forget a push of that time', async () => {
    const { path, folder, id, push } = await withBranch('packing', { b: randomBytes(300_000) })
    await git(folder, 'repack', '-adq')
    await push(':extra')
    age(folder)
    const release = holdNextPacking()
    const cleaning = cleanUp(path)
    await waitFor(() => existsSync(packed))
    await push('main~1:refs/heads/meanwhile')
    assert.deepEqual([await waiting(path), await hasObject(folder, id)], [false, true])
    release()
    assert.equal((await cleaning).status, 200)
    assert.equal(await hasObject(folder, id), false)
    assert.notEqual((await record(path))!.uncleanedSince, undefined)
    await allot.assertCounted('alice')
  })

  it('keeps old objects that a new one needs, whose branch came and went while everything was packed', async () => {
    const { path, checkout, folder, id, push } = await deleted('needed')
    await git(folder, 'repack', '-adq')
    age(folder)
    await commit(checkout, { c: randomBytes(1_200_000) })
    /** The client asks which objects the server has, and sends the others. */
    const pushNew = () =>
      git(checkout, '-c', 'push.negotiate=true', 'push', '-q', urlFor(allot, path, alice), 'main:new')
    const release = holdNextPacking()
    const cleaning = cleanUp(path)
    await waitFor(() => existsSync(packed))
    await pushNew()
    await push(':new')
    release()
    assert.equal((await cleaning).status, 200)
    assert.equal(await hasObject(folder, id), true)
    await pushNew()
    await allot.assertCounted('alice')
  })

  it('keeps the objects of a pack that it replaces, when a push stores the same pack again meanwhile', async () => {
    const { path, folder, id, push } = await deleted('stored-again', { b: randomBytes(1_200_000) })
    rmSync(beforeCruft, { force: true })
    writeFileSync(holdBeforeCruft, '')
    const cleaning = cleanUp(path)
    const hook = holdReferences(folder)
    try {
      await waitFor(() => existsSync(beforeCruft))
      rmSync(packed, { force: true })
      const pushing = push('main:extra')
      await waitFor(() => existsSync(hook.reached))
      rmSync(holdBeforeCruft)
      await waitFor(() => existsSync(packed))
      hook.release()
      await pushing
    } finally {
      rmSync(holdBeforeCruft, { force: true })
      hook.release()
    }
    assert.equal((await cleaning).status, 200)
    assert.equal(await hasObject(folder, id), true)
    await allot.assertCounted('alice')
  })

  it('lets a push wait while it deletes, which stores again what was deleted', async () => {
    const { path, folder, id, push } = await deleted('deleting')
    writeFileSync(hold, '')
    const ended: string[] = []
    const cleaning = cleanUp(path).then(({ status }) => ended.push(`cleaned: ${status}`))
    await waitFor(async () => (await waiting(path)) && (await notesIn(driver)) === 1)
    const pushing = push('main:extra').then(() => ended.push('pushed'))
    await sleep(500)
    assert.deepEqual(ended, [])
    rmSync(hold)
    await Promise.all([cleaning, pushing])
    assert.deepEqual(ended.sort(), ['cleaned: 200', 'pushed'])
    assert.deepEqual([await hasObject(folder, id), await waiting(path)], [true, false])
    await allot.assertCounted('alice')
  })

  it('lets a push wait also when the clock jumps ahead, as after the machine was suspended', async (t) => {
    const { path, folder, id, push } = await deleted('suspended')
    writeFileSync(hold, '')
    const cleaning = cleanUp(path)
    await waitFor(async () => (await waiting(path)) && (await notesIn(driver)) === 1)
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + HOUR * 1000 })
    let isPushed = false
    const pushing = push('main:extra').then(() => {
      isPushed = true
    })
    await sleep(500)
    rmSync(hold)
    assert.equal(isPushed, false)
    await Promise.all([cleaning, pushing])
    assert.equal(await hasObject(folder, id), true)
    await allot.assertCounted('alice')
  })

  it('loses nothing, when clients push, delete and push again what it deletes', async () => {
    const path = await allot.repository(alice, 'busy', { auto_init: true })
    const [folder, url] = [await allot.folderOf(path), urlFor(allot, path, alice)]
    const checkouts = await Promise.all(
      [1, 1, 20, 20].map((times) => aCheckout({ b: randomBytes(times * 60_000) })),
    )
    const push = (at: number, from: string) =>
      git(checkouts[at]!, 'push', '--quiet', url, `${from}:own-${at}`)
    let isOver = false
    const cleaning = (async () => {
      const statuses = []
      while (!isOver) statuses.push((await cleanUp(path)).status)
      return statuses
    })()
    const pushing = checkouts.map(async (_, at) => {
      for (let round = 0; round < 6; round++) {
        await push(at, 'main')
        age(folder)
        if (round < 5) await push(at, '')
      }
    })
    await Promise.all(pushing).finally(() => {
      isOver = true
    })
    // On a busy machine, pushes may take more than 10 seconds.
    for (const status of await cleaning) assert.ok(status === 200 || status === 503, String(status))
    // A repository of 4 MiB and more gets a commit-graph in the background after a push.
    await waitFor(async () => (await notesIn(driver)) === 0)
    await allot.assertCounted('alice')
    for (const [at, checkout] of checkouts.entries())
      assert.equal(await git(folder, 'rev-parse', `own-${at}`), await git(checkout, 'rev-parse', 'main'))
  })

  it('may be killed: nothing is lost, the bytes are counted, and pushes go on', async () => {
    const { path, folder, push } = await deleted('killed')
    writeFileSync(hold, '')
    const cleaning = cleanUp(path)
    await waitFor(async () => (await waiting(path)) && (await notesIn(driver)) === 1)
    process.kill((await entriesIn(driver))[0]!.pid!, 'SIGKILL')
    assert.equal((await cleaning).status, 503)
    rmSync(hold)
    await push('main:extra')
    await allot.assertCounted('alice')
    await push(':extra')
    age(folder)
    const { body } = await cleanUp(path)
    assert.ok(body.size_after < body.size_before)
  })

  it('may be killed with its server: after the next start its bytes are counted, and pushes go on', async () => {
    const { path, push } = await deleted('stopped')
    const { id } = (await record(path))!
    const number = await driver.write(async (tx) => {
      const repository = (await repositories.get(tx, [id]))!
      const pushesWaitUntil = Math.floor(Date.now() / 1000) + 300
      await repositories.save(tx, { ...repository, pushesWaitUntil })
      return takeNumber(tx, 'push')
    })
    await driver.write((tx) =>
      diskEntries.save(tx, {
        what: 'push',
        id: number,
        repository: id,
        pid: null,
        since: Math.floor(Date.now() / 1000),
      }),
    )
    await git(await allot.folderOf(path), '-c', 'gc.cruftPacks=true', 'gc', '--quiet', '--prune=1.hour.ago')
    await allot.allot.hosting.disk.settleAbandoned()
    await allot.assertCounted('alice')
    await push('main:extra')
    assert.equal(await waiting(path), false)
  })
})

const record = async (path: string) => {
  const [owner, name] = path.split('/') as [string, string]
  return allot.allot.hosting.repositories.find({ id: alice.id, admin: false }, owner, name)
}

/**
 * The next `git gc` that deletes nothing waits after packing.
 * @returns lets it go on
 */
const holdNextPacking = () => {
  rmSync(packed, { force: true })
  writeFileSync(holdPacking, '')
  return () => rmSync(holdPacking)
}

/**
 * Makes every push wait just before it changes its references.
 * @returns `reached` is a file that exists once one waits; `release` lets them go on
 */
const holdReferences = (repository: string) => {
  const hook = join(repository, '../../hooks/reference-transaction')
  const folder = temporaryDirectory()
  const [held, reached] = [join(folder, 'held'), join(folder, 'reached')]
  writeFileSync(held, '')
  const script = `#!/bin/sh\ntouch '${reached}'\nwhile [ -e '${held}' ]; do sleep 0.05; done\n`
  writeFileSync(hook, script, { mode: 0o755 })
  const release = () => {
    rmSync(held, { force: true })
    rmSync(hook, { force: true })
  }
  return { reached, release }
}

/** Whether pushes wait. */
const waiting = async (path: string) => (await record(path))?.pushesWaitUntil !== undefined

/** Lets time pass 20 times as fast for what waits. */
const hurry = (t: TestContext): void => {
  const read = performance.now.bind(performance)
  const start = read()
  t.mock.method(performance, 'now', () => start + 20 * (read() - start))
}

it('Beside pushes, git gc in the background keeps old objects that a push refers to again', async () => {
  const { path, folder, push, id } = await withBranch('again', { b: randomBytes(300_000) })
  await git(folder, 'repack', '-adq')
  await push(':extra')
  scatter(folder)
  age(folder, 20 * 24)
  const release = holdNextPacking()
  await push('main~1:refs/heads/other')
  await waitFor(() => existsSync(packed))
  await push('main:extra')
  release()
  await waitFor(async () => (await notesIn(driver)) === 0)
  assert.equal(await hasObject(folder, id), true)
  await git(temporaryDirectory(), 'clone', '--quiet', urlFor(allot, path, alice))
  await allot.assertCounted('alice')
})

describe('A push that waits for a clean-up', () => {
  /** A server of which two processes of git occupy all places, and on which a process is soon idle. */
  const small = async () => {
    const repositories = { directory: temporaryDirectory(), git: noting }
    const served = await startGit({
      repositories,
      git: { idleTimeout: 1000, maxConcurrent: 2, maxConcurrentPerClient: 2 },
    })
    const owner = await served.person('owner')
    const path = await served.repository(owner, 'small')
    const checkout = await aCheckout({ a: 'one\n' })
    const url = urlFor(served, path, owner)
    await git(checkout, 'push', '--quiet', url, 'main', 'main:extra')
    await git(checkout, 'commit', '--quiet', '--amend', '-m', 'other')
    await git(checkout, 'push', '--quiet', '--force', url, 'main', ':extra')
    age(await served.folderOf(path))
    writeFileSync(hold, '')
    const cleaning = served.as(owner, 'POST', `/repos/${path}/gc`)
    const isAlone = async () => {
      const found = await served.allot.hosting.repositories.find({ ...owner, admin: false }, 'owner', 'small')
      return found?.pushesWaitUntil !== undefined
    }
    await waitFor(isAlone)
    return { served, owner, path, checkout, url, cleaning }
  }

  it('is stored after it, and occupies no process that another repository needs', async () => {
    const { served, owner, checkout, url, cleaning } = await small()
    const other = await served.repository(owner, 'other')
    const pushing = git(checkout, 'push', '--quiet', url, 'main:again')
    await sleep(2500)
    await git(checkout, 'ls-remote', urlFor(served, other, owner))
    rmSync(hold)
    assert.equal((await cleaning).status, 200)
    await pushing
    await served.assertCounted('owner')
  })

  it('is refused after 20 seconds', async (t) => {
    const { served, owner, path, checkout, cleaning } = await small()
    const pushing = fetch(`${served.base}/${path}.git/git-receive-pack`, {
      method: 'POST',
      headers: {
        authorization: `token ${owner.token}`,
        'content-type': 'application/x-git-receive-pack-request',
      },
      body: new Uint8Array(await pushBody(checkout, 'refused')),
    })
    hurry(t)
    const { status, headers } = await pushing
    assert.deepEqual([status, headers.get('retry-after')], [503, '30'])
    rmSync(hold)
    assert.equal((await cleaning).status, 200)
  })
})

describe('The automatic clean-up of a repository', () => {
  /** @returns how often the clean-up has run git after so many hours */
  const after = async (t: TestContext, hours: number) => {
    if (existsSync(log)) rmSync(log)
    await at(t, hours, () => allot.allot.hosting.git!.maintenance.cleanUpDue())
    return existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0
  }

  const at = async (t: TestContext, hours: number, work: () => Promise<unknown>) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + hours * HOUR * 1000 })
    await work()
    t.mock.timers.reset()
  }

  it('cleans up once what was pushed to a day ago, and does not look at it again before the next push', async (t) => {
    // What the specs above have left.
    await after(t, 25)
    const { path, folder, push, id } = await deleted('idle')
    assert.deepEqual([await after(t, 23), await hasObject(folder, id)], [0, true])
    assert.notEqual(await after(t, 25), 0)
    assert.equal(await hasObject(folder, id), false)
    await allot.assertCounted('alice')
    assert.equal(await after(t, 50), 0)
    await push('main:extra')
    await push(':extra')
    age(folder)
    await after(t, 25)
    assert.equal(await hasObject(folder, id), false)
    assert.equal((await record(path))!.uncleanedSince, undefined)
  })

  it('cleans up what is pushed to every few hours a day after the first push, and again a day later', async (t) => {
    await after(t, 25)
    const { folder, push, id } = await deleted('pushed')
    for (const hours of [8, 16, 24]) await at(t, hours, () => push(`main~1:refs/heads/at-${hours}`))
    assert.deepEqual([await after(t, 23), await hasObject(folder, id)], [0, true])
    await after(t, 25)
    assert.equal(await hasObject(folder, id), false)
    await at(t, 26, () => push('main:extra', 'main~1:refs/heads/at-26'))
    await at(t, 27, () => push(':extra'))
    age(folder)
    await at(t, 49, () => push('main~1:refs/heads/at-49'))
    assert.deepEqual([await after(t, 49), await hasObject(folder, id)], [0, true])
    await after(t, 51)
    assert.equal(await hasObject(folder, id), false)
    await allot.assertCounted('alice')
  })

  it('tries one that cannot be cleaned up again a day later', async (t) => {
    const { path, folder, id } = await deleted('failing')
    const pack = join(folder, 'objects/pack')
    rmSync(join(folder, 'refs/heads/main'))
    writeFileSync(join(folder, 'refs/heads/main'), `${'1'.repeat(40)}\n`)
    assert.notEqual(await after(t, 25), 0)
    assert.equal(await after(t, 26), 0)
    assert.equal(existsSync(pack) && (await hasObject(folder, id)), true)
    await allot.done(alice, 'DELETE', `/repos/${path}`)
  })
  it('goes on to the next one when the owner of the oldest one is deleted, and a job removes it later', async (t) => {
    await after(t, 25)
    const leaving = await allot.person('leaving')
    const oldest = await record(await allot.repository(leaving, 'oldest'))
    const { folder, id } = await deleted('next')
    const account = await driver.write(async (tx) => {
      await repositories.save(tx, { ...oldest!, uncleanedSince: 1 })
      return accounts.remove(tx, [leaving.id])
    })
    const { write } = driver
    let writes = 0
    t.mock.method(driver, 'write', (body: Parameters<typeof write>[0]) => {
      if (++writes > 1000) throw new Error('the clean-up does not end')
      return write(body)
    })
    await after(t, 25)
    assert.equal(await hasObject(folder, id), false)
    t.mock.restoreAll()
    await driver.write((tx) => accounts.add(tx, account!))
  })
})
