import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore, type Person, peopleBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { wrappedGit } from '../support/wrapped-git.ts'
import { aCheckout, git, urlFor } from './client.ts'
import { startGit } from './served.ts'
import { beginPush, pushBody } from './slow-push.ts'

let path: string
const allot = madeBefore(() => startGit({ git: { maxConcurrent: 4, maxConcurrentPerClient: 2 } }))
const [alice, bob] = peopleBefore(allot, 'alice', 'bob')
before(async () => {
  path = await allot.repository(alice, 'shared')
  await git(await aCheckout(), 'push', '--quiet', urlFor(allot, path, alice), 'main')
})

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

/**
 * A git that waits when its arguments match a pattern of `sh`, the first `count` times, until it is
 * released.
 */
const heldGit = (pattern: string, count: number) => {
  const folder = temporaryDirectory()
  const hold = join(folder, 'hold')
  const release = () => rmSync(hold, { force: true })
  writeFileSync(hold, '')
  atEnd(release)
  const turns = Array.from({ length: count }, (_, at) => `'${join(folder, `held-${at}`)}'`).join(' ')
  const wait = `while [ -e '${hold}' ]; do sleep 0.05; done`
  const lines = `case "$*" in ${pattern}) for turn in ${turns}; do
    if mkdir "$turn" 2>/dev/null; then ${wait}; break; fi
  done;; esac`
  const held = () => readdirSync(folder).filter((name) => name.startsWith('held-')).length
  return { git: wrappedGit(lines, folder), held, release }
}

describe('Many repositories that one user creates at once', () => {
  it('delay the creation by another user only by those in progress, and are all created', async () => {
    // Three of four creations at once may be those of one user.
    const { git, held, release } = heldGit('*--initial-branch=*', 3)
    const slowly = await startGit({ repositories: { directory: temporaryDirectory(), git } })
    const [ann, ben] = [await slowly.person('ann'), await slowly.person('ben')]
    let done = 0
    const flood = Array.from({ length: 20 }, async (_, index) => {
      const body = { name: `many-${index}`, auto_init: true }
      const { status } = await slowly.as(ann, 'POST', '/user/repos', body)
      done++
      return status
    })
    await waitFor(() => held() === 3)
    const made = await slowly.as(ben, 'POST', '/user/repos', { name: 'one', auto_init: true })
    assert.equal(made.status, 201)
    assert.equal(done, 0)
    release()
    assert.deepEqual(new Set(await Promise.all(flood)), new Set([201]))
  })
})

describe('Copies of large repositories by two users', () => {
  it('delay neither the first push nor the creation of a repository by a third', async () => {
    const slow = heldGit('*--no-write-fetch-head*', 4)
    const slowly = await startGit({ repositories: { directory: temporaryDirectory(), git: slow.git } })
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
    await waitFor(() => slow.held() === 4)
    await git(await aCheckout(), 'push', '--quiet', urlFor(slowly, empty, cleo), 'main:other')
    const made = await slowly.as(cleo, 'POST', '/user/repos', { name: 'new', auto_init: true })
    assert.equal(made.status, 201)
    slow.release()
    for (const { status } of await Promise.all(copies)) assert.equal(status, 202)
  })
})
