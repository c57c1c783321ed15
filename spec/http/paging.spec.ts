import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import * as v from 'valibot'
import { routes } from '../../lib/api/index.ts'
import { membersOf } from '../../lib/http/validate.ts'
import { madeBefore } from '../support/test-server.ts'
import { closing, pageOf, plain, route, serve } from './fixture.ts'

/** As many numbers as the path says, as a list that pages. */
const numbers = <const M extends 'pages' | 'whole'>(paging: M) =>
  route({
    ...plain,
    method: 'GET',
    path: `/${paging}/{count}`,
    operationId: paging,
    auth: 'optional',
    paging,
    params: v.object({ count: v.number() }),
    responses: { 200: v.array(v.number()) },
    handle: async ({ page: { offset, limit }, params: { count } }) => {
      const length = Math.max(0, Math.min(limit, count - offset))
      return pageOf(
        Array.from({ length }, (_none, at) => offset + at),
        count,
      )
    },
  })

const searched = route({
  ...plain,
  method: 'GET',
  path: '/searched',
  operationId: 'searched',
  auth: 'optional',
  paging: 'pages',
  query: v.object({
    q: v.optional(v.pipe(v.string(), v.maxLength(255))),
    uid: v.optional(v.number()),
    private: v.optional(v.boolean()),
  }),
  responses: { 200: v.array(v.string()) },
  handle: async ({ query }) => pageOf([query.q ?? ''], 90),
})

const named = route({
  ...plain,
  method: 'GET',
  path: '/named/{name}',
  operationId: 'named',
  auth: 'optional',
  paging: 'pages',
  responses: { 200: v.array(v.string()) },
  handle: async ({ params }) => pageOf([params.name], 90),
})

const floor = madeBefore(() => serve([numbers('pages'), numbers('whole'), named, searched]))

const list = async (url: string) => {
  const answer = await fetch(url)
  const links = (answer.headers.get('link') ?? '').matchAll(/<([^>]+)>; rel="(\w+)"/g)
  return {
    status: answer.status,
    items: answer.status === 200 ? ((await answer.json()) as number[]) : [],
    total: answer.headers.get('x-total-count'),
    links: Object.fromEntries([...links].map(([, link, rel]) => [rel!, link!])) as Record<string, string>,
    exposed: answer.headers.get('access-control-expose-headers'),
  }
}

describe('A list', () => {
  it('can be followed by its links forward and back, and has every item once', async () => {
    const walks = fc.asyncProperty(
      fc.nat({ max: 130 }),
      fc.integer({ min: 1, max: 60 }),
      async (count, limit) => {
        const first = `${floor.api}/pages/${count}?limit=${limit}`
        const forth: number[] = []
        let pages = 0
        let last = first
        for (let at: string | undefined = first; at !== undefined; pages++) {
          const page = await list(at)
          assert.equal(page.total, String(count))
          forth.push(...page.items)
          last = at
          at = page.links.next
        }
        assert.deepEqual(forth, [...Array(count).keys()])
        let back = 0
        for (let at: string | undefined = last; at !== undefined; back++) at = (await list(at)).links.prev
        assert.equal(back, pages)
      },
    )
    await fc.assert(walks, { numRuns: 15 })
  })

  it('links to next and last except on the last page, to first and prev except on the first', async () => {
    const rels = async (page: number) => Object.keys((await list(`${floor.api}/pages/90?page=${page}`)).links)
    assert.deepEqual(await rels(1), ['next', 'last'])
    assert.deepEqual(await rels(2), ['next', 'last', 'first', 'prev'])
    assert.deepEqual(await rels(3), ['first', 'prev'])
    assert.deepEqual(Object.keys((await list(`${floor.api}/pages/30`)).links), [])
  })

  it('keeps in its links the query parameters that the route declares, sorted, and the Sudo user', async () => {
    const path = `${floor.api}/searched?q=a%26b&page=2&limit=7&q=%C3%BC&sudo=bob`
    const { links, exposed } = await list(path)
    assert.equal(links.next, `${floor.api}/searched?limit=7&page=3&q=a%26b&sudo=bob`)
    assert.match(exposed ?? '', /Link, .*X-Total-Count/)
    const read = await list(`${floor.api}/searched?uid=09&private=1&page=2&Q=x`)
    assert.equal(read.links.next, `${floor.api}/searched?page=3&private=true&uid=9`)
  })

  it('leaves undeclared query parameters out of its links, however long they are', async () => {
    const long = 'x'.repeat(12_000)
    for (const query of [`x=${long}`, `limit=${'1'.repeat(12_000)}`, `page=11&${long}=1`]) {
      const answer = await fetch(`${floor.api}/searched?${query}`)
      assert.equal(answer.status, 200)
      const length = [...answer.headers].join().length
      assert.ok(length < 1_000, `${query.slice(0, 20)}: ${length} bytes of headers`)
    }
    const digits = await fetch(`${floor.api}/searched?uid=${'9'.repeat(12_000)}`)
    assert.ok([...digits.headers].join().length < 1_000)
  })

  for (const { method, path, paging, query } of routes)
    if (paging !== undefined && query !== undefined)
      it(`has no query parameter that may be longer than 255 characters: ${method} ${path}`, () => {
        for (const { name, kind } of membersOf(query)) {
          if (kind !== 'text') continue
          const { issues } = v.safeParse(query, { [name]: 'x'.repeat(256) })
          assert.ok(
            issues?.some((issue) => v.getDotPath(issue) === name),
            name,
          )
        }
      })

  it('escapes the characters in its links that would end the address', async () => {
    const answer = await floor.raw(closing('GET /api/v1//named/a>;"<b/'))
    const url = 'http://x.test/api/v1//named/a%3E;%22%3Cb/?page=2'
    assert.ok(answer.includes(`\r\nLink: <${url}>; rel="next", <`), answer)
    const query = await floor.raw(closing('GET /api/v1/searched?q=">;<'))
    assert.ok(
      query.includes(`\r\nLink: <http://x.test/api/v1/searched?page=2&q=%22%3E%3B%3C>; rel="next", <`),
      query,
    )
  })

  it('is empty past its end, and links back', async () => {
    for (const page of ['3', '9007199254740991', '9223372036854775807', '9'.repeat(400)]) {
      const { status, items, links } = await list(`${floor.api}/pages/40?page=${page}`)
      assert.deepEqual([status, items], [200, []], page)
      assert.match(links.prev ?? '', /page=2$/)
    }
  })
})

describe('A page or limit', () => {
  const CASES: [query: string, pages: number[] | 422, whole?: number[]][] = [
    ['', [0, 30], [0, 1000]],
    ['page=0', [0, 30]],
    ['limit=0', [0, 30]],
    ['limit=51', [0, 50]],
    ['page=2&limit=50', [50, 50]],
    ['page=2&page=3', [30, 30]],
    ['page=-1', 422],
    ['limit=-1', 422],
    ['limit=1.5', 422],
    ['limit=1e1', 422],
    ['limit=0x10', 422],
    ['limit=abc', 422],
    ['limit=', 422],
    ['page=%202', 422],
    ['page=%FF', 422],
  ]
  const asked = async (paging: string, query: string) => {
    const { status, items } = await list(`${floor.api}/${paging}/1000?${query}`)
    return status === 200 ? [items[0], items.length] : status
  }
  for (const [query, pages, whole = pages] of CASES)
    it(`"${query}" is ${pages}, and ${whole} in a list that is sent as a whole without them`, async () => {
      assert.deepEqual(await asked('pages', query), pages)
      assert.deepEqual(await asked('whole', query), whole)
    })
})
