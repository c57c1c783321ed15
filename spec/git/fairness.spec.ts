import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { temporaryDirectory } from '../support/folder.ts'
import type { Person } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { wrappedGit } from '../support/wrapped-git.ts'
import { aCheckout, git, urlFor } from './client.ts'
import { type ServedGit, startGit } from './served.ts'
import { beginPush, pushBody } from './slow-push.ts'

let allot: ServedGit
let alice: Person
let bob: Person
let path: string
before(async () => {
  allot = await startGit({ git: { maxConcurrent: 4, maxConcurrentPerClient: 2 } })
  alice = await allot.person('alice')
  bob = await allot.person('bob')
  path = await allot.repository(alice, 'shared')
  await git(await aCheckout(), 'push', '--quiet', urlFor(allot, path, alice), 'main')
})
after(() => allot.stop())

const clone = (who?: Person) => git(temporaryDirectory(), 'clone', '--quiet', urlFor(allot, path, who), '.')

/** Sends the headers of a fetch, and a part of its body. */
const beginFetch = async (body = ''): Promise<Socket> => {
  const { hostname, port } = new URL(allot.base)
  const socket = connect(Number(port), hostname).on('error', () => undefined)
  const head = [
    `POST /${path}.git/git-upload-pack HTTP/1.1`,
    'Host: x.test',
    'Content-Type: application/x-git-upload-pack-request',
    'Transfer-Encoding: chunked',
  ]
  const chunk = body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`
  await new Promise<void>((resolve) => socket.write(`${head.join('\r\n')}\r\n\r\n${chunk}`, () => resolve()))
  return socket
}

describe('The budget of git processes', () => {
  it('is not used by fetches without a body', async () => {
    const idle = await Promise.all(Array.from({ length: 40 }, () => beginFetch()))
    const begun = await Promise.all(Array.from({ length: 40 }, () => beginFetch('0032want ')))
    await clone()
    await clone(bob)
    await git(await aCheckout(), 'push', '--quiet', urlFor(allot, path, bob), 'main:x').then(
      () => assert.fail('bob may not push'),
      (error: Error) => assert.match(error.message, /403/),
    )
    await git(await aCheckout({ b: 'two' }), 'push', '--quiet', urlFor(allot, path, alice), 'main:other')
    for (const socket of [...idle, ...begun]) socket.destroy()
  })

  it('leaves slots for other clients while one client uses all of its own', async () => {
    const url = `${allot.base}/${path}.git`
    const pushes = []
    for (const branch of ['one', 'two', 'three']) {
      const body = await pushBody(await aCheckout({ big: randomBytes(400_000) }), branch)
      pushes.push(await beginPush(url, alice.token, body))
    }
    const asked = (who: Person) =>
      fetch(`${url}/info/refs?service=git-upload-pack`, { headers: { authorization: `token ${who.token}` } })
    await waitFor(async () => (await asked(alice)).status === 503)
    await clone()
    await clone(bob)
    const refused = await asked(alice)
    assert.equal(refused.status, 503)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    for (const push of pushes) push.vanish()
    await waitFor(async () => (await asked(alice)).status === 200)
  })
})

describe('Many repositories that one user creates at once', () => {
  it('delay the creation by another user only by those in progress, and are all created', async () => {
    let done = 0
    const flood = Array.from({ length: 60 }, async (_, index) => {
      const { status } = await allot.as(alice, 'POST', '/user/repos', {
        name: `many-${index}`,
        auto_init: true,
      })
      done++
      return status
    })
    const made = await allot.as(bob, 'POST', '/user/repos', { name: 'one', auto_init: true })
    assert.equal(made.status, 201)
    assert.ok(done < 30, `${done} of 60 were created first`)
    assert.deepEqual(new Set(await Promise.all(flood)), new Set([201]))
  })
})

/** A git whose copies of repositories wait until a file is removed. */
const slowGit = (): { git: string; release: () => void } => {
  const folder = temporaryDirectory()
  const hold = join(folder, 'hold')
  const wait = `case "$*" in *--no-write-fetch-head*) while [ -e ${hold} ]; do sleep 0.1; done;; esac`
  writeFileSync(hold, '')
  return { git: wrappedGit(wait, folder), release: () => rmSync(hold, { force: true }) }
}

describe('Copies of large repositories by two users', () => {
  it('delay neither the first push nor the creation of a repository by a third', async (t) => {
    const slow = slowGit()
    t.after(slow.release)
    const directory = temporaryDirectory()
    const slowly = await startGit({ repositories: { directory, git: slow.git } })
    t.after(slowly.stop)
    const [ann, ben, cleo] = [
      await slowly.person('ann'),
      await slowly.person('ben'),
      await slowly.person('cleo'),
    ]
    const sources = [
      await slowly.repository(cleo, 'a', { auto_init: true }),
      await slowly.repository(cleo, 'b', { auto_init: true }),
    ]
    const empty = await slowly.repository(cleo, 'empty')
    const copies = [ann, ben].flatMap((who) =>
      sources.map((source) => slowly.as(who, 'POST', `/repos/${source}/forks`, {})),
    )
    const pushed = git(await aCheckout(), 'push', '--quiet', urlFor(slowly, empty, cleo), 'main:other')
    const made = slowly.as(cleo, 'POST', '/user/repos', { name: 'new', auto_init: true })
    const first = await Promise.race([Promise.all([pushed, made]), Promise.all(copies), rejectAfter(20_000)])
    assert.equal(first.length, 2)
    slow.release()
    for (const { status } of await Promise.all(copies)) assert.equal(status, 202)
  })
})

const rejectAfter = (ms: number): Promise<never> =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error('the push or the creation waits for the copies')), ms).unref()
  })
