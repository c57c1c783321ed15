import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore, type Person, peopleBefore, start } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

const directory = temporaryDirectory()
const allot = madeBefore(() => start({ files: { directory }, packages: { maxSize: 100_000 } }))
const [alice, bob, hidden] = peopleBefore(allot, 'alice', 'bob', 'hidden')
before(async () => {
  await allot.as(allot.root, 'PATCH', '/admin/users/hidden', {
    visibility: 'private',
    source_id: 0,
    login_name: '',
  })
})

const registry = async (
  method: string,
  path: string,
  who?: Pick<Person, 'token'>,
  body?: Uint8Array | string,
  headers: Record<string, string> = {},
) => {
  const answer = await fetch(`${allot.base}/api/packages/${path}`, {
    method,
    headers: { ...(who ? { authorization: `token ${who.token}` } : {}), ...headers },
    ...(body === undefined ? {} : { body: body as string }),
  })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}

const put = async (path: string, who: Pick<Person, 'token'>, body: Uint8Array | string = 'hello') =>
  (await registry('PUT', path, who, body)).status

const used = async (owner: string) =>
  Number((await allot.allot.quota.info(owner)).used.size.assets.packages.all)

const filesOnDisk = (area = '') =>
  readdirSync(join(directory, area), { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    .length

const hashOf = (name: string, content: Uint8Array) => createHash(name).update(content).digest('hex')

describe('A generic package', () => {
  it('is uploaded, downloaded whole and in part, and counted', async () => {
    const content = randomBytes(5000)
    const path = 'alice/generic/tool/1.0.0/tool.bin'
    const before = await used('alice')
    const { status, bytes } = await registry('PUT', path, alice, content)
    assert.deepEqual([status, bytes.length], [201, 0])
    assert.equal(await used('alice'), before + 5000)
    const whole = await registry('GET', path)
    assert.equal(whole.status, 200)
    assert.ok(whole.bytes.equals(content))
    assert.equal(whole.headers.get('content-type'), 'application/octet-stream')
    assert.match(whole.headers.get('content-disposition')!, /^attachment; filename="tool.bin"/)
    const part = await registry('GET', path, undefined, undefined, { range: 'bytes=10-19' })
    assert.deepEqual([part.status, part.bytes.equals(content.subarray(10, 20))], [206, true])
    const head = await registry('HEAD', path)
    assert.deepEqual([head.status, head.headers.get('content-length'), head.bytes.length], [200, '5000', 0])
    assert.equal((await registry('GET', 'ALICE/generic/Tool/1.0.0/TOOL.bin')).status, 200)
  })

  it('refuses a file that exists, and keeps the first', async () => {
    const path = 'alice/generic/twice/1/a'
    assert.equal(await put(path, alice, 'one'), 201)
    const before = await used('alice')
    assert.equal(await put(path, alice, 'other'), 409)
    assert.equal(await put('alice/generic/Twice/1/A', alice, 'other'), 409)
    const racing = await Promise.all([1, 2, 3, 4].map(() => put('alice/generic/twice/1/b', alice, 'raced')))
    assert.deepEqual(racing.sort(), [201, 409, 409, 409])
    assert.equal(await used('alice'), before + 5)
    assert.equal((await registry('GET', path)).bytes.toString(), 'one')
  })

  it('has several files and versions, which can be deleted one by one', async () => {
    // The files of refused uploads are deleted after their responses.
    await allot.allot.hosting.disk.idle()
    const before = [await used('alice'), filesOnDisk('packages')]
    for (const [version, file] of [
      ['1', 'a'],
      ['1', 'b'],
      ['2', 'a'],
    ])
      await put(`alice/generic/many/${version}/${file}`, alice)
    assert.equal(await used('alice'), before[0]! + 15)
    assert.equal((await registry('DELETE', 'alice/generic/many/1/a', alice)).status, 204)
    assert.equal((await registry('GET', 'alice/generic/many/1/a', alice)).status, 404)
    assert.equal((await registry('DELETE', 'alice/generic/many/1/a', alice)).status, 404)
    assert.equal(await used('alice'), before[0]! + 10)
    assert.equal((await registry('DELETE', 'alice/generic/many/1/b', alice)).status, 204)
    assertNotFound(await allot.as(alice, 'GET', '/packages/alice/generic/many/1'))
    assert.equal((await registry('DELETE', 'alice/generic/many/2', alice)).status, 204)
    assert.equal((await registry('DELETE', 'alice/generic/many/2', alice)).status, 404)
    await allot.allot.hosting.disk.idle()
    assert.deepEqual([await used('alice'), filesOnDisk('packages')], before)
  })

  it('may be empty, and have every allowed character in its name', async () => {
    const name = encodeURIComponent('a b~(1)+[x]{y}@#$%^&=:;!.tar.gz')
    assert.equal(await put(`alice/generic/chars/${encodeURIComponent('1.0+beta_2')}/${name}`, alice, ''), 201)
    const { status, bytes } = await registry('GET', `alice/generic/chars/1.0%2Bbeta_2/${name}`)
    assert.deepEqual([status, bytes.length], [200, 0])
  })
})

describe('GET /packages/{owner}', () => {
  it('lists the versions newest first, filtered by type and by name', async () => {
    const carol = await allot.person('carol')
    for (const name of ['first', 'second', 'third']) await put(`carol/generic/${name}/1.0/a`, carol)
    await put('carol/generic/third/1.0/b', carol)
    const list = (query: string, who?: Person) => allot.as(who, 'GET', `/packages/carol${query}`)
    assertList(await list('', bob), 'name', ['third', 'second', 'first'])
    assertList(await list('?type=generic&limit=2&page=2'), 'name', ['first'], 3)
    assertList(await list('?type=npm'), 'name', [])
    assertList(await list('?q=IR'), 'name', ['third', 'first'])
    assertList(await list('?q=IR&limit=1&page=2'), 'name', ['first'], 2)
    const { id, created_at, owner, creator, ...rest } = (
      await allot.as(bob, 'GET', '/packages/carol/generic/first/1.0')
    ).body
    assert.ok(id > 0)
    assert.match(created_at, /Z$/)
    assert.deepEqual([owner.login, creator.login], ['carol', 'carol'])
    assert.deepEqual(rest, {
      repository: null,
      type: 'generic',
      name: 'first',
      version: '1.0',
      html_url: `${allot.base}/carol/-/packages/generic/first/1.0`,
    })
  })

  it('lists the files of a version with their hashes', async () => {
    const content = randomBytes(100)
    await put('alice/generic/hashes/1/a.bin', alice, content)
    const { status, body } = await allot.as(bob, 'GET', '/packages/alice/generic/hashes/1/files')
    assert.equal(status, 200)
    const [{ id, ...file }] = body
    assert.ok(id > 0)
    assert.deepEqual(file, {
      Size: 100,
      name: 'a.bin',
      md5: hashOf('md5', content),
      sha1: hashOf('sha1', content),
      sha256: hashOf('sha256', content),
      sha512: hashOf('sha512', content),
    })
  })

  it('agrees with /user/quota/packages', async () => {
    const dave = await allot.person('dave')
    await put('dave/generic/shown/1.0/a', dave, 'abc')
    await put('dave/generic/shown/1.0/b.txt', dave, 'abcd')
    const { body } = await allot.as(dave, 'GET', '/user/quota/packages')
    assert.equal(body.length, 1)
    const [one] = body
    assert.deepEqual(one, {
      name: 'shown',
      type: 'generic',
      version: '1.0',
      size: 7,
      html_url: `${allot.base}/dave/-/packages/generic/shown/1.0`,
    })
  })

  it('and DELETE removes a version', async () => {
    await put('alice/generic/gone/1/a', alice)
    const at = '/packages/alice/generic/gone/1'
    assert.equal((await allot.as(undefined, 'DELETE', at)).status, 401)
    assert.equal((await allot.as(bob, 'DELETE', at)).status, 403)
    assertNoContent(await allot.as(alice, 'DELETE', at))
    assertNotFound(await allot.as(alice, 'DELETE', at))
    assertNotFound(await allot.as(alice, 'GET', `${at}/files`))
    assertNotFound(await allot.as(alice, 'GET', '/packages/nobody'))
  })
})

describe('A package', () => {
  it('can be read by every viewer of its owner, and written by the owner, its members and administrators', async () => {
    await allot.as(alice, 'POST', '/orgs', { username: 'acme' })
    await allot.as(alice, 'PUT', '/orgs/acme/members/bob')
    const stranger = await allot.person('stranger')
    for (const [path, who, status] of [
      ['alice/generic/mine/1/a', alice, 201],
      ['alice/generic/mine/1/b', allot.root, 201],
      ['alice/generic/mine/1/c', bob, 403],
      ['acme/generic/mine/1/a', bob, 201],
      ['acme/generic/mine/1/b', stranger, 403],
      ['hidden/generic/mine/1/a', hidden, 201],
      ['hidden/generic/mine/1/b', bob, 404],
      ['nobody/generic/mine/1/b', bob, 404],
    ] as const)
      assert.equal(await put(path, who), status, path)
    assert.equal((await registry('PUT', 'alice/generic/mine/1/d', undefined, 'x')).status, 401)
    for (const [who, status] of [
      [hidden, 200],
      [allot.root, 200],
      [bob, 404],
      [undefined, 401],
    ] as const)
      assert.equal((await registry('GET', 'hidden/generic/mine/1/a', who)).status, status)
    assertNotFound(await allot.as(bob, 'GET', '/packages/hidden'))
  })

  it('needs the scopes read:package and write:package of a token', async () => {
    await put('alice/generic/scopes/1/a', alice)
    const reader = { token: await allot.scoped(alice, 'read:package') }
    const writer = { token: await allot.scoped(alice, 'write:package') }
    const other = { token: await allot.scoped(alice, 'write:repository') }
    for (const [who, get, write] of [
      [reader, 200, 403],
      [writer, 200, 201],
      [other, 403, 403],
    ] as const) {
      assert.equal((await registry('GET', 'alice/generic/scopes/1/a', who)).status, get)
      for (const path of ['', '/generic/scopes/1', '/generic/scopes/1/files'])
        assert.equal((await allot.request('GET', `/packages/alice${path}`, who)).status, get)
      assert.equal(await put('alice/generic/scopes/1/b', who), write)
    }
  })
})

describe('A faulty upload is refused and leaves nothing', () => {
  const bad: [what: string, path: string, status: number][] = [
    ['a path as a package', '..%2F..%2Fetc/1/a', 400],
    ['dots as a package', '%2E%2E/1/a', 400],
    ['a package with a space', 'a%20b/1/a', 400],
    ['one sign as a package', '-/1/a', 400],
    ['a path as a version', 'x/..%2F1/a', 400],
    ['dots as a version', 'x/%2E%2E%2E/a', 400],
    ['a path as a file', 'x/1/..%2F..%2Fpasswd', 400],
    ['a backslash in a file', 'x/1/a%5Cb', 400],
    ['a line in a file', 'x/1/a%0Ab', 400],
    ['a zero in a file', 'x/1/a%00b', 400],
    ['markup in a file', 'x/1/%3Cscript%3E', 400],
    ['a space around a file', 'x/1/%20a', 400],
    ['more characters than may be', `x/1/${'a'.repeat(256)}`, 404],
  ]
  for (const [what, path, status] of bad)
    it(`${what}: ${status}`, async () => {
      const before = [await used('alice'), filesOnDisk()]
      const answer = await put(`alice/generic/${path}`, alice)
      assert.ok([status, 404].includes(answer), `${answer}`)
      assert.deepEqual([await used('alice'), filesOnDisk()], before)
    })

  it('a file above the limit, with and without a length', async () => {
    const before = [await used('alice'), filesOnDisk()]
    assert.equal(await put('alice/generic/large/1/a', alice, Buffer.alloc(100_001)), 413)
    const answer = await fetch(`${allot.base}/api/packages/alice/generic/large/1/a`, {
      method: 'PUT',
      headers: { authorization: `token ${alice.token}` },
      body: new Blob([Buffer.alloc(300_000)]).stream(),
      duplex: 'half',
    } as RequestInit)
    assert.equal(answer.status, 413)
    await answer.text()
    assert.deepEqual([await used('alice'), filesOnDisk()], before)
  })

  it('a truncated body', async () => {
    const before = filesOnDisk()
    const { port, pathname } = new URL(`${allot.base}/api/packages/alice/generic/cut/1/a`)
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(
      `PUT ${pathname} HTTP/1.1\r\nHost: a\r\nAuthorization: token ${alice.token}\r\nContent-Length: 90000\r\n\r\n${'x'.repeat(500)}`,
    )
    await waitFor(() => filesOnDisk('arriving') === 1)
    socket.destroy()
    await waitFor(() => filesOnDisk() === before)
    assertNotFound(await allot.as(alice, 'GET', '/packages/alice/generic/cut/1'))
  })
})

describe('An owner of packages', () => {
  it('is deleted with the packages only when purge is set, and then completely', async () => {
    const before = filesOnDisk('packages')
    const erin = await allot.person('erin')
    for (const file of ['a', 'b', 'c']) await put(`erin/generic/x/1/${file}`, erin)
    assert.equal((await allot.as(allot.root, 'DELETE', '/admin/users/erin')).status, 422)
    assert.equal((await registry('GET', 'erin/generic/x/1/a')).status, 200)
    assertNoContent(await allot.as(allot.root, 'DELETE', '/admin/users/erin?purge=true'))
    assert.equal((await registry('GET', 'erin/generic/x/1/a', bob)).status, 404)
    assert.equal(filesOnDisk('packages'), before)
  })
})

describe('The former name of an owner of packages', () => {
  it('leads clients without credentials on to public packages, and asks them to sign in for others', async () => {
    const { accounts } = allot.allot
    for (const visibility of ['public', 'private']) {
      const person = await allot.person()
      const name = `${person.name}-now`
      await put(`${person.name}/generic/tool/1/a`, person)
      await allot.as(allot.root, 'PATCH', `/admin/users/${person.name}`, { visibility })
      await accounts.rename((await accounts.byName(person.name))!.id, name)
      const url = (owner: string) => `${allot.base}/api/packages/${owner}/generic/tool/1/a?x=y`
      const { status, headers } = await fetch(url(person.name), { redirect: 'manual' })
      const expected = visibility === 'public' ? [301, url(name)] : [401, null]
      assert.deepEqual([status, headers.get('location')], expected, visibility)
    }
  })
})

describe('A host that keeps packages itself', () => {
  it('turns the routes of packages off', async () => {
    const without = await start({ packages: false })
    assert.equal((await fetch(`${without.base}/api/packages/root/generic/a/1/b`)).status, 404)
    assert.equal((await without.as(without.root, 'GET', '/packages/root')).status, 404)
  })
})
