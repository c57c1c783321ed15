import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { PIXELS, png } from '../support/images.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'

let allot: TestServer
before(async () => {
  allot = await start({ repositories: false })
})
after(() => allot.stop())

describe('The settings of a user', () => {
  const INITIAL = {
    ...{ full_name: '', website: '', description: '', location: '', language: '' },
    ...{ theme: 'gitea-auto', diff_view_style: '', hide_email: false, hide_activity: false },
  }

  it('are those of the profile and what clients keep, and PATCH changes the given ones', async () => {
    const alice = await allot.person()
    assert.deepEqual((await allot.as(alice, 'GET', '/user/settings')).body, INITIAL)
    const edit = { full_name: 'Alice', language: 'de-DE', hide_email: true }
    const edited = await allot.as(alice, 'PATCH', '/user/settings', edit)
    assert.deepEqual([edited.status, edited.body], [200, { ...INITIAL, ...edit }])
    await allot.as(alice, 'PATCH', '/user/settings', { theme: 'dark', website: 'https://x.test' })
    const after = { ...INITIAL, ...edit, theme: 'dark', website: 'https://x.test' }
    assert.deepEqual((await allot.as(alice, 'GET', '/user/settings')).body, after)
    assert.equal((await allot.as(undefined, 'GET', `/users/${alice.name}`)).body.full_name, 'Alice')
  })

  const BAD: [member: string, value: unknown][] = [
    ['full_name', 'x'.repeat(101)],
    ['location', 'x'.repeat(51)],
    ['language', 'x'.repeat(51)],
    ['hide_email', 'yes'],
    ['website', 7],
  ]
  for (const [member, value] of BAD)
    it(`are refused with 422 for ${member} = ${JSON.stringify(value).slice(0, 12)}`, async () => {
      const body = { [member]: value }
      assertError(
        await allot.as(allot.root, 'PATCH', '/user/settings', body),
        422,
        new RegExp(`^${member}: `),
      )
    })
})

describe('The topics of a repository', () => {
  const topicsOf = async (path: string) =>
    (await allot.as(undefined, 'GET', `/repos/${path}/topics`)).body.topics

  it('are set together or one by one by those who administer it, in lower case and in order', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    await allot.as(alice, 'POST', '/user/repos', { name: 'app' })
    const path = `${alice.name}/app`
    assertNoContent(await allot.as(alice, 'PUT', `/repos/${path}/topics`, { topics: ['Git', 'disk', 'git'] }))
    assertNoContent(await allot.as(alice, 'PUT', `/repos/${path}/topics/ARCHIVE`))
    assert.deepEqual(await topicsOf(path), ['archive', 'disk', 'git'])
    assert.deepEqual((await allot.as(bob, 'GET', `/repos/${path}`)).body.topics, ['archive', 'disk', 'git'])
    assertNoContent(await allot.as(alice, 'DELETE', `/repos/${path}/topics/Disk`))
    assertNotFound(await allot.as(alice, 'DELETE', `/repos/${path}/topics/disk`))
    for (const [method, end, body] of [
      ['PUT', '', { topics: [] }],
      ['PUT', '/x', undefined],
      ['DELETE', '/git', undefined],
    ] as const)
      assertError(await allot.as(bob, method, `/repos/${path}/topics${end}`, body), 403)
    assert.deepEqual(await topicsOf(path), ['archive', 'git'])
    assertNotFound(await allot.as(bob, 'PUT', `/repos/${alice.name}/none/topics/x`))
    assertNotFound(await allot.as(bob, 'PUT', `/repos/${alice.name}/none/topics`, { topics: [] }))
  })

  it('and its description are found by a search that asks for them, and a topic only as a whole', async () => {
    const alice = await allot.person()
    for (const name of ['one', 'two', 'kestrel'])
      await allot.as(alice, 'POST', '/user/repos', { name, description: name === 'two' ? 'A Kestrel' : '' })
    await allot.as(alice, 'PUT', `/repos/${alice.name}/one/topics/kestrel`)
    const found = async (query: string) =>
      (await allot.as(alice, 'GET', `/repos/search?${query}`)).body.data.map(
        (one: { name: string }) => one.name,
      )
    assert.deepEqual(await found('q=kestrel'), ['kestrel'])
    assert.deepEqual(await found('q=kestrel&includeDesc=true'), ['kestrel', 'one', 'two'])
    assert.deepEqual(await found('q=Kestrel&topic=true'), ['one'])
    assert.deepEqual(await found('q=kestre&topic=true'), [])
    assert.deepEqual(await found('q=kestre,one&includeDesc=true'), ['kestrel', 'one', 'two'])
  })

  const BAD = ['', '-x', 'x'.repeat(36), 'two words', 'käse']
  for (const topic of BAD)
    it(`are refused with 422: ${JSON.stringify(topic).slice(0, 20)}`, async () => {
      await allot.as(allot.root, 'POST', '/user/repos', { name: 'checked' })
      const path = '/repos/root/checked/topics'
      assertError(await allot.as(allot.root, 'PUT', path, { topics: ['good', topic] }), 422, /^topics: /)
      if (topic !== '')
        assertError(
          await allot.as(allot.root, 'PUT', `${path}/${encodeURIComponent(topic)}`),
          422,
          /^topics: /,
        )
      assert.deepEqual(await topicsOf('root/checked'), [])
    })

  it('are at most 25', async () => {
    await allot.as(allot.root, 'POST', '/user/repos', { name: 'many' })
    const topics = Array.from({ length: 26 }, (_, index) => `t${index}`)
    assertError(await allot.as(allot.root, 'PUT', '/repos/root/many/topics', { topics }), 422, /25/)
  })
})

describe('A repository', () => {
  it('is found by its id by those who can read it', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const made = (await allot.as(alice, 'POST', '/user/repos', { name: 'secret', private: true })).body
    assert.deepEqual((await allot.as(alice, 'GET', `/repositories/${made.id}`)).body, made)
    for (const id of [made.id, 999_999, -1]) assertNotFound(await allot.as(bob, 'GET', `/repositories/${id}`))
  })

  it('lists its stargazers and subscribers, without those whom the viewer cannot see', async () => {
    const [alice, bob, shy] = [await allot.person(), await allot.person(), await allot.person()]
    await allot.as(alice, 'POST', '/user/repos', { name: 'seen' })
    const path = `${alice.name}/seen`
    for (const person of [alice, bob, shy]) {
      await allot.as(person, 'PUT', `/user/starred/${path}`)
      await allot.as(person, 'PUT', `/repos/${path}/subscription`)
    }
    await allot.as(allot.root, 'PATCH', `/admin/users/${shy.name}`, { visibility: 'private' })
    for (const list of ['stargazers', 'subscribers']) {
      assertList(await allot.as(bob, 'GET', `/repos/${path}/${list}`), 'login', [alice.name, bob.name], 3)
      assertList(
        await allot.as(allot.root, 'GET', `/repos/${path}/${list}`),
        'login',
        [alice, bob, shy].map(({ name }) => name),
      )
      assertList(await allot.as(bob, 'GET', `/repos/${path}/${list}?limit=1&page=2`), 'login', [bob.name], 3)
      assertNotFound(await allot.as(bob, 'GET', `/repos/${alice.name}/none/${list}`))
    }
  })
})

describe('The image of an account', () => {
  const urlOf = async ({ name }: { name: string }, viewer?: Person): Promise<string> =>
    (await allot.as(viewer, 'GET', `/users/${name}`)).body.avatar_url
  const send = (person: Person, image: Buffer, path = '/user/avatar') =>
    allot.as(person, 'POST', path, { image: image.toString('base64') })

  for (const [type, image] of Object.entries(PIXELS))
    it(`is what its user uploads, byte by byte, at an address that browsers keep: ${type}`, async () => {
      const person = await allot.person()
      const made = await urlOf(person)
      assertNoContent(await send(person, image))
      const url = await urlOf(person)
      assert.match(url, new RegExp(`^${made}/[0-9a-f]{32}$`))
      const answer = await fetch(url)
      assert.deepEqual([answer.status, Buffer.from(await answer.arrayBuffer())], [200, image])
      const { headers } = answer
      assert.equal(headers.get('content-type'), type)
      assert.equal(headers.get('content-length'), String(image.length))
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('content-security-policy'), "default-src 'none'; sandbox")
      assert.match(headers.get('cache-control')!, /immutable/)
      const held = { 'if-none-match': headers.get('etag')! }
      assert.equal((await fetch(url, { headers: held })).status, 304)
      const head = await fetch(url, { method: 'HEAD' })
      assert.deepEqual([head.status, head.headers.get('content-type')], [200, type])
      assert.match(await (await fetch(made)).text(), /^<svg/, 'the one that is made of the name stays')
    })

  it('has a new address after each change, and the old one is not found', async () => {
    const person = await allot.person()
    const made = await urlOf(person)
    assertNoContent(await send(person, png(2, 2)))
    const first = await urlOf(person)
    assertNoContent(await send(person, png(2, 2)))
    assert.equal(await urlOf(person), first, 'the same image keeps its address')
    assertNoContent(await send(person, png(2, 3)))
    assert.notEqual(await urlOf(person), first)
    assert.equal((await fetch(first)).status, 404)
    const second = await urlOf(person)
    for (const _ of [1, 2]) assertNoContent(await allot.as(person, 'DELETE', '/user/avatar'))
    assert.equal(await urlOf(person), made)
    assert.equal((await fetch(second)).status, 404)
  })

  it('has up to 512 KiB and 2048 × 2048 pixels', async () => {
    const person = await allot.person()
    const large = png(2048, 2048)
    const image = Buffer.concat([large, Buffer.alloc(512 * 1024 - large.length)])
    assertNoContent(await send(person, image))
    assert.deepEqual(Buffer.from(await (await fetch(await urlOf(person))).arrayBuffer()), image)
  })

  it('of an organization is changed by its owners alone', async () => {
    const [owner, member, other] = [await allot.person(), await allot.person(), await allot.person()]
    const org = await allot.as(owner, 'POST', '/orgs', { username: 'studio', visibility: 'private' })
    await allot.as(owner, 'PUT', `/orgs/studio/members/${member.name}`)
    const path = '/orgs/studio/avatar'
    assertError(await send(member, png(1, 1), path), 403, /only owners of studio/)
    assertError(await allot.as(member, 'DELETE', path), 403, /only owners of studio/)
    assertNotFound(await send(other, png(1, 1), path))
    assertNotFound(await allot.as(other, 'DELETE', path))
    assertNoContent(await send(owner, png(1, 1), path))
    const { avatar_url: url } = (await allot.as(member, 'GET', '/orgs/studio')).body
    assert.equal((await fetch(url)).status, 200, 'the address is its permission')
    assert.equal((await fetch(url.replace(/.$/, 'g'))).status, 404)
    assert.match(await (await fetch(org.body.avatar_url)).text(), /^<svg/)
    assertNoContent(await allot.as(owner, 'DELETE', path))
    assertNoContent(await send(owner, png(1, 1), path))
    const { avatar_url: last } = (await allot.as(owner, 'GET', '/orgs/studio')).body
    assertNoContent(await allot.as(owner, 'DELETE', '/orgs/studio'))
    assert.equal((await fetch(last)).status, 404, 'it is deleted with its account')
  })

  const cut = (bytes: number) => png(40, 40).subarray(0, bytes).toString('base64')
  const webp = (kind: string, rest: number[]) =>
    Buffer.concat([Buffer.from('RIFF\x20\0\0\0WEBP'), Buffer.from(kind), Buffer.from(rest)]).toString(
      'base64',
    )
  const jpeg = (...bytes: number[]) => Buffer.from([0xff, 0xd8, 0xff, ...bytes]).toString('base64')
  const wide = (size: string) => new RegExp(`at most 2048 × 2048 pixels, got ${size}: make it smaller$`)
  const BAD: [what: string, image: unknown, message: RegExp][] = [
    ['nothing', '', /^image: must not be empty$/],
    ['what is not text', 7, /^image: /],
    ['what is not base64', 'a picture!', /^image: must be base64/],
    ['many blanks', `${' '.repeat(500_000)}!`, /^image: must be base64/],
    ['text', btoa('a picture'), /^image: must be a PNG, JPEG, GIF or WebP image$/],
    ['SVG', btoa('<svg xmlns="http://www.w3.org/2000/svg"/>'), /^image: must be a PNG/],
    ['a beginning alone', cut(12), /^image: the file is damaged/],
    ['a JPEG without a frame', jpeg(0xe0, 0, 4, 1, 1, 0xff, 0xd9, 0, 0), /^image: the file is damaged/],
    ['a WebP of an unknown kind', webp('VP8Z', [9, 0, 0, 0]), /^image: the file is damaged/],
    ['a PNG with too many pixels', png(2049, 1).toString('base64'), wide('2049 × 1')],
    ['a GIF with too many pixels', btoa('GIF89a\x01\x08\x01\0'), wide('2049 × 1')],
    [
      'a progressive JPEG with too many pixels',
      jpeg(0xe0, 0, 4, 1, 1, 0xff, 0xff, 0xc2, 0, 11, 8, 8, 1, 0, 2, 1, 1, 17, 0),
      wide('2 × 2049'),
    ],
    ['a lossless WebP with too many pixels', webp('VP8L', [9, 0, 0, 0, 0x2f, 0, 8, 0, 0]), wide('2049 × 1')],
    [
      'an animated WebP with too many pixels',
      webp('VP8X', [10, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 8, 0]),
      wide('2 × 2049'),
    ],
    [
      'too many bytes',
      Buffer.concat([png(1, 1), Buffer.alloc(512 * 1024)]).toString('base64'),
      /^image: must not be larger than 512 KiB, got 512 KiB/,
    ],
  ]
  for (const [what, image, message] of BAD)
    it(`is refused with 422, and stays as it is, for ${what}`, async () => {
      assertNoContent(await send(allot.root, png(1, 1)))
      const before = await urlOf(allot.root)
      assertError(await allot.as(allot.root, 'POST', '/user/avatar', { image }), 422, message)
      assert.equal(await urlOf(allot.root), before)
    })
})
