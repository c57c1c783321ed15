import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { passwordLinkPath } from '../../lib/web/parts/password-link.ts'
import { basic, madeBefore } from '../support/test-server.ts'
import { createPageClient, startPages } from './browser.ts'

const PASSWORD = 'a long password'

describe('Signing in to the pages', () => {
  const allot = madeBefore(() => startPages())
  before(async () => {
    await allot.person('ann', { password: PASSWORD, email: 'ann@example.test' })
  })

  it('is where pages redirect to without a session, with the requested page', async () => {
    for (const [path, to] of [
      ['/', '/-/sign-in'],
      ['/-/storage/ann', '/-/sign-in?to=%2F-%2Fstorage%2Fann'],
      ['/-/storage/nobody', '/-/sign-in?to=%2F-%2Fstorage%2Fnobody'],
      ['/-/admin/owners?page=7', '/-/sign-in?to=%2F-%2Fadmin%2Fowners%3Fpage%3D7'],
      ['/?page=7', '/-/sign-in?to=%2F%3Fpage%3D7'],
      ["/-/storage/a%20b!'(1)*", "/-/sign-in?to=%2F-%2Fstorage%2Fa%2520b!'(1)*"],
      [`/-/admin/owners?q=${'a'.repeat(3000)}`, '/-/sign-in?to=%2F-%2Fadmin%2Fowners'],
    ]) {
      const { status, headers } = await allot.browser().get(path!)
      assert.deepEqual([status, headers.get('location')], [303, to])
    }
  })

  it('accepts a name or an email with a password, or a token, and redirects to the requested page', async () => {
    const bob = await allot.person('bob')
    for (const [name, secret, shown] of [
      ['ann', PASSWORD, 'ann'],
      ['ANN@example.test', PASSWORD, 'ann'],
      ['', bob.token, 'bob'],
      ['bob', ` ${bob.token} `, 'bob'],
    ] as const) {
      const browser = allot.browser()
      await browser.get('/-/sign-in')
      const { status, headers } = await browser.post('/-/sign-in', {
        name,
        secret,
        to: `/-/storage/${shown}`,
      })
      assert.deepEqual([status, headers.get('location')], [303, `/-/storage/${shown}`])
      assert.match((await browser.get('/')).text, new RegExp(`<h1>Storage of ${shown}</h1>`))
    }
  })

  it('goes on to the page with its query, such as the page of a list and its filters', async () => {
    const to = '/-/storage/ann/repositories?q=a%20b%3F%26c&sort=name&page=7'
    const browser = allot.browser()
    const asked = await browser.get(to)
    const form = await browser.get(asked.headers.get('location')!)
    const field = /name="to" value="([^"]*)"/.exec(form.text)![1]!.replaceAll('&amp;', '&')
    assert.equal(field, to)
    const { headers } = await browser.post('/-/sign-in', { name: 'ann', secret: PASSWORD, to: field })
    assert.equal(headers.get('location'), to)
  })

  it('ignores a query that is too long, or has other characters than those of a URL', async () => {
    for (const query of [
      'a'.repeat(2001),
      'a\r\nSet-Cookie: a=b',
      'a b',
      'a#b',
      '<b>',
      '"',
      'ü',
      '\u0000',
      '',
    ]) {
      const browser = allot.browser()
      await browser.get('/-/sign-in')
      const to = `/-/storage/ann?${query}`
      const { status, headers } = await browser.post('/-/sign-in', { name: 'ann', secret: PASSWORD, to })
      assert.deepEqual([status, headers.get('location')], [303, '/-/storage/ann'], query)
    }
  })

  it('keeps spaces around a password, as the API does, and ignores them around a token', async () => {
    const [name, password] = ['spaced', '  a long password\t ']
    const { token } = await allot.person(name, { password })
    assert.equal((await allot.request('GET', '/user', { headers: basic(name, password) })).status, 200)
    assert.equal((await allot.browser().signIn(` ${name} `, password)).status, 303)
    assert.equal((await allot.browser().signIn(name, password.trim())).status, 422)
    assert.equal((await allot.browser().signIn('', ` ${token}\n`)).status, 303)
  })

  it('shows the error, and keeps the entered name but not the password', async () => {
    const browser = allot.browser()
    const wrong = await browser.signIn('a<b>"nn', 'wrong password')
    assert.equal(wrong.status, 422)
    assert.match(wrong.text, /The user name or password is wrong\./)
    assert.match(wrong.text, /value="a&lt;b>&quot;nn"/)
    assert.doesNotMatch(wrong.text, /wrong password/)
    assert.equal((await browser.get('/')).status, 303)
    assert.doesNotMatch(wrong.text, /<details[^>]* open/)
    const token = await allot.browser().signIn('', 'f'.repeat(40))
    assert.match(token.text, /The access token does not exist\..*<details class="alternative" open/s)
  })

  it('never redirects to another origin', async () => {
    for (const to of [
      'https://evil.test/',
      '//evil.test',
      '/\\evil.test',
      '/-/../..//evil.test',
      '/-//x?y',
      '//evil.test?x',
      '/\\evil.test?/x',
      '?//evil.test',
      '/?//evil.test',
      '/-/x?\\\\evil.test',
      'javascript:1',
    ]) {
      const browser = allot.browser()
      await browser.get('/-/sign-in')
      const { headers } = await browser.post('/-/sign-in', { name: 'ann', secret: PASSWORD, to })
      const { origin } = new URL(headers.get('location')!, allot.base)
      assert.equal(origin, new URL(allot.base).origin, to)
    }
  })

  it('replaces the cookie of the browser by one that scripts cannot read and other sites do not send', async () => {
    const browser = allot.browser()
    await browser.get('/-/sign-in')
    const planted = browser.cookie
    const { headers } = await browser.post('/-/sign-in', { name: 'ann', secret: PASSWORD })
    assert.match(
      headers.get('set-cookie')!,
      /^allot=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200$/,
    )
    assert.notEqual(browser.cookie, planted)
    assert.equal((await createPageClient(allot.base).get('/', { cookie: planted })).status, 303)
  })

  it('does not store the secret of a session', async () => {
    const browser = await allot.signedIn('ann', PASSWORD)
    const chunks: Uint8Array[] = []
    await allot.allot.export(async (bytes) => void chunks.push(bytes))
    const text = Buffer.concat(chunks).toString()
    assert.match(text, /"collection":"session"/)
    assert.ok(!text.includes(browser.cookie.replace('allot=', '')))
  })

  it('ends with signing out, of one device or of all', async () => {
    const [first, second, third] = [allot.browser(), allot.browser(), allot.browser()]
    for (const browser of [first, second, third]) await browser.signIn('ann', PASSWORD)
    const cookie = first.cookie
    assert.equal((await first.post('/-/sign-out', {})).headers.get('location'), '/-/sign-in')
    assert.equal((await createPageClient(allot.base).get('/', { cookie })).status, 303)
    assert.equal((await second.get('/')).status, 200)
    await second.post('/-/sign-out', { everywhere: 'yes' })
    assert.equal((await third.get('/')).status, 303)
  })

  it('ends when the password is changed, the token revoked, or the account suspended or deleted', async () => {
    const { hosting } = allot.allot
    const changes: Record<string, (id: number) => Promise<unknown>> = {
      changed: (id) => hosting.accounts.edit(id, { password: 'another password' }),
      suspended: (id) => hosting.accounts.edit(id, { active: false }),
      deleted: (id) => hosting.accounts.remove(id),
    }
    for (const [name, change] of Object.entries(changes)) {
      const { id } = await allot.person(name, { password: PASSWORD })
      const browser = await allot.signedIn(name, PASSWORD)
      assert.equal((await browser.get('/')).status, 200)
      await change(id)
      assert.equal((await browser.get('/')).status, 303, name)
    }
    const { id, token } = await allot.person('revoked', { password: PASSWORD })
    const [byToken, byPassword] = [allot.browser(), allot.browser()]
    await byToken.signIn('', token)
    await byPassword.signIn('revoked', PASSWORD)
    await hosting.tokens.remove(id, 'spec')
    assert.deepEqual([(await byToken.get('/')).status, (await byPassword.get('/')).status], [303, 200])
  })

  it('restricts a session to the scopes of the token that started it', async () => {
    const person = await allot.person('careful', { admin: true })
    const token = await allot.scoped(person, 'read:repository')
    const browser = await allot.signedIn('', token)
    const { status, text } = await browser.get('/')
    assert.equal(status, 403)
    assert.match(text, /required scope\(s\): \[read:user\]/)
  })

  it('expires after the session lifetime, even when it is in use', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    const browser = await allot.signedIn('ann', PASSWORD)
    t.mock.timers.tick(11 * 3600_000)
    assert.equal((await browser.get('/')).status, 200)
    t.mock.timers.tick(3600_000)
    assert.equal((await browser.get('/')).status, 303)
  })

  it('keeps at most fifty sessions of an account', async () => {
    const { id } = await allot.person('often')
    const account = (await allot.allot.hosting.accounts.byId(id))!
    const secrets: string[] = []
    const browser = { name: undefined, address: '127.0.0.1', secret: '' }
    for (let times = 0; times < 55; times++)
      secrets.push(await allot.allot.hosting.sessions.begin({ account, token: null }, browser))
    const found = await Promise.all(secrets.map((one) => allot.allot.hosting.sessions.find(one)))
    assert.equal(found.filter((session) => session !== undefined).length, 50)
    assert.ok(found.at(-1))
  })
})

describe('The limit of failed logins', () => {
  it('counts the pages and the API together', async () => {
    const allot = await startPages({ login: { failures: 3 } })
    await allot.person('ann', { password: PASSWORD })
    const browser = allot.browser()
    const statuses: number[] = []
    for (let times = 0; times < 4; times++) statuses.push((await browser.signIn('ann', 'wrong')).status)
    assert.deepEqual(statuses, [422, 422, 422, 429])
    const refused = await browser.signIn('ann', PASSWORD)
    assert.equal(refused.status, 429)
    assert.match(refused.text, /Too many failed logins: try again in \d+ seconds\./)
    assert.doesNotMatch(refused.text, /aria-invalid/, 'what was entered is right')
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    const api = await allot.request('GET', '/user', {
      headers: { authorization: `Basic ${btoa(`ann:${PASSWORD}`)}` },
    })
    assert.equal(api.status, 429)
  })
})

describe('A link that sets a password', () => {
  const allot = madeBefore(() => startPages({ login: { wrongTokens: 8 } }))
  before(async () => {
    await allot.allot.hosting.accounts.edit(allot.root.id, { password: PASSWORD })
  })

  type Change = { actor: { login: string }; action: string; subject: string }
  const CHOSEN = 'a chosen password'
  const newUser = async (name: string) => (await allot.person(name)).id
  const linkFor = async (id: number) =>
    passwordLinkPath((await allot.allot.hosting.passwordLinks.create(id))!)
  const fieldsOf = (link: string) => Object.fromEntries(new URLSearchParams(link.split('?')[1]))
  /** Opens a link in a new browser, and sends the password. */
  const used = async (link: string, password = CHOSEN) => {
    const browser = allot.browser()
    await browser.get(link)
    const answer = await browser.post('/-/set-password', { ...fieldsOf(link), password })
    return { browser, ...answer }
  }

  it('is made on the page of the account, shows its user, signs in with the new password, and works once', async () => {
    await newUser('una')
    const root = await allot.signedIn('root', PASSWORD)
    await root.get('/-/admin/account?name=una')
    const made = await root.post('/-/admin/account/password-link', { name: 'una' })
    const [url] = /http:\/\/[^\s<]+\/-\/set-password\?[^\s<]+/.exec(made.text)!
    const link = url.replace(allot.base, '').replaceAll('&amp;', '&')
    assert.match(link, /^\/-\/set-password\?user=una&code=[\w-]{43}$/)
    const opened = await allot.browser().get(link)
    assert.match(opened.text, /For the user <bdi>una<\/bdi>/)
    // Signing in instead leads elsewhere, and no URL but the link has the code.
    assert.match(opened.text, /<a class="account" href="\/-\/sign-in">/)
    const { status, headers, browser } = await used(link)
    assert.deepEqual([status, headers.get('location')], [303, '/'])
    assert.match((await browser.get('/')).text, /una/)
    assert.equal((await allot.browser().signIn('una', CHOSEN)).status, 303)
    assert.equal((await allot.browser().get(link)).status, 404)
    const { body } = await allot.as(allot.root, 'GET', '/admin/audit')
    const changes = body.map(({ actor, action, subject }: Change) => `${actor.login}: ${action} ${subject}`)
    assert.deepEqual(changes.slice(0, 2), ['una: password changed una', 'root: password link created una'])
    assert.ok(!JSON.stringify(body).includes(fieldsOf(link).code!))
  })

  it('sets one password when two requests use it together', async () => {
    const link = await linkFor(await newUser('twice'))
    const [one, other] = [allot.browser(), allot.browser()]
    const answers = await Promise.all(
      [one, other].map(async (browser, at) => {
        await browser.get(link)
        return browser.post('/-/set-password', { ...fieldsOf(link), password: `${CHOSEN} ${at}` })
      }),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 404])
  })

  it('stays valid after a password that is too short', async () => {
    const link = await linkFor(await newUser('short'))
    const refused = await used(link, 'short')
    assert.equal(refused.status, 422)
    assert.match(refused.text, /Must have at least 8 characters/)
    assert.equal((await used(link)).status, 303)
  })

  it('stays valid when the user is renamed, also a hidden one', async () => {
    const id = await newUser('miss')
    const link = await linkFor(id)
    const { accounts } = allot.allot.hosting
    await accounts.edit(id, { visibility: 'private' })
    await accounts.rename(id, 'missus')
    assert.match((await allot.browser().get(link)).text, /For the user <bdi>missus<\/bdi>/)
    assert.equal((await used(link)).status, 303)
    assert.equal((await allot.browser().signIn('missus', CHOSEN)).status, 303)
  })

  const ENDED: [what: string, end: (id: number) => Promise<unknown>][] = [
    ['a new link', linkFor],
    [
      'another account that takes the former name',
      async (id) => {
        const { accounts } = allot.allot.hosting
        const { name } = (await accounts.byId(id))!
        await accounts.rename(id, `${name}-later`)
        await newUser(name)
      },
    ],
    ['a change of the password', (id) => allot.allot.hosting.accounts.edit(id, { password: PASSWORD })],
    ['the deletion of the user', (id) => allot.allot.hosting.accounts.remove(id)],
  ]
  for (const [at, [what, end]] of ENDED.entries())
    it(`ends with ${what}`, async () => {
      const id = await newUser(`ended${at}`)
      const link = await linkFor(id)
      const browser = allot.browser()
      await browser.get(link)
      await end(id)
      const { status, text } = await browser.post('/-/set-password', { ...fieldsOf(link), password: CHOSEN })
      assert.equal(status, 404)
      assert.match(text, /This link is not valid: it was used, replaced, or has expired/)
    })

  it('is refused to a user who may not sign in, and is not made for an organization', async () => {
    const id = await newUser('idle')
    const link = await linkFor(id)
    await allot.allot.hosting.accounts.edit(id, { active: false })
    assert.equal((await allot.browser().get(link)).status, 403)
    const { id: org } = await allot.allot.hosting.organizations.create(id, { name: 'club' })
    await assert.rejects(allot.allot.hosting.passwordLinks.create(org), /an organization has no password/)
  })

  it('is stored as a hash', async () => {
    const link = await linkFor(await newUser('hashed'))
    const chunks: Uint8Array[] = []
    await allot.allot.export(async (bytes) => void chunks.push(bytes))
    const text = Buffer.concat(chunks).toString()
    assert.match(text, /"passwordLink":\{/)
    assert.ok(!text.includes(fieldsOf(link).code!))
  })

  it('expires after fourteen days, and wrong ones are limited, while a valid one works', async (t) => {
    const id = await newUser('late')
    const link = await linkFor(id)
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    t.mock.timers.tick(14 * 86_400_000)
    assert.equal((await allot.browser().get(link)).status, 404)
    const statuses: number[] = []
    for (const query of [
      '',
      '?user=late',
      '?user=late&code=x',
      '?user=nobody&code=x',
      '?user=late&code=y',
      '',
    ])
      statuses.push((await allot.browser().get(`/-/set-password${query}`)).status)
    assert.equal(statuses.at(-1), 429)
    assert.ok(statuses.every((status) => status === 404 || status === 429))
    assert.equal((await allot.browser().get(await linkFor(id))).status, 200)
  })
})
