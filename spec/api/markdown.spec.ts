import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError } from '../support/expectations.ts'
import { type Person, start, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false, markdown: { timeout: 30_000 } })

const render = (body: unknown) => allot.request('POST', '/markdown', { body })

describe('POST /markdown', () => {
  it('accepts Mode, Context and Wiki, and their names in lower case', async () => {
    const Context = `${new URL(allot.base).pathname.replace(/\/$/, '')}/alice/demo`
    const link = (path: string) => `<a href="${allot.base}/alice/demo/${path}" rel="nofollow">a</a>`
    assert.ok((await render({ Text: '[a](b)', Mode: 'gfm', Context })).text.includes(link('b')))
    assert.ok(
      (await render({ Text: '[a](b)', Mode: 'gfm', Context, Wiki: true })).text.includes(link('wiki/b')),
    )
    const lower = { text: '[a](b)', mode: 'gfm', context: Context, wiki: true }
    assert.ok((await render(lower)).text.includes(link('wiki/b')))
    assert.equal((await render({ Text: '~~a~~', Mode: 'unknown' })).text, '<p dir="auto">~~a~~</p>\n')
    assert.equal((await render({ Text: '~~a~~', Mode: 'gfm' })).text, '<p dir="auto"><del>a</del></p>\n')
  })

  it('links the names of accounts that the viewer may see, and no others', async () => {
    const [hidden, member] = [await allot.person('hidden'), await allot.person('member')]
    const { accounts, organizations } = allot.allot.hosting
    await accounts.edit(hidden.id, { visibility: 'private' })
    await accounts.edit(member.id, { visibility: 'limited' })
    await organizations.create(hidden.id, { name: 'open' })
    const linkedFor = async (who: Person | undefined, Mode: string) => {
      const Text = '@ROOT @member @hidden @open @nobody'
      const { text } = await allot.as(who, 'POST', '/markdown', { Text, Mode })
      return [...text.matchAll(/class="mention" rel="nofollow">@(\w+)</g)].map(([, name]) => name)
    }
    for (const mode of ['gfm', 'comment']) {
      assert.deepEqual(await linkedFor(undefined, mode), ['ROOT', 'open'])
      assert.deepEqual(await linkedFor(member, mode), ['ROOT', 'member', 'open'])
      assert.deepEqual(await linkedFor(hidden, mode), ['ROOT', 'member', 'hidden', 'open'])
      assert.deepEqual(await linkedFor(allot.root, mode), ['ROOT', 'member', 'hidden', 'open'])
    }
    assert.deepEqual(await linkedFor(hidden, 'markdown'), [])
    const scoped = { ...hidden, token: await allot.scoped(hidden, 'read:misc') }
    assert.deepEqual(await linkedFor(scoped, 'gfm'), ['ROOT', 'open'])
  })

  for (const [what, body, message] of [
    ['a number for Text', { Text: 5 }, /^Text: expected a string/],
    ['a list for Mode', { Text: 'x', Mode: ['gfm'] }, /^Mode: /],
    ['a word for Wiki', { Text: 'x', Wiki: 'yes' }, /^Wiki: /],
    ['an array', [], /JSON object/],
    ['broken JSON', '{"Text":', /is not valid JSON/],
  ] as const)
    it(`answers 422 to ${what}`, async () => {
      const headers = { 'content-type': 'application/json' }
      assertError(await allot.request('POST', '/markdown', { body, headers }), 422, message)
    })

  it('answers 422 to a text that takes too long, and serves other clients meanwhile', async () => {
    const impatient = await start({ repositories: false, markdown: { timeout: 1000 } })
    let isPending = true
    const hostile = impatient
      .request('POST', '/markdown', { body: { Text: '[a]('.repeat(100_000) } })
      .finally(() => {
        isPending = false
      })
    assert.equal((await impatient.request('GET', '/version')).status, 200)
    assert.ok(isPending, 'the text was rendered in the thread that serves')
    assertError(await hostile, 422, /1000 milliseconds/)
  })
})

/** 240 bytes that take a parser at least 100 ms. */
describe('POST /markdown/raw', () => {
  const raw = (body: string | Uint8Array, type = 'text/plain') =>
    allot.request('POST', '/markdown/raw', { body, headers: { 'content-type': type } })

  it('answers 415 to another type, 422 to a body that is not Unicode, and 413 to one that is too long', async () => {
    assertError(await raw('x', 'application/json'), 415)
    assertError(await raw(new Uint8Array([0xff, 0xfe])), 422, /UTF-8/)
    assertError(await raw('x'.repeat(1024 * 1024 + 1)), 413)
  })
})
