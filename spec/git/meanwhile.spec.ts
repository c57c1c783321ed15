import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, utimesSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { waitFor } from '../support/wait-for.ts'
import { aCheckout, attempt, git, urlFor } from './client.ts'
import { entriesIn, large, notesIn, quarantines, type Scene, scene } from './scene.ts'
import { beginPush, pktLine, pushBody } from './slow-push.ts'

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

  it('its git may be killed beside another push: it fails at once, and the last of them removes what it left', async () => {
    const { path, folder, push } = await begun('killed')
    const [entry] = await entriesIn(on.driver)
    const other = await beginPush(on.url(path), on.alice.token, await pushBody(await large(), 'other'))
    await waitFor(() => quarantines(folder).length === 2)
    process.kill(-entry!.pid!, 'SIGKILL')
    assert.doesNotMatch((await push.finish()).text, /ok refs/)
    assert.deepEqual([quarantines(folder).length, await notesIn(on.driver)], [2, 1])
    assert.match((await other.finish()).text, /ok refs\/heads\/other/)
    await waitFor(async () => quarantines(folder).length === 0 && (await notesIn(on.driver)) === 0)
    await on.allot.assertCounted('alice')
  })

  it('a disconnected client of a shared store leaves what a push at another server may hold, until it is old, and no clean-up waits for that', async (t) => {
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
    const checkout = await aCheckout()
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'main')
    assert.deepEqual([existsSync(lock), await notesIn(driver)], [true, 1])
    await git(checkout, 'commit', '--quiet', '--amend', '--message', 'other')
    await git(checkout, 'push', '--quiet', '--force', urlFor(allot, path, alice), 'main')
    await allot.done(alice, 'POST', `/repos/${path}/gc`)
    const counted = (await allot.as(alice, 'GET', '/user/quota')).body.used
    const begun = Date.now()
    const settleAfter = async (hours: number) => {
      t.mock.timers.enable({ apis: ['Date'], now: begun + hours * 3600_000 })
      await allot.allot.hosting.disk.settleAbandoned()
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
