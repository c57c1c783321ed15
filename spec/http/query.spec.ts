import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import fc from 'fast-check'
import * as v from 'valibot'
import { routes } from '../../lib/api/index.ts'
import { coerce, membersOf, pathParams } from '../../lib/http/validate.ts'
import { type HttpFixture, plain, reply, route, serve } from './fixture.ts'

const Asked = v.object({
  q: v.optional(v.string()),
  uid: v.optional(v.pipe(v.number(), v.integer())),
  private: v.optional(v.boolean()),
  sort: v.optional(v.picklist(['up', 'down'])),
})
const Needed = v.object({ count: v.pipe(v.number(), v.minValue(1)), subject: v.picklist(['a', 'b']) })

let floor: HttpFixture
before(async () => {
  const open = { ...plain, method: 'GET', auth: 'optional' } as const
  floor = await serve([
    route({
      ...open,
      path: '/may',
      operationId: 'may',
      query: Asked,
      responses: { 200: Asked },
      handle: async ({ query }) => reply(200, query),
    }),
    route({
      ...open,
      path: '/must',
      operationId: 'must',
      query: Needed,
      responses: { 200: Needed },
      handle: async ({ query }) => reply(200, query),
    }),
  ])
})

const ask = async (path: string) => {
  const answer = await fetch(floor.api + path)
  return { status: answer.status, json: (await answer.json()) as { message?: string } }
}

describe('A query parameter', () => {
  const cases: [query: string, read: object][] = [
    ['', {}],
    ['q=', { q: '' }],
    ['q=a+b%2Bc', { q: 'a b+c' }],
    ['q=1&q=2', { q: '1' }],
    ['q=%C3%BC%zz', { q: 'ü%zz' }],
    ['Q=1&uid[]=2&__proto__=3', {}],
    ['uid=42', { uid: 42 }],
    ['uid=-1', { uid: -1 }],
    ['uid=', {}],
    ['uid=9007199254740991', { uid: 2 ** 53 - 1 }],
    ['uid=9007199254740992', { uid: 2 ** 53 }],
    ['uid=9007199254740993', { uid: 2 ** 53 }],
    ['uid=9223372036854775807', { uid: 2 ** 63 }],
    ['uid=-9223372036854775808', { uid: -(2 ** 63) }],
    [`uid=${'9'.repeat(400)}`, { uid: 2 ** 63 }],
    ['private=true', { private: true }],
    ['private=1', { private: true }],
    ['private=false', { private: false }],
    ['private=0', { private: false }],
    ['private=', {}],
    ['sort=up', { sort: 'up' }],
  ]
  for (const [query, read] of cases)
    it(`is parsed: ${query || 'no query'} as ${JSON.stringify(read)}`, async () => {
      assert.deepEqual(await ask(`/may?${query}`), { status: 200, json: read })
    })

  const refused: [path: string, message: RegExp][] = [
    ['/may?sort=left', /^sort: expected one of "up", "down", received the string "left"$/],
    ['/may?sort=', /^sort: expected one of/],
    ['/may?uid=4.2', /^uid: expected a number, received the string "4.2"$/],
    ['/may?uid=x', /^uid: expected a number, received the string "x"$/],
    ['/may?private=yes', /^private: expected a boolean, received the string "yes"$/],
    ['/must?subject=a', /^Count is required$/],
    ['/must?subject=a&count=x', /^count: expected a number, received the string "x"$/],
    ['/must?subject=a&count=0', /^count: must not be below 1$/],
    ['/must?count=1', /^Subject is required$/],
    ['/must?count=1&subject=c', /^subject: expected one of/],
  ]
  for (const [path, message] of refused)
    it(`is refused: ${path}: ${message.source}`, async () => {
      const { status, json } = await ask(path)
      assert.equal(status, 422)
      assert.match(json.message ?? '', message)
    })
})

describe('An integer of any length', () => {
  const digits = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n })

  it('is exact up to 2^53-1; a larger one is some number above 2^53-1', () => {
    const query = v.object({ id: v.optional(v.number()) })
    fc.assert(
      fc.property(digits, (integer) => {
        const { id } = coerce(query, () => String(integer)) as { id?: number }
        assert.equal(Number.isSafeInteger(id), Number.isSafeInteger(Number(integer)))
        if (Number.isSafeInteger(id)) assert.equal(BigInt(id!), integer)
        else assert.equal(id! < 0, integer < 0n)
      }),
    )
  })

  for (const route of routes) {
    const { params } = route
    const numbers = params ? membersOf(params).filter(({ kind }) => kind === 'number') : []
    for (const { name } of numbers)
      it(`above 2^53-1 matches no ${name}: ${route.method} ${route.path}`, () => {
        for (const text of ['9007199254740992', '9007199254740993', '9223372036854775807', '9'.repeat(30)]) {
          const read = () => pathParams(params!, { ...valid(route), [name]: text })
          assert.throws(read, (error: { code?: string }) => error.code === 'not_found')
        }
        assert.doesNotThrow(() => pathParams(params!, valid(route)))
      })
  }
})

/** A parameter of each name that a path has; `kind` is that of a ledger entry. */
const valid = ({ path }: { path: string }): Record<string, string> =>
  Object.fromEntries(
    [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name!, name === 'kind' ? 'lfs' : '1']),
  )
