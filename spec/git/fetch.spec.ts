import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import express from 'express'
import { temporaryDirectory } from '../support/folder.ts'
import type { Person } from '../support/test-server.ts'
import { aCheckout, attempt, commit, git, urlFor } from './client.ts'
import { type ServedGit, startGit } from './served.ts'

let allot: ServedGit
let alice: Person
let checkout: string
let head: string
const url = (who?: Person) => urlFor(allot, 'alice/demo', who)
before(async () => {
  // Many clones at once wait for no other: the share of a client is the matter of other specs.
  allot = await startGit({ git: { maxConcurrentPerClient: 32 } })
  alice = await allot.person('alice')
  await allot.repository(alice, 'demo')
  checkout = await aCheckout({ a: 'one\n', big: 'x'.repeat(20_000) })
  await git(checkout, 'tag', 'v1')
  for (const text of ['two\n', 'three\n']) head = await commit(checkout, { a: text })
  await git(checkout, 'push', '--quiet', '--tags', url(alice), 'main')
})

const cloned = async (...words: string[]): Promise<string> => {
  const folder = temporaryDirectory()
  await git(folder, ...words, url(), 'clone')
  return `${folder}/clone`
}

const traced = async (version: number) => {
  const folder = temporaryDirectory()
  const words = ['-c', `protocol.version=${version}`, 'clone', url(), 'clone']
  const { code, err } = await attempt(folder, words, { GIT_TRACE_PACKET: '1' })
  assert.equal(code, 0, err)
  return { err, clone: `${folder}/clone` }
}

describe('git clone and fetch', () => {
  for (const version of [0, 1, 2])
    it(`speak version ${version} of the protocol`, async () => {
      const { err, clone } = await traced(version)
      assert.equal(/version 2\b/.test(err), version === 2)
      assert.equal(
        await git(clone, 'rev-parse', 'HEAD', 'v1^{}'),
        await git(checkout, 'rev-parse', 'HEAD', 'v1^{}'),
      )
      await git(clone, 'fsck', '--strict')
    })

  it('accept the URL without .git', async () => {
    const folder = temporaryDirectory()
    await git(folder, 'clone', '--quiet', url().replace(/\.git$/, ''), 'clone')
    assert.equal(await git(`${folder}/clone`, 'rev-parse', 'HEAD'), head)
  })

  it('support shallow clones, and deepen them', async () => {
    const clone = await cloned('clone', '--quiet', '--depth=1')
    assert.equal(await git(clone, 'rev-list', '--count', 'HEAD'), '1')
    await git(clone, 'fetch', '--quiet', '--deepen=1')
    assert.equal(await git(clone, 'rev-list', '--count', 'HEAD'), '2')
    await git(clone, 'fetch', '--quiet', '--unshallow')
    assert.equal(await git(clone, 'rev-list', '--count', 'HEAD'), '3')
  })

  for (const version of [0, 2])
    it(`support partial clones, which fetch large files on demand (version ${version})`, async () => {
      const words = ['-c', `protocol.version=${version}`, 'clone', '--quiet', '--no-checkout']
      const clone = await cloned(...words, '--filter=blob:none')
      const blob = await git(checkout, 'rev-parse', 'HEAD:big')
      const missing = await git(clone, 'rev-list', '--objects', '--missing=print', 'HEAD')
      assert.ok(missing.includes(`?${blob}`))
      assert.equal((await git(clone, 'cat-file', 'blob', blob)).length, 20_000)
    })

  for (const version of [0, 2])
    for (const filter of ['tree:0', 'blob:limit=2'])
      it(`give a partial clone the history on demand (version ${version}, ${filter})`, async () => {
        const words = ['-c', `protocol.version=${version}`, 'clone', '--quiet']
        const clone = await cloned(...words, `--filter=${filter}`)
        assert.match(await git(clone, 'log', '--patch', '--format=%s', '-2'), /-two\n\+three.*-one\n\+two/s)
        await git(clone, 'fsck')
      })

  it('transfer only new objects', async () => {
    const clone = await cloned('clone', '--quiet')
    const next = await commit(checkout, { a: 'four\n' })
    await git(checkout, 'push', '--quiet', url(alice), 'main')
    await git(clone, 'pull', '--quiet')
    assert.equal(await git(clone, 'rev-parse', 'HEAD'), next)
  })

  it('work for many clients at once', async () => {
    const clones = await Promise.all(Array.from({ length: 12 }, () => cloned('clone', '--quiet')))
    for (const clone of clones) assert.ok(existsSync(`${clone}/big`))
  })

  it('report the default branch of an empty repository', async () => {
    await allot.repository(alice, 'empty', { default_branch: 'trunk' })
    const folder = temporaryDirectory()
    await git(folder, 'clone', '--quiet', urlFor(allot, 'alice/empty'), 'clone')
    assert.equal(await git(`${folder}/clone`, 'symbolic-ref', 'HEAD'), 'refs/heads/trunk')
  })

  it('use the clone_url where the listener is mounted under a prefix', async () => {
    const mounted = await startGit(
      {},
      { mount: (handler) => express().use('/forge', handler), prefix: '/forge' },
    )
    const bob = await mounted.person('bob')
    await mounted.repository(bob, 'demo')
    const { body } = await mounted.as(bob, 'GET', '/repos/bob/demo')
    assert.equal(body.clone_url, urlFor(mounted, 'bob/demo'))
    await git(checkout, 'push', '--quiet', urlFor(mounted, 'bob/demo', bob), 'main')
    await git(temporaryDirectory(), 'clone', '--quiet', body.clone_url)
    await mounted.assertCounted('bob')
  })
})

describe('An object that no branch or tag leads to', () => {
  it('is sent by its full id, in every version of the protocol, until git gc deletes it', async () => {
    const path = await allot.repository(alice, 'dropped')
    const from = await aCheckout()
    await git(from, 'push', '--quiet', urlFor(allot, path, alice), 'main')
    const dropped = await commit(from, { secret: 'one' })
    const blob = await git(from, 'rev-parse', 'HEAD:secret')
    await git(from, 'push', '--quiet', urlFor(allot, path, alice), 'main:drop')
    await git(from, 'push', '--quiet', urlFor(allot, path, alice), ':drop')
    const fetched = async (version: number, id: string) => {
      const empty = temporaryDirectory()
      await git(empty, 'init', '--quiet')
      const words = ['-c', `protocol.version=${version}`, 'fetch', '--quiet', urlFor(allot, path), id]
      return attempt(empty, words)
    }
    for (const version of [0, 1, 2])
      for (const id of [dropped, blob]) assert.equal((await fetched(version, id)).code, 0, `${version} ${id}`)
    await git(await allot.folderOf(path), 'gc', '--quiet', '--prune=now')
    for (const version of [0, 2]) assert.match((await fetched(version, dropped)).err, /not our ref/)
  })

  it('is not found by an abbreviated id in a filter', async () => {
    const blob = await git(checkout, 'rev-parse', 'HEAD:big')
    for (const id of [blob.slice(0, 4), blob]) {
      const words = ['clone', '--quiet', '--no-checkout', `--filter=sparse:oid=${id}`, url(), 'clone']
      const { code, err } = await attempt(temporaryDirectory(), words)
      assert.deepEqual([code, /filter 'sparse:oid' not supported/.test(err)], [128, true], err)
    }
  })
})

const post = (service: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  fetch(`${allot.base}/alice/demo.git/git-${service}`, {
    method: 'POST',
    body: body as string,
    headers: { 'content-type': `application/x-git-${service}-request`, ...headers },
  })

const line = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text

describe('The protocol', () => {
  const wish = () => `${line(`want ${head}\n`)}0000${line('done\n')}`

  it('accepts a compressed request', async () => {
    for (const name of ['gzip', 'x-gzip']) {
      const answer = await post('upload-pack', gzipSync(wish()), { 'content-encoding': name })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-type'), 'application/x-git-upload-pack-result')
      assert.match(Buffer.from(await answer.arrayBuffer()).toString('latin1'), /^0008NAK\nPACK/)
    }
  })

  const bad: {
    what: string
    body: () => Uint8Array | string
    headers?: Record<string, string>
    status: number
  }[] = [
    {
      what: 'is not compressed as its header says',
      body: () => 'plain',
      headers: { 'content-encoding': 'gzip' },
      status: 400,
    },
    {
      what: 'is truncated',
      body: () => gzipSync('0'.repeat(9999)).subarray(0, 20),
      headers: { 'content-encoding': 'gzip' },
      status: 400,
    },
    {
      what: 'is compressed with an unsupported encoding',
      body: () => 'x',
      headers: { 'content-encoding': 'br' },
      status: 415,
    },
    {
      what: 'has another content type',
      body: () => 'x',
      headers: { 'content-type': 'text/plain' },
      status: 415,
    },
  ]
  for (const { what, body, headers, status } of bad)
    it(`answers ${status} to a request that ${what}`, async () => {
      const answer = await post('upload-pack', body(), headers)
      assert.equal(answer.status, status)
      assert.match(await answer.text(), /^[a-z].+\n$/)
    })

  it('reports the error of git for an object that does not exist', async () => {
    const answer = await post('upload-pack', `${line(`want ${'1'.repeat(40)}\n`)}0000${line('done\n')}`)
    assert.equal(answer.status, 200)
    assert.match(await answer.text(), /ERR upload-pack: not our ref/)
  })

  it('tells old clients that only the smart protocol is supported', async () => {
    for (const query of ['', '?service=git-upload-archive', '?service=../../x']) {
      const answer = await fetch(`${allot.base}/alice/demo.git/info/refs${query}`)
      assert.equal(answer.status, 403)
      assert.match(await answer.text(), /smart protocol/)
    }
  })

  it('answers 405 to other methods, and applies the option cors', async () => {
    const answer = await fetch(`${allot.base}/alice/demo.git/git-upload-pack`)
    assert.equal(answer.status, 405)
    assert.equal(answer.headers.get('allow'), 'POST, OPTIONS')
    const open = await startGit({ cors: { origins: ['https://app.example.test'] } })
    const { status, headers } = await fetch(`${open.base}/alice/demo.git/git-upload-pack`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example.test',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'git-protocol',
      },
    })
    assert.equal(status, 204)
    assert.equal(headers.get('access-control-allow-headers'), 'git-protocol')
  })

  it('can be turned off, and the host then serves the path itself', async () => {
    const off = await startGit({ git: { http: false } })
    assert.equal((await fetch(`${off.base}/alice/demo.git/info/refs?service=git-upload-pack`)).status, 404)
  })
})
