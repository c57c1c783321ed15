import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import express from 'express'
import { memory } from '../../drivers/memory/index.ts'
import { deferred } from '../../lib/deferred.ts'
import { assertError, assertList, assertNoContent, assertNotFound, RFC3339 } from '../support/expectations.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { type Answer, type Mount, type Person, start, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

const LARGEST = 200_000

let allot: TestServer
let [ann, ben]: Person[] = []
let directory: string
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'allot-attachments-'))
  allot = await start({ repositories: false, files: { directory }, attachments: { maxSize: LARGEST } })
  ann = await allot.person('ann')
  ben = await allot.person('ben')
})
after(async () => {
  await allot.stop()
  await rm(directory, { recursive: true, force: true })
})

const made = async (answer: Promise<Answer>) => {
  const { status, body, text } = await answer
  assert.equal(status, 201, text)
  return body
}

/** A repository of ann's with an issue by ben, a comment by ben on it, and a release. */
const aRepository = async (more = {}) => {
  const name = `r${++repositories}`
  const at = `/repos/ann/${name}`
  await made(allot.as(ann, 'POST', '/user/repos', { name, ...more }))
  const by = more && 'private' in more ? ann : ben
  await made(allot.as(by, 'POST', `${at}/issues`, { title: 'one' }))
  const comment = await made(allot.as(by, 'POST', `${at}/issues/1/comments`, { body: 'c' }))
  const release = await made(allot.as(ann, 'POST', `${at}/releases`, { tag_name: 'v1/x' }))
  const page = `${allot.base}/ann/${name}`
  const targets = {
    issue: { path: `${at}/issues/1`, page: `${page}/issues/1` },
    comment: {
      path: `${at}/issues/comments/${comment.id}`,
      page: `${page}/issues/1#issuecomment-${comment.id}`,
    },
    release: { path: `${at}/releases/${release.id}`, page: `${page}/releases/tag/v1/x` },
  }
  return { at, holders: targets, release }
}
let repositories = 0
const KINDS = ['issue', 'comment', 'release'] as const

const BOUNDARY = 'xyzzy'
const TYPE = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }
const part = (content: string | Buffer, head = 'name="attachment"; filename="a.txt"') =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ])
const form = (...parts: Buffer[]) => Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)])

const send = (path: string, body: Buffer | string, by = ann, headers: Record<string, string> = TYPE) =>
  allot.request('POST', path, { token: by!.token, body, headers })
const attach = (path: string, content: string | Buffer, query = '', by = ann) =>
  made(send(`${path}/assets${query}`, form(part(content)), by))

const usage = async (of = ann) =>
  (await allot.as(of, 'GET', '/user/quota')).body.used.size.assets.attachments as {
    issues: number
    releases: number
  }

const filesOnDisk = (): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map(({ name }) => name)

describe('An attachment', () => {
  for (const kind of KINDS)
    it(`of ${kind === 'issue' ? 'an' : 'a'} ${kind} is added, listed, renamed, deleted, and counted toward the owner of the repository`, async () => {
      const { holders } = await aRepository()
      const { path, page } = holders[kind]
      const before = await usage()
      const by = kind === 'release' ? ann : ben
      const one = await attach(path, 'hello', '?name=b%20%C3%A4.txt', by)
      const { id, uuid, created_at, ...rest } = one
      assert.match(created_at, RFC3339)
      assert.deepEqual(rest, {
        ...{ name: 'b ä.txt', size: 5, download_count: 0, type: 'attachment' },
        browser_download_url: `${allot.base}/attachments/${uuid}`,
      })
      const [counted, other] =
        kind === 'release' ? (['releases', 'issues'] as const) : (['issues', 'releases'] as const)
      assert.deepEqual(await usage(), { [counted]: before[counted] + 5, [other]: before[other] })
      assert.deepEqual(await usage(ben), { issues: 0, releases: 0 })
      assert.ok(filesOnDisk().includes(uuid))

      const used = (await allot.as(ann, 'GET', '/user/quota/attachments')).body[0]
      assert.deepEqual(used, {
        ...{ name: 'b ä.txt', size: 5, api_url: `${allot.api}${path}/assets/${id}` },
        contained_in: { api_url: `${allot.api}${path}`, html_url: page },
      })
      const byUrl = await allot.as(undefined, 'GET', used.api_url.slice(allot.api.length))
      assert.deepEqual([byUrl.status, byUrl.body], [200, one])
      const container = await allot.as(undefined, 'GET', used.contained_in.api_url.slice(allot.api.length))
      assert.deepEqual(container.body.assets, [one])
      assert.equal(container.body.html_url, used.contained_in.html_url)

      const second = await attach(path, 'x', '', by)
      assert.equal(second.name, 'a.txt')
      assertList(await allot.as(undefined, 'GET', `${path}/assets`), 'id', [id, second.id])
      assertList(await allot.as(undefined, 'GET', `${path}/assets?limit=1&page=2`), 'id', [second.id], 2)

      const renamed = await allot.as(by, 'PATCH', `${path}/assets/${id}`, { name: 'c.txt' })
      assert.deepEqual([renamed.status, renamed.body], [201, { ...one, name: 'c.txt' }])
      assert.equal((await allot.as(ann, 'GET', '/user/quota/attachments')).body[0].name, 'c.txt')
      for (const name of ['', '..', 'a/b', 'a\nb', 'x'.repeat(256)])
        assertError(await allot.as(by, 'PATCH', `${path}/assets/${id}`, { name }), 422)

      assertNoContent(await allot.as(by, 'DELETE', `${path}/assets/${id}`))
      for (const method of ['GET', 'DELETE'])
        assertNotFound(await allot.as(by, method, `${path}/assets/${id}`))
      assertNotFound(await allot.as(by, 'PATCH', `${path}/assets/${id}`, { name: 'x' }))
      assert.ok(!filesOnDisk().includes(uuid))
      assertNoContent(await allot.as(ann, 'DELETE', path))
      assert.ok(!filesOnDisk().includes(second.uuid))
      assert.deepEqual(await usage(), before)
      assertNotFound(await allot.as(ann, 'GET', `${path}/assets`))
    })

  for (const kind of KINDS)
    it(`of ${kind === 'issue' ? 'an' : 'a'} ${kind} can be changed only by a user with the permission, and is found only in its own repository`, async () => {
      const [{ holders }, elsewhere] = [await aRepository(), await aRepository()]
      const { path } = holders[kind]
      const { id } = await attach(path, 'hello', '', kind === 'release' ? ann : ben)
      const stranger = await allot.person()
      const before = await usage()
      assertError(await send(`${path}/assets`, form(part('x')), stranger), 403)
      assertError(await allot.as(stranger, 'PATCH', `${path}/assets/${id}`, { name: 'x' }), 403)
      assertError(await allot.as(stranger, 'DELETE', `${path}/assets/${id}`), 403)
      for (const other of [
        elsewhere.holders[kind].path,
        holders[kind === 'issue' ? 'release' : 'issue'].path,
      ])
        for (const method of ['GET', 'DELETE'])
          assertNotFound(await allot.as(ann, method, `${other}/assets/${id}`))
      for (const nothing of [`${path}9`, path.replace(/\d+$/, 'x'), path.replace('/ann/', '/nobody/')]) {
        assertNotFound(await send(`${nothing}/assets`, form(part('x'))))
        assertNotFound(await allot.as(ann, 'GET', `${nothing}/assets`))
      }
      assert.deepEqual(await usage(), before)
    })

  it('of a private repository or of a draft is 404 for a client that may not see it', async () => {
    const { at, release } = await aRepository({ private: true })
    const { id } = await attach(`${at}/issues/1`, 'secret')
    for (const who of [undefined, ben])
      assertNotFound(await allot.as(who, 'GET', `${at}/issues/1/assets/${id}`))
    assertNotFound(await send(`${at}/issues/1/assets`, form(part('x')), ben))
    await allot.as(ann, 'PATCH', at, { private: false })
    await allot.as(ann, 'PATCH', `${at}/releases/${release.id}`, { draft: true })
    const draft = await attach(`${at}/releases/${release.id}`, 'draft')
    for (const who of [undefined, ben]) {
      assert.equal((await allot.as(who, 'GET', `${at}/issues/1/assets/${id}`)).status, 200)
      assertNotFound(await allot.as(who, 'GET', `${at}/releases/${release.id}/assets`))
      assertNotFound(await allot.as(who, 'GET', `${at}/releases/${release.id}/assets/${draft.id}`))
    }
    assertNotFound(await send(`${at}/releases/${release.id}/assets`, form(part('x')), ben))
  })

  it('moves with its repository to another owner, counts toward that owner, and is deleted with the repository', async () => {
    const { at, holders } = await aRepository()
    for (const kind of KINDS) await attach(holders[kind].path, 'hello')
    const before = { ann: await usage(ann), ben: await usage(ben) }
    await allot.as(allot.root, 'POST', `${at}/transfer`, { new_owner: 'ben' })
    assert.deepEqual(await usage(ann), { issues: before.ann.issues - 10, releases: before.ann.releases - 5 })
    assert.deepEqual(await usage(ben), { issues: before.ben.issues + 10, releases: before.ben.releases + 5 })
    const used = (await allot.as(ben, 'GET', '/user/quota/attachments')).body
    for (const { api_url } of used)
      assert.equal((await allot.as(ben, 'GET', api_url.slice(allot.api.length))).status, 200)
    const files = filesOnDisk().length
    assertNoContent(await allot.as(ben, 'DELETE', at.replace('/ann/', '/ben/')))
    assert.deepEqual(await usage(ben), before.ben)
    assert.equal(filesOnDisk().length, files - 3)
  })

  it('has a ledger entry that the host cannot change', async () => {
    const { holders } = await aRepository()
    const { id } = await attach(holders.issue.path, 'hello')
    const path = `/admin/ledger/attachments/${encodeURIComponent(`allot:attachment/${id}`)}`
    assert.equal((await allot.as(allot.root, 'GET', path)).body.size, 5)
    const entry = {
      repository: holders.issue.path.slice('/repos/'.length).split('/issues')[0],
      name: 'x',
      size: 1,
      on: 'issue',
    }
    assertError(await allot.as(allot.root, 'PUT', path, entry), 422)
    assert.equal((await allot.as(allot.root, 'DELETE', path)).status, 422)
    assert.equal((await allot.as(allot.root, 'GET', path)).body.size, 5)
  })

  it('is refused above the size limit, accepted at the limit, and may be empty', async () => {
    const { holders } = await aRepository()
    const assets = `${holders.issue.path}/assets`
    assert.equal((await made(send(assets, form(part(Buffer.alloc(LARGEST)))))).size, LARGEST)
    assert.equal((await made(send(assets, form(part(''))))).size, 0)
    const before = [await usage(), filesOnDisk()]
    for (const size of [LARGEST + 1, LARGEST + 100_000, 5_000_000])
      assertError(await send(assets, form(part(Buffer.alloc(size)))), 413, /larger than 200000 bytes/)
    assert.deepEqual([await usage(), filesOnDisk()], before)
  })

  it('may be sent with other members of the form, which are ignored', async () => {
    const { holders } = await aRepository()
    const body = form(part('x', 'name="other"'), part('hello'), part('y', 'name="name"'))
    assert.equal((await made(send(`${holders.issue.path}/assets`, body))).size, 5)
  })

  it('has the file name of the form, without folders', async () => {
    const { holders } = await aRepository()
    const named = async (head: string) =>
      (await made(send(`${holders.issue.path}/assets`, form(part('x', `name="attachment"; ${head}`))))).name
    assert.equal(await named('filename="../../etc/passwd"'), 'passwd')
    assert.equal(await named('filename="C:\\\\x\\\\y.txt"'), 'y.txt')
    assert.equal(await named('filename="ä 🦉.txt"'), 'ä 🦉.txt')
    assert.equal(await named("filename*=UTF-8''%e2%82%ac.txt"), '€.txt')
  })
})

const many = Buffer.concat(Array.from({ length: 25 }, (_, at) => part('x', `name="f${at}"`)))
const BAD: [
  what: string,
  status: number,
  body: Buffer | string,
  message: RegExp,
  query?: string,
  type?: string,
][] = [
  ['no file', 422, form(), /a file is required/],
  ['a member that is not a file', 422, form(part('x', 'name="attachment"')), /a file is required/],
  [
    'a file of another name',
    422,
    form(part('x', 'name="file"; filename="a"')),
    /send it in the field attachment/,
  ],
  ['two files', 422, form(part('hello'), part('again')), /one file/],
  ['two files, the first of them large', 422, form(part(Buffer.alloc(100_000)), part('again')), /one file/],
  ['a body that is cut short in the file', 422, part('hello').subarray(0, -3), /not complete multipart/],
  ['a body without its end', 422, part('hello'), /not complete multipart/],
  ['a body that is cut short in a header', 422, part('hello').subarray(0, 30), /not complete multipart/],
  ['an empty body', 422, '', /not complete multipart/],
  ['a body that is not a form', 422, 'hello there', /not complete multipart/],
  ['a body that is JSON', 415, '{"attachment":"x"}', /must be multipart/, '', 'application/json'],
  ['bytes of no form', 415, 'hello', /must be multipart/, '', 'application/octet-stream'],
  ['a form without a boundary', 422, form(part('x')), /boundary/, '', 'multipart/form-data'],
  ['too many members', 422, form(many, part('hello')), /too many/],
  ['a file without a name', 422, form(part('x', 'name="attachment"; filename=""')), /^name: /],
  ['a file that is called ..', 422, form(part('x', 'name="attachment"; filename=".."')), /^name: /],
  ['a name that climbs', 422, form(part('x')), /^name: /, '?name=..%2F..%2Fx'],
  ['a name with a backslash', 422, form(part('x')), /^name: /, '?name=a%5Cb'],
  ['a name with a line feed', 422, form(part('x')), /^name: /, '?name=a%0D%0AX-Y:z'],
  ['a name with a NUL', 422, form(part('x')), /^name: /, '?name=a%00'],
  ['a name that is too long', 422, form(part('x')), /^name: /, `?name=${'x'.repeat(256)}`],
]

describe('POST …/assets', () => {
  for (const [what, status, body, message, query = '', type = TYPE['content-type']] of BAD)
    it(`answers ${status} to ${what}, keeps no file and counts nothing`, async () => {
      const { holders } = await aRepository()
      const before = [await usage(), filesOnDisk()]
      for (const kind of KINDS) {
        const path = `${holders[kind].path}/assets`
        assertError(await send(path + query, body, ann, { 'content-type': type }), status, message)
        assertList(await allot.as(ann, 'GET', path), 'id', [])
      }
      assert.deepEqual([await usage(), filesOnDisk()], before)
    })

  it('keeps nothing of an upload that the client aborts', async () => {
    const { holders } = await aRepository()
    const before = [await usage(), filesOnDisk()]
    const { port, hostname, pathname } = new URL(`${allot.api}${holders.issue.path}/assets`)
    const socket = connect(Number(port), hostname)
    const body = form(part(Buffer.alloc(100_000)))
    socket.write(
      [
        `POST ${pathname} HTTP/1.1`,
        ...['Host: x', `Authorization: token ${ann!.token}`, `Content-Type: ${TYPE['content-type']}`],
        ...[`Content-Length: ${body.length}`, '', ''],
      ].join('\r\n'),
    )
    socket.write(body.subarray(0, 80_000))
    await waitFor(() => filesOnDisk().length > (before[1] as string[]).length)
    socket.destroy()
    await waitFor(() => filesOnDisk().length === (before[1] as string[]).length)
    assert.deepEqual([await usage(), filesOnDisk()], before)
    assertList(await allot.as(ann, 'GET', `${holders.issue.path}/assets`), 'id', [])
  })

  it('accepts concurrent uploads and keeps them apart', async () => {
    const { holders } = await aRepository()
    const before = await usage()
    const sizes = Array.from({ length: 12 }, (_, at) => at * 7001)
    const all = await Promise.all(sizes.map((size) => attach(holders.issue.path, Buffer.alloc(size))))
    assert.deepEqual(
      all.map(({ size }) => size),
      sizes,
    )
    const total = sizes.reduce((sum, size) => sum + size, 0)
    assert.deepEqual(await usage(), { ...before, issues: before.issues + total })
  })

  it('keeps nothing when the issue, comment or release is deleted during the upload', async () => {
    const { holders } = await aRepository()
    const { path } = holders.comment
    const before = [await usage(), filesOnDisk()]
    const stream = new ReadableStream({
      async start(to) {
        to.enqueue(part(Buffer.alloc(50_000)))
        assertNoContent(await allot.as(ann, 'DELETE', path))
        to.enqueue(Buffer.from(`--${BOUNDARY}--\r\n`))
        to.close()
      },
    })
    const answer = await fetch(`${allot.api}${path}/assets`, {
      method: 'POST',
      headers: { ...TYPE, authorization: `token ${ann!.token}` },
      ...{ body: stream, duplex: 'half' },
    })
    assert.equal(answer.status, 404)
    await allot.allot.hosting.disk.idle()
    assert.deepEqual([await usage(), filesOnDisk()], before)
  })

  it('refuses more attachments than an issue, a comment or a release may have', async () => {
    const { holders } = await aRepository()
    const { hosting } = allot.allot
    const place = { owner: 'ann', name: holders.release.path.split('/')[3]! }
    const which = { release: Number(holders.release.path.split('/').at(-1)) }
    const { Readable } = await import('node:stream')
    const add = (n: number) =>
      hosting.attachments.add({ id: ann!.id, admin: false }, place, which, {
        ...{ name: `${n}`, content: Readable.from([Buffer.from('x')], { objectMode: false }), maxSize: 10 },
      })
    for (let n = 0; n < 500; n += 50) await Promise.all(Array.from({ length: 50 }, (_, at) => add(n + at)))
    assertError(await send(`${holders.release.path}/assets`, form(part('x'))), 422, /500 attachments/)
    assertNoContent(await allot.as(ann, 'DELETE', holders.release.path))
  })
})

describe('GET /attachments/{uuid}', () => {
  const get = (uuid: string, by?: Person, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${allot.base}/attachments/${uuid}`, {
      method,
      headers: { ...headers, ...(by === undefined ? {} : { authorization: `token ${by.token}` }) },
    })
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7) % 251))

  it('sends the file with its name, and counts complete downloads', async () => {
    const { holders } = await aRepository()
    const { id, uuid, browser_download_url } = await attach(
      holders.issue.path,
      bytes,
      '?name=%C3%A4%22%3Cb%3E.html',
    )
    const answer = await fetch(browser_download_url)
    assert.equal(answer.status, 200)
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes)
    const { headers } = answer
    assert.equal(headers.get('content-length'), '70000')
    assert.equal(headers.get('content-type'), 'application/octet-stream')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.match(headers.get('content-security-policy')!, /sandbox/)
    assert.equal(
      headers.get('content-disposition'),
      `attachment; filename="\xc3\xa4_<b>.html"; filename*=UTF-8''%C3%A4%22%3Cb%3E.html`,
    )
    const count = async () =>
      (await allot.as(ann, 'GET', `${holders.issue.path}/assets/${id}`)).body.download_count
    await waitFor(async () => (await count()) === 1)
    const part = await get(uuid, undefined, { range: 'bytes=69990-' })
    assert.deepEqual([part.status, part.headers.get('content-range')], [206, 'bytes 69990-69999/70000'])
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(69_990))
    const held = await get(uuid, undefined, { 'if-none-match': headers.get('etag')! })
    assert.equal(held.status, 304)
    const head = await get(uuid, undefined, {}, 'HEAD')
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, '70000'])
    assert.equal(await count(), 1)
    await Promise.all([1, 2, 3].map(async () => (await get(uuid)).arrayBuffer()))
    await waitFor(async () => (await count()) === 4)
  })

  it('is sent also while no write ends, and counted then', async () => {
    const driver = memory()
    let written: Promise<unknown> = Promise.resolve()
    const write: typeof driver.write = async (body) => {
      await written
      return driver.write(body)
    }
    const server = await start({ driver: { ...driver, write }, repositories: false })
    const { root } = server
    await server.made(root, '/user/repos', { name: 'app' })
    await server.made(root, '/repos/root/app/issues', { title: 'one' })
    await server.attach(root, '/repos/root/app/issues/1', 'bytes', 'a.txt')
    const { uuid } = (await server.as(root, 'GET', '/repos/root/app/issues/1/assets')).body[0]
    const { promise, resolve } = deferred<void>()
    written = promise
    const sent = await fetch(`${server.base}/attachments/${uuid}`, { signal: AbortSignal.timeout(10_000) })
    assert.equal(await sent.text(), 'bytes')
    resolve(undefined)
    await waitFor(
      async () =>
        (await server.as(root, 'GET', '/repos/root/app/issues/1/assets')).body[0].download_count === 1,
    )
    await server.stop()
  })

  it('is visible to those who can see its issue, comment or release, and deleted with it', async () => {
    const { at, holders, release } = await aRepository({ private: true })
    const { uuid } = await attach(holders.comment.path, 'secret')
    const status = async (by?: Person, which = uuid) => (await get(which, by)).status
    for (const who of [undefined, ben]) assert.equal(await status(who), 404)
    assert.equal(await status(ann), 200)
    assert.equal(await status({ ...ann!, token: await allot.scoped(ann!, 'write:repository') }), 403)
    assert.equal(await status({ ...ann!, token: await allot.scoped(ann!, 'read:issue') }), 200)
    assert.equal(await status({ ...ann!, token: 'f'.repeat(40) }), 401)
    await allot.as(ann, 'PATCH', at, { private: false })
    assert.equal(await status(), 200)
    await allot.as(ann, 'PATCH', `${at}/releases/${release.id}`, { draft: true })
    const draft = await attach(holders.release.path, 'draft')
    assert.deepEqual([await status(ann, draft.uuid), await status(ben, draft.uuid)], [200, 404])
    await allot.as(ann, 'DELETE', `${at}/issues/1`)
    assert.equal(await status(ann), 404)
    await allot.as(ann, 'DELETE', at)
    assert.equal(await status(ann, draft.uuid), 404)
  })

  for (const uuid of ['x', '..%2f..%2fetc', '00000000-0000-0000-0000-000000000000', '%00', 'A'.repeat(200)])
    it(`answers 404 for ${uuid.slice(0, 40)}, which does not exist`, async () => {
      assert.equal((await get(uuid, ann)).status, 404)
    })
})

describe('A path below /attachments that is not one of an attachment', () => {
  it('can be one of the host', async () => {
    const mount: Mount = (handler) =>
      express()
        .use(handler)
        .use((_req, res) => void res.send('from the host'))
    const { base } = await start({ repositories: false }, { mount })
    for (const [method, path] of [
      ['GET', 'new'],
      ['POST', 'x'],
    ] as const)
      assert.equal(await (await fetch(`${base}/attachments/${path}`, { method })).text(), 'from the host')
    const unknown = await fetch(`${base}/attachments/00000000-0000-0000-0000-000000000000`)
    assert.deepEqual([unknown.status, await unknown.text()], [404, 'there is no such attachment\n'])
  })
})

describe('The attachments of an archived repository', () => {
  it('are deleted by those who administer it, and by nobody else', async () => {
    const { holders } = await aRepository()
    const { path } = holders.issue
    const { id } = await attach(path, 'text')
    const repository = path.replace(/\/issues.*/, '')
    const level = { permission: 'write' }
    assertNoContent(await allot.as(ann, 'PUT', `${repository}/collaborators/ben`, level))
    assert.equal((await allot.as(ann, 'PATCH', repository, { archived: true })).status, 200)
    assertError(await allot.as(ben, 'DELETE', `${path}/assets/${id}`), 403, /archived/)
    assertError(await allot.as(ann, 'PATCH', `${path}/assets/${id}`, { name: 'x' }), 403, /archived/)
    assertNoContent(await allot.as(ann, 'DELETE', `${path}/assets/${id}`))
  })
})

describe('What users without write permission attach in a day to issues of one owner', () => {
  const LIMIT = 1000
  const driver = memory()
  const files = { directory: temporaryDirectory() }
  let guarded: TestServer
  let [owner, other, guest]: Person[] = []
  const serve = async (limit: number, root: string) => {
    const attachments = { maxGuestBytesPerDay: limit }
    guarded = await start({ repositories: false, driver, files, attachments }, { root })
  }
  before(async () => {
    await serve(LIMIT, 'root')
    owner = await guarded.person('owner')
    other = await guarded.person('other')
    guest = await guarded.person('guest')
  })
  /** An issue of the guest in a new repository of the owner. */
  const anIssue = async (of = owner!, name = `g${++repositories}`) => {
    await made(guarded.as(of, 'POST', '/user/repos', { name }))
    const { number } = await made(
      guarded.as(guest, 'POST', `/repos/${of.name}/${name}/issues`, { title: 't' }),
    )
    return `/repos/${of.name}/${name}/issues/${number}/assets`
  }
  const upload = (path: string, bytes: number, by = guest!) =>
    guarded.request('POST', path, { token: by.token, body: form(part(Buffer.alloc(bytes))), headers: TYPE })
  const statuses = (...sent: Promise<Answer>[]) =>
    Promise.all(sent.map(async (answer) => (await answer).status))

  it('is limited exactly, over all repositories and concurrent uploads, also after deletions and a restart', async () => {
    const [one, two] = [await anIssue(), await anIssue()]
    assert.deepEqual(await statuses(upload(one, 400)), [201])
    const concurrent = await statuses(...[one, two, one, two].map((path) => upload(path, 300)))
    assert.deepEqual(concurrent.sort(), [201, 201, 413, 413])
    for (const { id } of (await guarded.as(owner, 'GET', one)).body)
      assertNoContent(await guarded.as(owner, 'DELETE', `${one}/${id}`))
    const refused = await upload(one, 1)
    assertError(refused, 413, /without write permission, you can attach 1000 bytes a day/)
    assert.deepEqual(Object.keys(refused.body), ['message', 'url'])
    await guarded.stop()
    await serve(LIMIT, 'again')
    assertError(await upload(two, 1), 413, /1000 bytes a day/)
  })

  it('is counted for each owner, and again on the next day', async (t) => {
    assert.deepEqual(await statuses(upload(await anIssue(other!), LIMIT)), [201])
    const path = await anIssue()
    assertError(await upload(path, 1), 413, /1000 bytes a day/)
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 86_400_000 })
    assert.deepEqual(await statuses(upload(path, LIMIT)), [201])
    assertError(await upload(path, 1), 413, /1000 bytes a day/)
  })

  it('does not limit those who may write: the owner, and collaborators', async () => {
    const path = await anIssue()
    assertError(await upload(path, LIMIT + 1), 413, /1000 bytes a day/)
    assert.deepEqual(await statuses(upload(path, LIMIT + 1, owner)), [201])
    const repository = path.replace(/\/issues.*/, '')
    const level = { permission: 'write' }
    assertNoContent(await guarded.as(owner, 'PUT', `${repository}/collaborators/guest`, level))
    assert.deepEqual(await statuses(upload(path, LIMIT + 1)), [201])
  })

  it('is nothing with the limit 0', async () => {
    await guarded.stop()
    await serve(0, 'third')
    const path = await anIssue(other!)
    assertError(
      await upload(path, 1),
      413,
      /only users with write permission on the repository can attach files/,
    )
    assert.deepEqual(await statuses(upload(path, 1, other)), [201])
  })
})
