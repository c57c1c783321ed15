import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { subjects } from '../../lib/index.ts'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { start, startBefore } from '../support/test-server.ts'

const allot = startBefore()

const asRoot = (method: string, path: string, body?: unknown) =>
  allot.request(method, path, { token: allot.root.token, ...(body === undefined ? {} : { body }) })

/** All specs share the rules of one server, so each uses names of its own. */
let made = 0
const aRule = async (rule: { limit?: number; subjects?: string[] } = {}) => {
  const name = `rule-${++made}`
  const answer = await asRoot('POST', '/admin/quota/rules', {
    name,
    limit: 1000,
    subjects: ['size:all'],
    ...rule,
  })
  assert.equal(answer.status, 201, answer.text)
  return name
}

describe('POST /admin/quota/rules', () => {
  it('creates a rule and returns it', async () => {
    const rule = { name: 'first', limit: 1073741824, subjects: ['size:git:lfs', 'size:assets:all'] }
    const answer = await asRoot('POST', '/admin/quota/rules', rule)
    assert.equal(answer.status, 201)
    assert.deepEqual(answer.body, rule)
    assert.deepEqual((await asRoot('GET', '/admin/quota/rules/first')).body, rule)
  })

  it('accepts every subject of the specification', async () => {
    const name = await aRule({ subjects: [...subjects] })
    assert.deepEqual((await asRoot('GET', `/admin/quota/rules/${name}`)).body.subjects, [...subjects])
  })

  for (const limit of [0, -1, -5, 2 ** 53 - 1, -(2 ** 53 - 1)])
    it(`accepts the limit ${limit}`, async () => {
      const name = await aRule({ limit })
      assert.equal((await asRoot('GET', `/admin/quota/rules/${name}`)).body.limit, limit)
    })

  it('accepts no subjects, and the same subject twice', async () => {
    assert.deepEqual(
      (await asRoot('POST', '/admin/quota/rules', { name: 'bare', limit: 1 })).body.subjects,
      [],
    )
    const twice = ['size:all', 'size:all']
    const name = await aRule({ subjects: twice })
    assert.deepEqual((await asRoot('GET', `/admin/quota/rules/${name}`)).body.subjects, twice)
  })

  it('ignores members that it does not know', async () => {
    const body = { name: 'more', limit: 1, subjects: [], colour: 'red', __proto__: { limit: 2 } }
    assert.deepEqual((await asRoot('POST', '/admin/quota/rules', body)).body, {
      name: 'more',
      limit: 1,
      subjects: [],
    })
  })

  it('answers 409 when the name exists, and leaves that rule as it is', async () => {
    const name = await aRule({ limit: 7 })
    assertError(await asRoot('POST', '/admin/quota/rules', { name, limit: 8 }), 409, /already exists/)
    assert.equal((await asRoot('GET', `/admin/quota/rules/${name}`)).body.limit, 7)
  })

  it('compares names exactly', async () => {
    await asRoot('POST', '/admin/quota/rules', { name: 'case', limit: 1 })
    assert.equal((await asRoot('POST', '/admin/quota/rules', { name: 'CASE', limit: 1 })).status, 201)
  })

  const BAD: [what: string, body: unknown, message: RegExp][] = [
    ['no limit', { name: 'bad', subjects: [] }, /Limit is required/],
    ['a limit of null', { name: 'bad', limit: null }, /Limit is required/],
    [
      'a limit in a string',
      { name: 'bad', limit: '5' },
      /^limit: expected a number, received the string "5"/,
    ],
    ['a fraction', { name: 'bad', limit: 1.5 }, /^limit: /],
    ['a limit beyond 2^53-1', { name: 'bad', limit: 2 ** 53 }, /^limit: /],
    ['a limit below -(2^53-1)', { name: 'bad', limit: -(2 ** 53) }, /^limit: /],
    ['a huge limit', '{"name":"bad","limit":1e400}', /^limit: /],
    ['a limit in an array', { name: 'bad', limit: [5] }, /^limit: /],
    ['no name', { limit: 5 }, /Name is required/],
    ['an empty name', { name: '', limit: 5 }, /^name: /],
    ['a name that is a number', { name: 5, limit: 5 }, /^name: expected a string/],
    ['a name of 256 characters', { name: 'x'.repeat(256), limit: 5 }, /^name: /],
    ['an unknown subject', { name: 'bad', limit: 5, subjects: ['size:nothing'] }, /^subjects\[0\]: /],
    [
      'an unknown subject after a good one',
      { name: 'bad', limit: 5, subjects: ['size:all', 'x'] },
      /^subjects\[1\]: /,
    ],
    ['a subject in capitals', { name: 'bad', limit: 5, subjects: ['SIZE:ALL'] }, /^subjects\[0\]: /],
    [
      'the wiki subject of a Forgejo',
      { name: 'bad', limit: 5, subjects: ['size:assets:wiki'] },
      /^subjects\[0\]: /,
    ],
    ['a subject named __proto__', { name: 'bad', limit: 5, subjects: ['__proto__'] }, /^subjects\[0\]: /],
    ['subjects that are not an array', { name: 'bad', limit: 5, subjects: 'size:all' }, /^subjects: /],
    ['an empty body', '', /Name is required/],
    ['an array', '[]', /JSON object/],
    ['a string', '"x"', /JSON object/],
    ['null', 'null', /JSON object/],
    ['half a character', '{"name":"\\ud800","limit":1}', /half a character/],
    ['broken JSON', '{"name":', /is not valid JSON/],
    ['JSON with something after it', '{"name":"bad","limit":1} x', /is not valid JSON/],
    ['bytes that are not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), /UTF-8/],
  ]
  for (const [what, body, message] of BAD)
    it(`answers 422 to ${what}, and creates nothing`, async () => {
      const options = { token: allot.root.token, body, headers: { 'content-type': 'application/json' } }
      assertError(await allot.request('POST', '/admin/quota/rules', options), 422, message)
      assertNotFound(await asRoot('GET', '/admin/quota/rules/bad'))
    })
})

describe('GET /admin/quota/rules', () => {
  it('lists the rules in the order of their creation, in pages', async () => {
    const own = await start()
    const token = own.root.token
    for (const name of ['b', 'a', 'c'])
      await own.request('POST', '/admin/quota/rules', { token, body: { name, limit: 1 } })
    assertList(await own.request('GET', '/admin/quota/rules', { token }), 'name', ['b', 'a', 'c'])
    assertList(await own.request('GET', '/admin/quota/rules?page=2&limit=2', { token }), 'name', ['c'], 3)
  })
})

describe('GET /admin/quota/rules/{quotarule}', () => {
  it('finds a rule whose name is percent-encoded in the path', async () => {
    for (const name of ['a/b', 'ä ö', '50%', '?x=1']) {
      await asRoot('POST', '/admin/quota/rules', { name, limit: 1 })
      const answer = await asRoot('GET', `/admin/quota/rules/${encodeURIComponent(name)}`)
      assert.equal(answer.body?.name, name)
    }
  })

  it('answers 404 when there is no such rule', async () => {
    assertNotFound(await asRoot('GET', '/admin/quota/rules/nothing'))
    assertNotFound(await asRoot('GET', '/admin/quota/rules/__proto__'))
  })
})

describe('PATCH /admin/quota/rules/{quotarule}', () => {
  it('keeps omitted members unchanged', async () => {
    const name = await aRule({ limit: 5, subjects: ['size:git:lfs'] })
    const limit = await asRoot('PATCH', `/admin/quota/rules/${name}`, { limit: 6 })
    assert.deepEqual([limit.status, limit.body], [200, { name, limit: 6, subjects: ['size:git:lfs'] }])
    const replaced = await asRoot('PATCH', `/admin/quota/rules/${name}`, { subjects: ['size:all'] })
    assert.deepEqual(replaced.body, { name, limit: 6, subjects: ['size:all'] })
    assert.deepEqual((await asRoot('PATCH', `/admin/quota/rules/${name}`, {})).body, replaced.body)
  })

  it('replaces the complete list of subjects, also by an empty one', async () => {
    const name = await aRule({ subjects: ['size:all', 'size:git:lfs'] })
    assert.deepEqual(
      (await asRoot('PATCH', `/admin/quota/rules/${name}`, { subjects: [] })).body.subjects,
      [],
    )
  })

  it('does not change the name', async () => {
    const name = await aRule()
    assert.equal((await asRoot('PATCH', `/admin/quota/rules/${name}`, { name: 'other' })).body.name, name)
    assertNotFound(await asRoot('GET', '/admin/quota/rules/other'))
  })

  const BAD: [what: string, body: unknown][] = [
    ['an unknown subject', { limit: 9, subjects: ['size:all', 'size:nothing'] }],
    ['a fraction', { limit: 0.5, subjects: [] }],
    ['a limit in a string', { limit: '9' }],
    ['a limit beyond 2^53-1', { limit: 2 ** 60 }],
    ['an array', []],
  ]
  for (const [what, body] of BAD)
    it(`answers 422 to ${what}, and changes nothing`, async () => {
      const name = await aRule({ limit: 5, subjects: ['size:git:lfs'] })
      assertError(await asRoot('PATCH', `/admin/quota/rules/${name}`, body), 422)
      const rule = (await asRoot('GET', `/admin/quota/rules/${name}`)).body
      assert.deepEqual(rule, { name, limit: 5, subjects: ['size:git:lfs'] })
    })

  it('answers 404 when there is no such rule', async () => {
    assertNotFound(await asRoot('PATCH', '/admin/quota/rules/nothing', { limit: 1 }))
  })

  it('answers 404 for an unknown rule before it reads the body', async () => {
    for (const [, body] of BAD) assertNotFound(await asRoot('PATCH', '/admin/quota/rules/nothing', body))
    const { token } = allot.root
    for (const [type, body] of [
      ['application/json', '{"limit":'],
      ['application/json', `{"limit":"${'9'.repeat(2 * 1024 * 1024)}"}`],
      ['text/csv', 'limit'],
    ] as const)
      assertNotFound(
        await allot.request('PATCH', '/admin/quota/rules/nothing', {
          ...{ token, body, headers: { 'content-type': type } },
        }),
      )
  })
})

describe('DELETE /admin/quota/rules/{quotarule}', () => {
  it('deletes the rule and removes it from its groups', async () => {
    const name = await aRule()
    const { groups } = allot.allot.quota
    await groups.create({ name: 'with-rule', rules: [name] })
    assertNoContent(await asRoot('DELETE', `/admin/quota/rules/${name}`))
    assertNotFound(await asRoot('GET', `/admin/quota/rules/${name}`))
    assertNotFound(await asRoot('DELETE', `/admin/quota/rules/${name}`))
    assert.deepEqual(await groups.get('with-rule'), { name: 'with-rule', rules: [] })
  })
})
