import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { LedgerListing } from '../../lib/index.ts'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { times } from '../support/long.ts'
import { onPostgres } from '../support/store.ts'
import { peopleBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })
const [alice] = peopleBefore(allot, 'alice')
before(async () => {
  for (const name of ['demo', 'other'])
    await allot.request('POST', '/user/repos', { token: alice.token, body: { name } })
})

const as = (token: string, method: string, path: string, body?: unknown) =>
  allot.request(method, path, { token, ...(body === undefined ? {} : { body }) })
const asRoot = (method: string, path: string, body?: unknown) => as(allot.root.token, method, path, body)
const lines = (text: string, token = allot.root.token) =>
  allot.request('POST', '/admin/ledger', {
    token,
    body: text,
    headers: { 'content-type': 'application/x-ndjson' },
  })
const ndjson = (...operations: unknown[]) => operations.map((one) => JSON.stringify(one)).join('\n')

const total = async () => {
  const { size } = (await allot.allot.quota.info('alice')).used
  return (
    Number(size.git.LFS) +
    Number(size.assets.artifacts) +
    Number(size.assets.packages.all) +
    Number(size.assets.attachments.issues) +
    Number(size.assets.attachments.releases)
  )
}

const ENTRIES: [kind: string, body: Record<string, unknown>][] = [
  ['attachments', { repository: 'alice/demo', name: 'a.png', size: 10, on: 'issue', index: 3 }],
  ['attachments', { repository: 'alice/demo', name: 'a.zip', size: 20, on: 'release', index: 1 }],
  ['artifacts', { repository: 'alice/demo', name: 'build', size: 30, run: 9 }],
  ['packages', { repository: 'alice/demo', name: 'pkg', size: 40, type: 'npm', version: '1.0.0' }],
  ['packages', { owner: 'alice', name: 'pkg', size: 50, type: 'npm', version: '1.0.0' }],
  ['artifacts', { owner: 'alice', name: 'cache', size: 55 }],
  ['lfs', { repository: 'alice/demo', name: 'object', size: 60 }],
]

describe('PUT /admin/ledger/{kind}/{key}', () => {
  for (const [at, [kind, body]] of ENTRIES.entries())
    it(`records ${kind} ${JSON.stringify(body)}, and counts it once when it is sent again`, async () => {
      const before = await total()
      const path = `/admin/ledger/${kind}/entry-${at}`
      const made = await asRoot('PUT', path, body)
      assert.equal(made.status, 201, made.text)
      assert.deepEqual(made.body, { kind, key: `entry-${at}`, ...body })
      const again = await asRoot('PUT', path, body)
      assert.deepEqual([again.status, again.body], [200, made.body])
      assert.equal(await total(), before + (body.size as number))
      assert.deepEqual((await asRoot('GET', path)).body, made.body)
      assertNoContent(await asRoot('DELETE', path))
      assertNotFound(await asRoot('DELETE', path))
      assertNotFound(await asRoot('GET', path))
      assert.equal(await total(), before)
    })

  it('replaces the entry of the same kind and key in any repository', async () => {
    const before = await total()
    const path = '/admin/ledger/artifacts/moving'
    await asRoot('PUT', path, { repository: 'alice/demo', name: 'x', size: 100 })
    await asRoot('PUT', path, { repository: 'ALICE/Other', name: 'y', size: 7 })
    assert.equal(await total(), before + 7)
    assert.equal((await asRoot('GET', path)).body.repository, 'alice/other')
    await asRoot('DELETE', path)
  })

  it('accepts as a key any text of at most 255 bytes without control characters', async () => {
    for (const key of ['a/b', 'ä ö ü', '..', '%', '?&=#', '😀', 'x'.repeat(255), '__proto__']) {
      const path = `/admin/ledger/lfs/${encodeURIComponent(key)}`
      if (key === '..') continue
      const made = await asRoot('PUT', path, { repository: 'alice/demo', name: 'x', size: 1 })
      assert.deepEqual([made.status, made.body.key], [201, key])
      assertNoContent(await asRoot('DELETE', path))
    }
  })

  it('keeps entries of different kinds with the same key apart', async () => {
    for (const kind of ['lfs', 'artifacts']) {
      const made = await asRoot('PUT', `/admin/ledger/${kind}/same`, {
        repository: 'alice/demo',
        name: 'x',
        size: 1,
      })
      assert.equal(made.status, 201)
    }
    assertNoContent(await asRoot('DELETE', '/admin/ledger/lfs/same'))
    assert.equal((await asRoot('GET', '/admin/ledger/artifacts/same')).status, 200)
    await asRoot('DELETE', '/admin/ledger/artifacts/same')
  })

  const good = { repository: 'alice/demo', name: 'x', size: 1 }
  const BAD: [what: string, kind: string, body: unknown, message: RegExp][] = [
    ['no size', 'lfs', { ...good, size: undefined }, /Size is required/],
    ['a negative size', 'lfs', { ...good, size: -1 }, /^size: /],
    ['a fraction', 'lfs', { ...good, size: 0.5 }, /^size: /],
    ['a size beyond 2^53-1', 'lfs', { ...good, size: 2 ** 53 }, /^size: /],
    ['a size in a string', 'lfs', { ...good, size: '1' }, /^size: /],
    ['no name', 'lfs', { ...good, name: undefined }, /Name is required/],
    ['an empty name', 'lfs', { ...good, name: '' }, /^name: /],
    ['a name of 256 characters', 'lfs', { ...good, name: 'x'.repeat(256) }, /^name: /],
    ['no repository', 'lfs', { name: 'x', size: 1 }, /Repository is required/],
    ['an unknown repository', 'lfs', { ...good, repository: 'alice/none' }, /^repository: /],
    ['an unknown owner of it', 'lfs', { ...good, repository: 'nobody/demo' }, /^repository: /],
    ['a repository without an owner', 'lfs', { ...good, repository: 'demo' }, /^repository: /],
    ['a path with three parts', 'lfs', { ...good, repository: 'alice/demo/x' }, /^repository: /],
    ['a repository named __proto__', 'lfs', { ...good, repository: '__proto__/__proto__' }, /^repository: /],
    [
      'an LFS object of an owner alone',
      'lfs',
      { owner: 'alice', name: 'x', size: 1 },
      /Repository is required for lfs; only artifacts and packages can belong to an owner alone/,
    ],
    [
      'an attachment of an owner alone',
      'attachments',
      { owner: 'alice', name: 'x', size: 1, on: 'issue' },
      /Repository is required for attachments/,
    ],
    ['an artifact of nobody', 'artifacts', { name: 'x', size: 1 }, /Repository or Owner is required/],
    [
      'an artifact of an unknown owner',
      'artifacts',
      { owner: 'nobody', name: 'x', size: 1 },
      /^owner: there is no user or organization nobody/,
    ],
    ['an attachment that hangs nowhere', 'attachments', good, /on: required/],
    ['an attachment on a wiki', 'attachments', { ...good, on: 'wiki' }, /^on: /],
    ['an index in a string', 'attachments', { ...good, on: 'issue', index: '1' }, /^index: /],
    ['a package without a type', 'packages', { ...good, version: '1' }, /type: required/],
    ['a package without a version', 'packages', { ...good, type: 'npm' }, /version: required/],
    [
      'a package of nobody',
      'packages',
      { name: 'x', size: 1, type: 'npm', version: '1' },
      /Repository or Owner/,
    ],
    [
      'a package of an unknown owner',
      'packages',
      { owner: 'nobody', name: 'x', size: 1, type: 'npm', version: '1' },
      /^owner: /,
    ],
    ['an array', 'lfs', [], /JSON object/],
  ]
  for (const [what, kind, body, message] of BAD)
    it(`answers 422 to ${what}, and counts nothing`, async () => {
      const before = await total()
      assertError(await asRoot('PUT', `/admin/ledger/${kind}/bad`, body), 422, message)
      assertNotFound(await asRoot('GET', `/admin/ledger/${kind}/bad`))
      assert.equal(await total(), before)
    })

  it('answers 422 to a key of 256 bytes, and 404 to an unknown kind', async () => {
    assertError(await asRoot('PUT', `/admin/ledger/lfs/${'x'.repeat(256)}`, good), 422, /^key: /)
    assertNotFound(await asRoot('PUT', '/admin/ledger/nothing/x', good))
  })
})

describe('POST /admin/ledger', () => {
  const put = (key: string, more = {}) => ({
    op: 'put',
    kind: 'lfs',
    key,
    repository: 'alice/demo',
    name: 'x',
    size: 5,
    ...more,
  })

  it('applies puts and deletes in order, and answers how many', async () => {
    const before = await total()
    const answer = await lines(
      ndjson(put('b1'), put('b2'), put('b1', { size: 7 }), { op: 'delete', kind: 'lfs', key: 'b2' }),
    )
    assert.deepEqual([answer.status, answer.body], [200, { applied: 4 }])
    assert.equal(await total(), before + 7)
    await asRoot('DELETE', '/admin/ledger/lfs/b1')
  })

  it('accepts an empty body, and a line feed at the end', async () => {
    assert.deepEqual((await lines('')).body, { applied: 0 })
    assert.deepEqual((await lines(`${ndjson(put('feed'))}\n`)).body, { applied: 1 })
    await asRoot('DELETE', '/admin/ledger/lfs/feed')
  })

  const BAD: [what: string, text: string, message: RegExp][] = [
    ['broken JSON', `${ndjson(put('x'))}\n{"op"`, /^line 2: is not valid JSON/],
    ['an empty line within', `${ndjson(put('x'))}\n\n${ndjson(put('y'))}`, /^line 2: /],
    ['an unknown operation', ndjson(put('x'), { ...put('y'), op: 'move' }), /^line 2: op/],
    ['an unknown kind', ndjson(put('x'), put('y', { kind: 'wiki' })), /^line 2: kind/],
    ['a negative size', ndjson(put('x'), put('y', { size: -5 })), /^line 2: size/],
    [
      'an unknown repository',
      ndjson(put('x'), put('y'), put('z', { repository: 'alice/none' })),
      /^line 3: repository/,
    ],
    ['a key of 256 bytes', ndjson(put('x'), put('y'.repeat(256))), /^line 2: key/],
    [
      'half a character in a key',
      `${ndjson(put('x'))}\n{"op":"put","kind":"lfs","key":"\\ud800","repository":"alice/demo","name":"x","size":1}`,
      /^line 2: .*half a character/,
    ],
    ['an array', `${ndjson(put('x'))}\n[]`, /^line 2: /],
    ['a list instead of lines', JSON.stringify([put('x')]), /^line 1: /],
  ]
  for (const [what, text, message] of BAD)
    it(`answers 422 with the number of the line to ${what}, and applies nothing`, async () => {
      const before = await total()
      assertError(await lines(text), 422, message)
      assertNotFound(await asRoot('GET', '/admin/ledger/lfs/x'))
      assert.equal(await total(), before)
    })

  const LINES = onPostgres ? 1000 : times(1000, 10_000)
  it(`accepts ${LINES} lines without blocking other requests`, async () => {
    const before = await total()
    const many = Array.from({ length: LINES }, (_, at) => put(`many ${at}`, { kind: 'artifacts', size: 1 }))
    let done = false
    const applied = lines(ndjson(...many)).finally(() => {
      done = true
    })
    let answered = 0
    while (!done) {
      assert.equal((await allot.request('GET', '/user/quota', { token: alice.token })).status, 200)
      answered++
    }
    assert.deepEqual((await applied).body, { applied: LINES })
    assert.ok(answered >= times(2, 10), `${answered} others were answered meanwhile`)
    assert.equal(await total(), before + LINES)
    const undo = many.map(({ kind, key }) => ({ op: 'delete', kind, key }))
    assert.deepEqual((await lines(ndjson(...undo))).body, { applied: LINES })
    assert.equal(await total(), before)
  })

  it('answers 413 to more than 10,000 lines, and applies none', async () => {
    const before = await total()
    const many = Array.from({ length: 10_001 }, (_, at) => put(`more ${at}`))
    assertError(await lines(ndjson(...many)), 413)
    assert.equal(await total(), before)
  })

  it('answers 415 to another content type', async () => {
    assertError(await asRoot('POST', '/admin/ledger', put('x')), 415)
  })
})

describe('allot.ledger', () => {
  it('counts an artifact of an owner alone for the owner, and lists it without a link', async () => {
    const { ledger, quota } = allot.allot
    const carol = await allot.person('carol')
    await ledger.put({ kind: 'artifacts', key: 'of-carol', owner: 'Carol', name: 'cache', size: 9 })
    assert.equal((await quota.info('carol')).used.size.assets.artifacts, 9)
    assert.deepEqual(await ledger.get({ kind: 'artifacts', key: 'of-carol' }), {
      ...{ kind: 'artifacts', key: 'of-carol', owner: 'carol', name: 'cache', size: 9 },
    })
    const listed = await as(carol.token, 'GET', '/user/quota/artifacts')
    assert.deepEqual(listed.body, [{ name: 'cache', size: 9, html_url: '' }])
    await allot.allot.accounts.remove(carol.id)
    assert.equal(await ledger.get({ kind: 'artifacts', key: 'of-carol' }), undefined)
  })
})

describe('allot.ledger.list', () => {
  const listed = async (options: Omit<LedgerListing, 'kind'>) =>
    (await allot.allot.ledger.list({ kind: 'packages', ...options })).map(({ key }) => key)

  it('lists the entries with a prefix by key, page by page, without those of deleted owners', async () => {
    const { ledger, accounts } = allot.allot
    const [dora, gone] = [await allot.person('dora'), await allot.person('gone')]
    const put = (key: string, owner = 'dora') =>
      ledger.put({ kind: 'packages', key, owner, name: key, type: 'npm', version: '1', size: 1 })
    const keys = ['b', 'b/', 'b/10', 'b/2', 'b/a', 'b/é', 'b/\uffee', 'b/😀', 'b0', 'c']
    for (const key of keys.toReversed()) await put(key)
    await put('b/gone', 'gone')
    await ledger.put({ kind: 'artifacts', key: 'b/artifact', owner: 'dora', name: 'x', size: 1 })
    await accounts.remove(gone.id)
    const below = keys.slice(1, 8)
    assert.deepEqual(await listed({ prefix: 'b/' }), below)
    assert.deepEqual(await listed({ prefix: 'b' }), keys.slice(0, 9))
    assert.deepEqual(await listed({ prefix: 'b/😀' }), ['b/😀'])
    assert.deepEqual(await listed({ prefix: 'nothing' }), [])
    for (const limit of [1, 2, 7, 8]) {
      const found: string[] = []
      for (let after: string | undefined, page: string[]; ; after = page.at(-1)) {
        page = await listed({ prefix: 'b/', after, limit })
        found.push(...page)
        if (page.length < limit) break
      }
      assert.deepEqual(found, below, String(limit))
    }
    const [first] = await ledger.list({ kind: 'packages', prefix: 'b/10' })
    assert.deepEqual(first, await ledger.get({ kind: 'packages', key: 'b/10' }))
    await accounts.remove(dora.id)
    assert.deepEqual(await listed({ prefix: 'b' }), [])
  })

  it('names the option that is wrong', async () => {
    const wrong: [options: object, message: RegExp][] = [
      [{}, /^Prefix is required$/],
      [{ prefix: '' }, /^prefix: /],
      [{ prefix: 5 }, /^prefix: expected text|^prefix: /],
      [{ prefix: 'a', kind: 'files' }, /^kind: /],
      [{ prefix: 'a', limit: 0 }, /^limit: /],
      [{ prefix: 'a', limit: 1001 }, /^limit: /],
      [{ prefix: 'a', limit: 1.5 }, /^limit: /],
      [{ prefix: 'a', after: 'b' }, /^after: must begin with the prefix$/],
      [{ prefix: 'a', page: 2 }, /page/],
    ]
    for (const [options, message] of wrong)
      await assert.rejects(allot.allot.ledger.list({ kind: 'packages', ...options } as LedgerListing), {
        code: 'invalid',
        message,
      })
    for (const nothing of [undefined, null, 'packages'] as never[]) {
      await assert.rejects(
        allot.allot.ledger.list(nothing),
        /^AllotError: list: expected an object with kind/,
      )
      await assert.rejects(
        allot.allot.ledger.get(nothing),
        /^AllotError: entry: expected an object with kind/,
      )
    }
  })
})

describe('The ledger', () => {
  it('removes the entries of a deleted repository, whose keys can be used again', async () => {
    const bob = await allot.person()
    await as(bob.token, 'POST', '/user/repos', { name: 'demo' })
    const body = { repository: `${bob.name}/demo`, name: 'x', size: 5, on: 'issue', index: 1 }
    await asRoot('PUT', '/admin/ledger/attachments/of-bob', body)
    await as(bob.token, 'DELETE', `/repos/${bob.name}/demo`)
    assertNotFound(await asRoot('GET', '/admin/ledger/attachments/of-bob'))
    assertList(await as(bob.token, 'GET', '/user/quota/attachments'), 'name', [])
    await as(bob.token, 'POST', '/user/repos', { name: 'demo' })
    assert.equal((await asRoot('PUT', '/admin/ledger/attachments/of-bob', body)).status, 201)
  })
})
