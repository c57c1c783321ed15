import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, statSync, truncateSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { before, describe, it } from 'node:test'
import type { Person } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { aContent, contentOf, LFS, type ServedLfs, sha256, startLfs, token } from './served.ts'

let allot: ServedLfs
let alice: Person
let bob: Person
/** Errors in the log. */
const logged: { err?: Error; path?: string }[] = []
before(async () => {
  const log = { error: (fields: object) => void logged.push(fields), info: () => undefined }
  allot = await startLfs({ lfs: { maxSize: 100_000 }, log })
  alice = await allot.person('alice')
  bob = await allot.person('bob')
})

let made = 0
const repository = (more = {}) => allot.repository(alice, `demo${++made}`, more)

describe('File locking', () => {
  for (const [method, at] of [
    ['GET', 'locks?path=a.bin'],
    ['POST', 'locks'],
    ['POST', 'locks/verify'],
    ['POST', 'locks/1/unlock'],
  ] as const)
    it(`is refused in words by ${method} ${at}, which tells nothing of hidden repositories`, async () => {
      const path = await repository({ private: true })
      const body = method === 'GET' ? undefined : { path: 'a.bin' }
      const { status, headers, body: answer } = await allot.lfs(path, method, at, alice, body)
      assert.equal(status, 404)
      assert.equal(headers.get('content-type'), LFS)
      assert.match(answer.message, /does not support file locking/)
      for (const [who, expected] of [
        [undefined, 401],
        [bob, 404],
      ] as const) {
        const hidden = await allot.lfs(path, method, at, who, body)
        const missing = await allot.lfs('alice/missing', method, at, who, body)
        assert.equal(hidden.status, expected)
        assert.deepEqual([missing.status, missing.body], [hidden.status, hidden.body])
      }
    })
})

describe('The batch API', () => {
  it('answers an upload URL for missing objects, and no action for existing ones', async () => {
    const path = await repository()
    const [there, absent] = [aContent(), aContent()]
    assert.equal(await allot.put(path, alice, there), 200)
    const { status, headers, body } = await allot.lfs(path, 'POST', 'objects/batch', alice, {
      operation: 'upload',
      transfers: ['lfs-standalone-file', 'basic'],
      ref: { name: 'refs/heads/main' },
      objects: [there, absent].map(({ oid, size }) => ({ oid, size })),
      hash_algo: 'sha256',
    })
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), LFS)
    const base = `${allot.base}/${path}.git/info/lfs`
    assert.deepEqual(body, {
      transfer: 'basic',
      hash_algo: 'sha256',
      objects: [
        { oid: there.oid, size: 1000 },
        {
          oid: absent.oid,
          size: 1000,
          actions: {
            upload: { href: `${base}/objects/${absent.oid}/1000` },
            verify: { href: `${base}/verify` },
          },
        },
      ],
    })
  })

  it('answers a download URL for existing objects, and 404 for missing ones', async () => {
    const path = await repository()
    const [there, absent] = [aContent(), aContent()]
    await allot.put(path, alice, there)
    assert.deepEqual(await allot.batch(path, 'download', undefined, there, absent), [
      {
        oid: there.oid,
        size: 1000,
        actions: { download: { href: `${allot.base}/${path}.git/info/lfs/objects/${there.oid}` } },
      },
      { oid: absent.oid, size: 1000, error: { code: 404, message: 'there is no such object' } },
    ])
  })

  it('answers each object once, even if the request repeats it', async () => {
    const path = await repository()
    const [there, absent] = [aContent(), aContent()]
    await allot.put(path, alice, there)
    const asked = Array.from({ length: 500 }, () => [there, absent]).flat()
    const objects = await allot.batch(path, 'download', alice, ...asked)
    assert.deepEqual(
      objects.map(({ oid }: { oid: string }) => oid),
      [there.oid, absent.oid],
    )
  })

  it('refuses more than 1,000 objects before it validates them, in a short response', async () => {
    const path = await repository()
    const { oid, size } = aContent()
    for (const objects of [Array(1001).fill({ oid, size }), Array(5000).fill(1)]) {
      const answer = await allot.lfs(path, 'POST', 'objects/batch', alice, { operation: 'upload', objects })
      assert.equal(answer.status, 413)
      assert.ok(answer.bytes.length < 200)
    }
  })

  it('repeats no credentials in the response, even those of a long header', async () => {
    const path = await repository()
    const authorization = `token${' '.repeat(12_000)}${alice.token}`
    const objects = Array.from({ length: 1000 }, () => aContent(20)).map(({ oid, size }) => ({ oid, size }))
    const body = { operation: 'upload', objects }
    const answer = await allot.lfs(path, 'POST', 'objects/batch', undefined, body, { authorization })
    assert.equal(answer.status, 200)
    assert.ok(!answer.bytes.includes(alice.token))
    assert.ok(answer.bytes.length < 600 * objects.length, `${answer.bytes.length} bytes`)
  })

  it('has no `authenticated` in its actions, and no `header` unless the client has a token from SSH', async () => {
    const path = await repository()
    const there = aContent()
    await allot.put(path, alice, there)
    const body = { operation: 'download', objects: [{ oid: there.oid, size: there.size }] }
    for (const headers of [{}, { authorization: '' }]) {
      const answer = await allot.lfs(path, 'POST', 'objects/batch', undefined, body, headers)
      const [object] = answer.body.objects
      assert.equal(object.authenticated, undefined)
      assert.equal(object.actions.download.header, undefined)
    }
    const authorization = `Foo ${'x'.repeat(15_000)}`
    const unknown = await allot.lfs(path, 'POST', 'objects/batch', undefined, body, { authorization })
    assert.equal(unknown.status, 401)
    assert.ok(unknown.bytes.length < 200)
  })

  it('refuses single objects that are not valid', async () => {
    const path = await repository()
    const there = aContent()
    await allot.put(path, alice, there)
    const wrong = [
      { oid: '../../../etc/passwd', size: 1 },
      { oid: there.oid.toUpperCase(), size: 1000 },
      { oid: there.oid.slice(1), size: 1000 },
      { oid: sha256('a'), size: -1 },
      { oid: sha256('a'), size: 1.5 },
      { oid: sha256('a'), size: 2 ** 60 },
      { oid: sha256('a'), size: 100_001 },
      { oid: there.oid, size: 999 },
    ]
    for (const one of await allot.batch(path, 'upload', alice, ...wrong)) {
      assert.equal(one.error.code, 422, JSON.stringify(one))
      assert.equal(one.actions, undefined)
    }
  })

  it('answers no action for an existing object that is larger than the limit is now', async () => {
    const path = await repository()
    const { oid, size, bytes } = aContent(100_001)
    const { id } = (await allot.as(alice, 'GET', `/repos/${path}`)).body
    await allot.allot.hosting.lfs.addCopy(id, { oid, size }, Readable.from([bytes]))
    assert.deepEqual(await allot.batch(path, 'upload', alice, { oid, size }), [{ oid, size }])
  })

  const bad: [what: string, body: unknown, status: number, headers?: Record<string, string>][] = [
    ['another operation', { operation: 'delete', objects: [] }, 422],
    ['no objects', { operation: 'upload' }, 422],
    ['malformed objects', { operation: 'upload', objects: [1] }, 422],
    ['other transfers alone', { operation: 'upload', objects: [], transfers: ['ssh'] }, 422],
    ['another hash', { operation: 'upload', objects: [], hash_algo: 'sha512' }, 409],
    ['no JSON', '{', 422, { 'content-type': LFS }],
    ['another content type', {}, 415, { 'content-type': 'text/plain' }],
    ['much too much', `{"x":"${'x'.repeat(1024 * 1024)}"}`, 413, { 'content-type': LFS }],
  ]
  for (const [what, body, status, headers] of bad)
    it(`answers ${status} in the format of LFS to ${what}`, async () => {
      const path = `alice/demo${made}`
      const answer = await allot.lfs(path, 'POST', 'objects/batch', alice, body, headers)
      assert.equal(answer.status, status)
      assert.equal(typeof answer.body.message, 'string')
    })
})

describe('An object', () => {
  it('is downloaded unchanged, completely or in part', async () => {
    const path = await repository()
    const { oid, size, bytes } = aContent(5000)
    assert.equal(await allot.put(path, alice, { oid, size, bytes }), 200)
    const whole = await allot.lfs(path, 'GET', `objects/${oid}`)
    assert.equal(whole.status, 200)
    assert.ok(whole.bytes.equals(bytes))
    assert.equal(whole.headers.get('content-length'), '5000')
    for (const [range, status, part, says] of [
      ['bytes=0-0', 206, bytes.subarray(0, 1), 'bytes 0-0/5000'],
      ['bytes=4000-', 206, bytes.subarray(4000), 'bytes 4000-4999/5000'],
      ['bytes=-10', 206, bytes.subarray(-10), 'bytes 4990-4999/5000'],
      ['bytes=4990-9999', 206, bytes.subarray(4990), 'bytes 4990-4999/5000'],
      ['bytes=-9999', 206, bytes, 'bytes 0-4999/5000'],
      ['bytes=5000-', 416, Buffer.alloc(0), 'bytes */5000'],
      ['bytes=-0', 416, Buffer.alloc(0), 'bytes */5000'],
      ['bytes=5-1', 200, bytes, null],
      ['bytes=0-1,4-5', 200, bytes, null],
      ['lines=0-1', 200, bytes, null],
    ] as const) {
      const answer = await allot.lfs(path, 'GET', `objects/${oid}`, undefined, undefined, { range })
      assert.equal(answer.status, status, range)
      assert.ok(answer.bytes.equals(part), range)
      assert.equal(answer.headers.get('content-range'), says, range)
    }
    const held = await allot.lfs(path, 'GET', `objects/${oid}`, undefined, undefined, {
      'if-none-match': whole.headers.get('etag')!,
    })
    assert.equal(held.status, 304)
    const head = await allot.lfs(path, 'HEAD', `objects/${oid}`)
    assert.deepEqual([head.status, head.headers.get('content-length'), head.bytes.length], [200, '5000', 0])
  })

  it('that was cut short on the disk is an aborted download, which is logged', async () => {
    const path = await repository()
    const { oid, size, bytes } = aContent(90_001)
    await allot.put(path, alice, { oid, size, bytes })
    const folder = join(allot.directory, 'lfs')
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))
    truncateSync(names.find((name) => statSync(name).size === size)!, 70_000)
    await assert.rejects(allot.lfs(path, 'GET', `objects/${oid}`))
    await waitFor(() => logged.length > 0)
    const [{ err, path: logPath } = {}] = logged.splice(0)
    assert.equal(logPath, `/${path}.git/info/lfs/objects/${oid}`)
    assert.match(err?.message ?? '', /70000/)
    await allot.as(alice, 'DELETE', `/repos/${path}`)
  })

  it('may be empty', async () => {
    const path = await repository()
    const empty = contentOf('')
    assert.equal(await allot.put(path, alice, empty), 200)
    const { status, bytes } = await allot.lfs(path, 'GET', `objects/${empty.oid}`)
    assert.deepEqual([status, bytes.length], [200, 0])
  })

  it('is verified with 200 when it has the given size, otherwise refused with 422, or with 404 when it is absent', async () => {
    const path = await repository()
    const there = aContent()
    await allot.put(path, alice, there)
    for (const [oid, size, status] of [
      [there.oid, 1000, 200],
      [there.oid, 999, 422],
      [sha256('absent'), 1000, 404],
      ['../x', 1000, 422],
    ] as const)
      assert.equal((await allot.lfs(path, 'POST', 'verify', alice, { oid, size })).status, status)
  })

  it('counts once in its repository, also when several clients upload it', async () => {
    const carol = await allot.person('carol')
    const [one, other] = [await allot.repository(carol, 'one'), await allot.repository(carol, 'other')]
    const content = aContent(20_000)
    const before = allot.filesOnDisk('lfs').length
    const statuses = await Promise.all(Array.from({ length: 8 }, () => allot.put(one, carol, content)))
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.equal(await allot.put(one, carol, content), 200)
    assert.equal(await allot.lfsBytesOf('carol'), 20_000)
    await allot.allot.hosting.disk.idle()
    assert.equal(allot.filesOnDisk('lfs').length, before + 1)
    assert.equal(await allot.put(other, carol, content), 200)
    assert.equal(await allot.lfsBytesOf('carol'), 40_000)
    const { body } = await allot.as(carol, 'GET', '/user/quota')
    assert.equal(body.used.size.git.LFS, 40_000)
  })

  it('is accepted over quota, which the host enforces', async () => {
    const dave = await allot.person('dave')
    const path = await allot.repository(dave, 'demo')
    await allot.as(allot.root, 'POST', '/admin/quota/rules', {
      name: 'none',
      limit: 0,
      subjects: ['size:git:lfs'],
    })
    await allot.as(allot.root, 'POST', '/admin/quota/groups', { name: 'none', rules: [{ name: 'none' }] })
    await allot.as(allot.root, 'PUT', '/admin/quota/groups/none/users/dave')
    const content = aContent()
    assert.equal((await allot.batch(path, 'upload', dave, content))[0].error, undefined)
    assert.equal(await allot.put(path, dave, content), 200)
    assert.equal((await allot.as(dave, 'GET', '/user/quota/check?subject=size:git:lfs')).body, true)
  })

  it('moves with its repository to another owner, and is deleted with it', async () => {
    const erin = await allot.person('erin')
    const path = await allot.repository(erin, 'moving')
    const content = aContent(3000)
    await allot.put(path, erin, content)
    const frank = await allot.person('frank')
    assert.equal(
      (await allot.as(allot.root, 'POST', `/repos/${path}/transfer`, { new_owner: 'frank' })).status,
      202,
    )
    assert.deepEqual([await allot.lfsBytesOf('erin'), await allot.lfsBytesOf('frank')], [0, 3000])
    assert.equal((await allot.lfs('frank/moving', 'GET', `objects/${content.oid}`)).status, 200)
    const before = allot.filesOnDisk('lfs').length
    assert.equal((await allot.as(frank, 'DELETE', '/repos/frank/moving')).status, 204)
    assert.equal(await allot.lfsBytesOf('frank'), 0)
    assert.equal(allot.filesOnDisk('lfs').length, before - 1)
  })
})

describe('Access to objects', () => {
  it('is for those who can read (download) or write (upload) the repository; others get 404', async () => {
    const path = await repository({ private: true })
    const [content, more] = [aContent(), aContent()]
    await allot.put(path, alice, content)
    const reading = { token: await allot.scoped(alice, 'read:repository') }
    const stranger = { token: await allot.scoped(alice, 'read:user') }
    const asked = (operation: string) => ({ operation, objects: [] })
    for (const [who, download, upload] of [
      [alice, 200, 200],
      [allot.root, 200, 200],
      [bob, 404, 404],
      [reading, 200, 403],
      [stranger, 403, 403],
      [undefined, 401, 401],
      [{ token: '0'.repeat(40) }, 401, 401],
    ] as const) {
      const say = JSON.stringify(who)
      const down = await allot.lfs(path, 'POST', 'objects/batch', who, asked('download'))
      const up = await allot.lfs(path, 'POST', 'objects/batch', who, asked('upload'))
      assert.deepEqual([down.status, up.status], [download, upload], say)
      assert.equal((await allot.lfs(path, 'GET', `objects/${content.oid}`, who)).status, download, say)
      const put = await allot.lfs(path, 'PUT', `objects/${more.oid}/${more.size}`, who, more.bytes)
      assert.equal(put.status, upload, say)
      assert.equal(
        (await allot.lfs(path, 'POST', 'verify', who, { oid: content.oid, size: 1000 })).status,
        upload,
        say,
      )
      if (download === 401) assert.match(down.headers.get('lfs-authenticate') ?? '', /^Basic/)
    }
    assert.equal(
      (await allot.lfs('alice/absent', 'POST', 'objects/batch', undefined, asked('download'))).status,
      401,
    )
  })

  it('is refused for uploads to a public repository by others, and to an archived one', async () => {
    const path = await repository()
    const content = aContent()
    assert.equal(await allot.put(path, bob, content), 403)
    await allot.as(alice, 'PATCH', `/repos/${path}`, { archived: true })
    assert.equal(await allot.put(path, alice, content), 403)
  })

  const WITHDRAWALS: [what: string, request: (org: string, name: string) => [string, string, object?]][] = [
    ['loses the permission', (org, name) => ['DELETE', `/orgs/${org}/members/${name}`]],
    [
      'uploads to a repository that is archived',
      (org) => ['PATCH', `/repos/${org}/demo`, { archived: true }],
    ],
  ]
  for (const [what, withdraw] of WITHDRAWALS)
    it(`is checked again when the content has arrived, and refused to a user who ${what} meanwhile`, async () => {
      const [owner, member] = [await allot.person(), await allot.person()]
      const org = `org-${owner.name}`
      await allot.as(owner, 'POST', '/orgs', { username: org })
      await allot.as(owner, 'PUT', `/orgs/${org}/members/${member.name}`)
      await allot.as(owner, 'POST', `/orgs/${org}/repos`, { name: 'demo' })
      const { oid, bytes } = aContent()
      const upload = request(`${allot.base}/${org}/demo.git/info/lfs/objects/${oid}/${bytes.length}`, {
        method: 'PUT',
        headers: { ...token(member), 'content-length': bytes.length },
      })
      const answered = once(upload, 'response')
      upload.write(bytes.subarray(0, 500))
      await waitFor(() => allot.filesOnDisk().some((size) => size === 500))
      const [method, path, body] = withdraw(org, member.name)
      assert.ok((await allot.as(owner, method, path, body)).status < 300)
      upload.end(bytes.subarray(500))
      const [response] = (await answered) as [IncomingMessage]
      assert.equal(response.statusCode, 403)
      response.resume()
      assert.equal(await allot.lfsBytesOf(org), 0)
    })

  it('does not include objects of another repository', async () => {
    const content = aContent()
    await allot.put(await repository({ private: true }), alice, content)
    assert.equal(
      (await allot.lfs(await allot.repository(bob, 'mine'), 'GET', `objects/${content.oid}`)).status,
      404,
    )
  })
})

describe('A faulty upload is refused and leaves nothing', () => {
  const send = async (path: string, at: string, bytes: Uint8Array) => {
    const [files, used] = [allot.filesOnDisk().length, await allot.lfsBytesOf('alice')]
    const answer = await allot.lfs(path, 'PUT', at, alice, bytes)
    await allot.allot.hosting.disk.idle()
    assert.equal(allot.filesOnDisk().length, files)
    assert.equal(await allot.lfsBytesOf('alice'), used)
    return answer
  }
  const a = sha256('a')
  const wrong: [what: string, at: string, bytes: Buffer, status: number][] = [
    ['another content', `objects/${a}/1`, Buffer.from('b'), 422],
    ['more than was said', `objects/${a}/1`, Buffer.from('aa'), 422],
    ['less than was said', `objects/${a}/2`, Buffer.from('a'), 422],
    ['more than is taken', `objects/${a}/100001`, Buffer.alloc(100_001), 413],
    ['a name that is not a hash', 'objects/abc/1', Buffer.from('a'), 422],
    ['a path as a name', `objects/..%2F..%2F${a}/1`, Buffer.from('a'), 422],
    ['an upper case name', `objects/${a.toUpperCase()}/1`, Buffer.from('a'), 422],
    ['a malformed size', `objects/${a}/1e0`, Buffer.from('a'), 422],
    ['a size that no file has', `objects/${a}/9007199254740993`, Buffer.from('a'), 422],
    ['a size of a sort', `objects/${a}/-1`, Buffer.from('a'), 422],
  ]
  for (const [what, at, bytes, status] of wrong)
    it(`${what}: ${status}`, async () => {
      const { status: is, body } = await send(await repository(), at, bytes)
      assert.equal(is, status)
      assert.equal(typeof body.message, 'string')
    })

  it('a chunked body that is too long or has other content', async () => {
    const path = await repository()
    for (const [at, length, status] of [
      [`objects/${a}/1`, 90_000, 422],
      [`objects/${sha256(Buffer.alloc(200_000))}/200000`, 200_000, 413],
    ] as const) {
      const body = new Blob([Buffer.alloc(length)]).stream()
      const answer = await fetch(`${allot.base}/${path}.git/info/lfs/${at}`, {
        method: 'PUT',
        headers: { authorization: `token ${alice.token}` },
        body,
        duplex: 'half',
      } as RequestInit)
      assert.equal(answer.status, status)
      await answer.text()
    }
    assert.deepEqual(allot.filesOnDisk('arriving'), [])
  })

  it('an upload that the client aborts', async () => {
    const path = await repository()
    const { oid, size, bytes } = aContent(90_000)
    const { port, pathname } = new URL(`${allot.base}/`)
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(
      `PUT ${pathname}${path}.git/info/lfs/objects/${oid}/${size} HTTP/1.1\r\nHost: a\r\nAuthorization: token ${alice.token}\r\nContent-Length: ${size}\r\n\r\n`,
    )
    socket.write(bytes.subarray(0, 50_000))
    await waitFor(() => allot.filesOnDisk('arriving').length === 1)
    socket.destroy()
    await waitFor(() => allot.filesOnDisk('arriving').length === 0)
    assert.equal((await allot.lfs(path, 'GET', `objects/${oid}`)).status, 404)
    assert.equal(await allot.put(path, alice, { oid, size, bytes }), 200)
  })

  it('a repository that is deleted during the upload', async () => {
    const path = await repository()
    const { oid, size, bytes } = aContent(90_000)
    let go: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(bytes.subarray(0, 10))
        await gate
        controller.enqueue(bytes.subarray(10))
        controller.close()
      },
    })
    const asked = fetch(`${allot.base}/${path}.git/info/lfs/objects/${oid}/${size}`, {
      method: 'PUT',
      headers: { authorization: `token ${alice.token}` },
      body,
      duplex: 'half',
    } as RequestInit)
    await waitFor(() => allot.filesOnDisk('arriving').length === 1)
    const before = allot.filesOnDisk('lfs').length
    assert.equal((await allot.as(alice, 'DELETE', `/repos/${path}`)).status, 204)
    go()
    assert.equal((await asked).status, 404)
    await allot.allot.hosting.disk.idle()
    assert.equal(allot.filesOnDisk('lfs').length, before)
  })

  it('a ledger key that is reserved for the server', async () => {
    const entry = { repository: await repository(), name: 'x', size: 1 }
    const key = `lfs/allot:1%2F${a}`
    assert.equal((await allot.as(allot.root, 'PUT', `/admin/ledger/${key}`, entry)).status, 422)
    assert.equal((await allot.as(allot.root, 'DELETE', `/admin/ledger/${key}`)).status, 422)
  })
})

describe('A host that keeps LFS objects itself', () => {
  for (const options of [{ lfs: false }, { repositories: false }] as const)
    it(`turns the routes of LFS off with ${JSON.stringify(options)}`, async () => {
      const without = await startLfs(options)
      const owner = await without.person()
      const path = await without.repository(owner, 'demo')
      const { status } = await without.lfs(path, 'POST', 'objects/batch', owner, {
        operation: 'upload',
        objects: [],
      })
      assert.equal(status, 404)
    })
})
