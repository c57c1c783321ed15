import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MAX_COUNTED } from '../../lib/repositories/visible.ts'
import { type Person, peopleBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })
const [alice] = peopleBefore(allot, 'alice')

/** Creates repositories of alice. */
const fill = async (word: string, from: number, to: number, isPrivate = false) => {
  const { accounts, repositories } = allot.allot.hosting
  const owner = (await accounts.byName('alice'))!
  const numbers = Array.from({ length: to - from }, (_, at) => from + at)
  await Promise.all(
    numbers.map((at) => repositories.create(owner, owner, { name: `${word}${at}`, private: isPrivate })),
  )
}

const found = async (query: string, person?: Person, limit = 2) => {
  const { status, body, headers } = await allot.as(person, 'GET', `/repos/search?limit=${limit}&${query}`)
  assert.equal(status, 200, query)
  const names = body.data.map(({ name }: { name: string }) => name)
  return { names, total: headers.get('x-total-count'), link: headers.get('link') ?? '' }
}

describe('The total of a search', () => {
  it(`is exact up to ${MAX_COUNTED}, and absent beyond, also where hidden repositories match`, async () => {
    await fill('hidden-heap-', 0, MAX_COUNTED, true)
    await fill('heap-', MAX_COUNTED, 2 * MAX_COUNTED)
    for (const word of ['heap', 'h', 'hea', ''])
      assert.equal((await found(`q=${word}`)).total, String(MAX_COUNTED), word)
    const own = await found('q=heap', alice)
    assert.equal(own.total, null)
    assert.match(own.link, /page=2&q=heap>; rel="next"/)
    assert.doesNotMatch(own.link, /rel="last"/)
    await fill('heap-', 2 * MAX_COUNTED, 2 * MAX_COUNTED + 1)
    for (const word of ['heap', 'h', 'hea', '']) assert.equal((await found(`q=${word}`)).total, null, word)
    assert.equal((await found('q=heap-1')).total, String(MAX_COUNTED))
  })

  it('does not keep the last pages from being read', async () => {
    const all: string[] = []
    for (let page: string | undefined = '1'; page !== undefined; ) {
      const { names, link } = await found(`q=heap&page=${page}`, undefined, 50)
      all.push(...names)
      page = /[?&]page=(\d+)&q=heap>; rel="next"/.exec(link)?.[1]
    }
    assert.equal(new Set(all).size, MAX_COUNTED + 1)
    const { names, link } = await found('q=heap&page=501')
    assert.deepEqual(names, ['heap-2000'])
    assert.doesNotMatch(link, /rel="next"/)
    assert.deepEqual((await found('q=heap&page=502')).names, [])
  })
})
