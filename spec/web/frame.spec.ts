import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { madeBefore } from '../support/test-server.ts'
import type { PageClient } from './browser.ts'
import { PASSWORD, startFixture } from './fixture.ts'
import { PAGES } from './page-list.ts'

/** The parts of the header that are marked as current, outside and inside the menu of the user. */
const markedIn = (html: string) => {
  const [, header] = /<header>(.*?)<\/header>/s.exec(html)!
  return [
    ...header!.matchAll(/<(?:a|summary)[^>]* aria-current="(?:page|true)"[^>]*>(.*?)<\/(?:a|summary)>/gs),
  ].map(([, text]) => text!.replace(/<[^>]*>/g, ''))
}

/** The buttons, and the links that look like one, that have the color of the most important action. */
const primaryIn = (html: string) =>
  [...html.replace(/<header>.*?<\/header>/s, '').matchAll(/<(button|a)\b([^>]*)>(.*?)<\/\1>/gs)]
    .filter(([, tag, attributes = '']) => {
      const [, names = ''] = /\bclass="([^"]*)"/.exec(attributes) ?? []
      const isButton = tag === 'button' || /\bbutton\b/.test(names)
      return isButton && !/\b(?:secondary|danger)\b/.test(names)
    })
    .map(([, , , text]) => text!.replace(/<[^>]*>/g, ''))

describe('The frame of the pages', () => {
  const browsers = new Map<string, PageClient>()
  const allot = madeBefore(() => startFixture())
  before(async () => {
    for (const who of ['ann', 'root']) {
      const browser = await allot.signedIn(who, PASSWORD)
      browsers.set(who, browser)
    }
  })

  for (const [who, path, marked] of [
    ['ann', '/', ['Storage']],
    ['ann', '/-/storage/ann/history', ['Storage']],
    ['ann', '/-/storage/ann/usage', ['Storage']],
    ['ann', '/-/storage/acme', ['Storage']],
    ['root', '/-/storage/root', ['Storage']],
    ['root', '/-/storage/ben', ['Administration']],
    ['ann', '/ann', ['Repositories', 'Public profile']],
    ['ann', '/ann/website', ['Repositories']],
    ['ann', '/-/settings', ['Signed in as ann', 'Settings']],
    ['ann', '/-/account', ['Signed in as ann', 'Tokens and sessions']],
    ['root', '/-/admin/rules', ['Administration']],
    ['root', '/ann/website', []],
  ] as const)
    it(`marks the section that ${path} is in, for ${who}`, async () => {
      const { status, text } = await browsers.get(who)!.get(path)
      assert.deepEqual([status, markedIn(text)], [200, marked])
    })

  it('leads from every page of the storage of an owner to the page of the owner, and administrators to the account', async () => {
    for (const tab of ['', '/usage', '/history'])
      for (const [who, owner, links] of [
        ['ann', 'ann', ['/ann']],
        ['ann', 'acme', ['/acme']],
        ['root', 'ann', ['/-/admin/account?name=ann', '/ann']],
      ] as const) {
        const { text } = await browsers.get(who)!.get(`/-/storage/${owner}${tab}`)
        const found = [...text.matchAll(/<a class="button secondary" href="([^"]*)"/g)].map(([, to]) => to!)
        for (const link of links) assert.ok(found.includes(link), `${who} on ${owner}${tab}: ${found}`)
      }
  })

  it('has the pages of the user and the end of the session in a menu that needs no script', async () => {
    const { text } = await browsers.get('ann')!.get('/')
    const [, menu] = /<details class="choice account">(.*?)<\/details>/s.exec(text)!
    assert.deepEqual(
      [...menu!.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, to]) => to),
      ['/ann', '/-/settings', '/-/account'],
    )
    assert.match(menu!, /<form method="post" action="\/-\/sign-out"/)
  })

  it('has at most one primary button on each page, none of which is a filter', async () => {
    const primary: Record<string, string[]> = {}
    for (const [name, { who, path }] of Object.entries({
      ...PAGES,
      'sign in': { who: '', path: '/-/sign-in' },
    })) {
      const { text } = await (browsers.get(who) ?? allot.browser()).get(path)
      primary[name] = primaryIn(text)
    }
    const several = Object.entries(primary).filter(
      ([, texts]) => texts.length > 1 || texts.includes('Filter'),
    )
    assert.deepEqual(Object.fromEntries(several), {})
    assert.deepEqual(
      [primary.owners, primary['new user'], primary.rules, primary['sign in']],
      [['New user'], ['Create user'], ['Create'], ['Sign in']],
    )
  })
})

describe('The settings of a user', () => {
  const allot = madeBefore(() => startFixture())

  it('change what others see, and keep what was entered when it is refused', async () => {
    const ann = await allot.signedIn('ann', PASSWORD)
    assert.match((await ann.get('/-/settings')).text, /value="&lt;img src=x onerror=/)
    const entered = { fullName: 'Ann', description: 'Draws.', website: 'https://ann.test', location: 'Haifa' }
    const saved = await ann.post('/-/settings', entered)
    assert.equal(saved.headers.get('location'), '/-/settings?done=saved')
    const { body } = await allot.as(allot.root, 'GET', '/users/ann')
    assert.deepEqual(
      [body.full_name, body.description, body.website, body.location],
      ['Ann', 'Draws.', 'https://ann.test', 'Haifa'],
    )
    const refused = await ann.post('/-/settings', { ...entered, location: 'x'.repeat(51) })
    assert.equal(refused.status, 422)
    assert.match(refused.text, /Must have at most 50 characters\./)
    assert.match(refused.text, /<input(?=[^>]*name="location")(?=[^>]*aria-invalid)[^>]*value="x{51}"/)
  })

  it('need the scope that the API asks for', async () => {
    const reader = await allot.signedIn('', await allot.scoped(allot.root, 'read:user'))
    assert.equal((await reader.get('/-/settings')).status, 200)
    assert.equal((await reader.post('/-/settings', { fullName: 'x' })).status, 403)
    assert.equal((await allot.browser().get('/-/settings')).status, 303)
  })
})
