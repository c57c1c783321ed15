import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { temporaryDirectory } from '../support/folder.ts'
import type { Person } from '../support/test-server.ts'
import { aCheckout, git, urlFor } from './client.ts'
import { type ServedGit, startGit } from './served.ts'
import { beginPush, eventually, pushBody } from './slow-push.ts'

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
    await eventually(async () => (await asked(alice)).status === 503)
    await clone()
    await clone(bob)
    const refused = await asked(alice)
    assert.equal(refused.status, 503)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    for (const push of pushes) push.vanish()
    await eventually(async () => (await asked(alice)).status === 200)
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
