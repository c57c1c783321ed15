import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { gnupg } from '../keys/gnupg.ts'
import { generateSshKey } from '../support/keygen.ts'
import { lacks } from '../support/requirements.mjs'
import { madeBefore } from '../support/test-server.ts'
import { type PageClient, startPages, words } from './browser.ts'
import { PASSWORD, SSH_KEY } from './fixture.ts'

const CHOSEN = 'another long one'

/** Names of the fields that are marked as wrong, and described by the message. */
const markedIn = (html: string): string[] =>
  [...html.matchAll(/<(?:input|textarea)[^>]*aria-invalid[^>]*aria-describedby="failure\b[^>]*>/g)].map(
    ([tag]) => /name="([^"]*)"/.exec(tag)![1]!,
  )

describe('The password in the settings', () => {
  const allot = madeBefore(() => startPages({ login: { failures: 6 } }))

  const signedIn = async (name: string, secret = PASSWORD) => {
    const browser = allot.browser()
    assert.equal((await browser.signIn(name, secret)).status, 303)
    return browser
  }
  const change = (browser: PageClient, currentPassword: string, newPassword = CHOSEN, again = newPassword) =>
    browser.post('/-/settings/password', { currentPassword, newPassword, repeatedPassword: again })

  it('changes with the current one, ends all other sessions, keeps tokens, and is logged', async () => {
    const ann = await allot.person('ann', { password: PASSWORD })
    const [browser, other] = [await signedIn('ann'), await signedIn('ann')]
    const byToken = await signedIn('', ann.token)
    assert.match(
      words((await browser.get('/-/settings/password')).text),
      /signs you out of all other devices/,
    )
    const done = await change(browser, PASSWORD)
    assert.deepEqual([done.status, done.headers.get('location')], [303, '/-/settings/password?done=password'])
    const { status, text } = await browser.get('/-/settings/password?done=password')
    assert.equal(status, 200)
    assert.match(words(text), /The password was changed, and all other sessions have ended\. Access tokens/)
    for (const ended of [other, byToken]) assert.equal((await ended.get('/-/settings')).status, 303)
    assert.equal((await allot.as(ann, 'GET', '/user')).status, 200)
    assert.equal((await allot.browser().signIn('ann', PASSWORD)).status, 422)
    await signedIn('ann', CHOSEN)
    const { body } = await allot.as(allot.root, 'GET', '/admin/audit')
    assert.deepEqual(
      [body[0].action, body[0].subject, body[0].actor.login],
      ['password changed', 'ann', 'ann'],
    )
  })

  it('counts wrong current passwords as failed logins, also of a browser that is signed in', async () => {
    await allot.person('cleo', { password: PASSWORD })
    const browser = await signedIn('cleo')
    const statuses: number[] = []
    for (let times = 0; times < 7; times++) statuses.push((await change(browser, 'wrong')).status)
    assert.deepEqual(statuses, [422, 422, 422, 422, 422, 422, 429])
    const refused = await change(browser, PASSWORD)
    assert.equal(refused.status, 429)
    assert.match(words(refused.text), /Too many failed logins: try again in \d+ seconds/)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.equal((await allot.browser().signIn('cleo', PASSWORD)).status, 429)
  })

  it('is changed by one of two forms that are sent at once', async () => {
    await allot.person('fay', { password: PASSWORD })
    const browsers = [await signedIn('fay'), await signedIn('fay')]
    for (const browser of browsers) await browser.get('/-/settings/password')
    const chosen = ['the first long one', 'the second long one']
    const answers = await Promise.all(browsers.map((browser, at) => change(browser, PASSWORD, chosen[at]!)))
    const done = answers.map(
      ({ headers }) => headers.get('location') === '/-/settings/password?done=password',
    )
    assert.equal(done.filter(Boolean).length, 1, String(done))
    assert.equal((await browsers[done.indexOf(true)]!.get('/-/settings')).status, 200)
    await signedIn('fay', chosen[done.indexOf(true)])
  })

  it('is not asked for where there is none, and needs the scope', async () => {
    const dora = await allot.person('dora')
    const browser = await signedIn('', dora.token)
    const { text } = await browser.get('/-/settings/password')
    assert.match(words(text), /has no password yet\. An administrator can create a link/)
    assert.doesNotMatch(text, /name="newPassword"/)
    const root = await signedIn('', allot.root.token)
    assert.match(
      (await root.get('/-/settings/password')).text,
      /href="\/-\/admin\/account\?name=root">Set one/,
    )
    assert.equal((await change(browser, '')).status, 422)
    const reader = await signedIn('', await allot.scoped(dora, 'read:user'))
    assert.equal((await change(reader, PASSWORD)).status, 403)
    assert.match((await browser.get('/-/settings')).text, /settings\/password/)
    assert.doesNotMatch((await reader.get('/-/settings')).text, /settings\/password/)
  })
})

describe('The sessions in the settings', () => {
  it('are listed with their start, the newest first, and end one by one', async () => {
    const allot = await startPages()
    const ann = await allot.person('ann', { password: PASSWORD })
    const eve = await allot.person('eve', { password: PASSWORD })
    const [first, second, byToken, stranger] = [1, 2, 3, 4].map(() => allot.browser()) as [
      PageClient,
      PageClient,
      PageClient,
      PageClient,
    ]
    for (const browser of [first, second]) await browser.signIn('ann', PASSWORD)
    await byToken.signIn('', ann.token)
    await stranger.signIn(eve.name, PASSWORD)
    const { text } = await first.get('/-/account')
    assert.match(words(text), /Sessions 3 sessions/)
    assert.match(words(text), /signed in on \d{4}-\d\d-\d\d \d\d:\d\d UTC with the token spec/)
    assert.equal(text.match(/This session/g)!.length, 1)
    const idsIn = (html: string) => [...html.matchAll(/name="session" value="(\w+)"/g)].map(([, id]) => id!)
    const ids = idsIn(text)
    assert.equal(ids.length, 2)
    await stranger.get('/-/account')
    for (const session of [...ids, '', 'x', '0'.repeat(64)])
      assert.equal((await stranger.post('/-/account/sessions/end', { session })).status, 404, session)
    // The session of the second browser is the one whose id its own page does not have.
    const others = idsIn((await second.get('/-/account')).text)
    const ofSecond = ids.find((id) => !others.includes(id))!
    await first.get('/-/account')
    await first.post('/-/account/sessions/end', { session: ofSecond })
    assert.deepEqual(
      [(await second.get('/-/account')).status, (await byToken.get('/-/account')).status],
      [303, 200],
    )
    await first.get('/-/account')
    for (const session of ids.filter((id) => id !== ofSecond)) {
      const ended = await first.post('/-/account/sessions/end', { session })
      assert.equal(ended.headers.get('location'), '/-/account?done=ended')
    }
    assert.equal((await byToken.get('/-/account')).status, 303)
    assert.match(
      words((await first.get('/-/account?done=ended')).text),
      /The session has ended\. .*1 session /,
    )
  })

  it('end only with the scope of changes, one by one and all together', async () => {
    const allot = await startPages()
    const ann = await allot.person('ann', { password: PASSWORD })
    const [browser, reader] = [allot.browser(), allot.browser()]
    await browser.signIn('ann', PASSWORD)
    await reader.signIn('', await allot.scoped(ann, 'read:user'))
    // The page of a session that may only read has no button that it would refuse.
    const { text } = await reader.get('/-/account')
    assert.doesNotMatch(text, /name="session"|name="everywhere"|action="[^"]*sessions\/end"/)
    const [, session] = /name="session" value="(\w+)"/.exec((await browser.get('/-/account')).text)!
    assert.equal((await reader.post('/-/account/sessions/end', { session: session! })).status, 403)
    assert.equal((await reader.post('/-/sign-out', { everywhere: 'yes' })).status, 403)
    assert.equal((await browser.get('/-/account')).status, 200)
    assert.equal((await reader.post('/-/sign-out', {})).status, 303)
    assert.equal((await reader.get('/-/account')).status, 303)
    assert.equal((await browser.get('/-/account')).status, 200)
  })

  it('that have lost their credential are not listed', async () => {
    const allot = await startPages()
    const ann = await allot.person('ann', { password: PASSWORD })
    const [browser, other] = [allot.browser(), allot.browser()]
    await browser.signIn('ann', PASSWORD)
    await other.signIn('', ann.token)
    assert.match(words((await browser.get('/-/account')).text), /2 sessions/)
    await allot.allot.hosting.tokens.remove(ann.id, 'spec')
    assert.match(words((await browser.get('/-/account')).text), /1 session /)
  })
})

describe('The other settings of a user', () => {
  const allot = madeBefore(() => startPages({ ssh: { port: 22 } }))
  const ann = madeBefore(() => allot.person('ann', { password: PASSWORD, email: 'ann@example.test' }))
  const browser = madeBefore(() => allot.signedIn('ann', PASSWORD))

  it('show further SSH keys on further pages', async () => {
    const { id } = await allot.person('many', { password: PASSWORD })
    const field = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes])
    for (let index = 0; index < 52; index++) {
      const point = createHash('sha256').update(`key ${index}`).digest()
      const key = Buffer.concat([field(Buffer.from('ssh-ed25519')), field(point)]).toString('base64')
      await allot.allot.hosting.sshKeys.add(id, { title: `key-${index}`, key: `ssh-ed25519 ${key}` })
    }
    const own = await allot.signedIn('many', PASSWORD)
    const titles = (html: string) => [...html.matchAll(/<bdi>(key-\d+)<\/bdi>/g)].map(([, title]) => title)
    const first = (await own.get('/-/settings/keys')).text
    const [, next] = /href="([^"]*)" rel="next"/.exec(first)!
    assert.equal(next, '/-/settings/keys?ssh=2')
    const second = (await own.get(next)).text
    assert.deepEqual([titles(first).length, titles(second).length], [50, 2])
    assert.equal(new Set([...titles(first), ...titles(second)]).size, 52)
    assert.match(words(second), /SSH keys 52 keys .* No GPG keys/)
    const both = (await own.get('/-/settings/keys?ssh=2&gpg=3')).text
    assert.deepEqual(
      [...both.matchAll(/href="([^"]*)" rel="prev"/g)].map(([, to]) => to),
      ['/-/settings/keys?gpg=3', '/-/settings/keys?ssh=2'],
    )
  })

  it('list SSH keys, add them, and delete them after a question', async () => {
    const add = (title: string, key: string) => browser.post('/-/settings/keys/ssh', { title, key })
    assert.match(words((await browser.get('/-/settings/keys')).text), /No SSH keys .* No GPG keys/)
    assert.equal((await add('laptop', `${SSH_KEY} ann@laptop\n`)).status, 303)
    const { text } = await browser.get('/-/settings/keys')
    assert.match(words(text), /laptop ssh-ed25519 SHA256:[\w+/]{43} · added on/)
    const titled = await add('laptop', generateSshKey('ed25519').key)
    assert.match(words(titled.text), /Another key of yours has this title\./)
    assert.deepEqual(markedIn(titled.text), ['title'])
    const [[, id]] = [...text.matchAll(/name="id" value="(\d+)"/g)] as [RegExpMatchArray]
    const fields = { kind: 'ssh', id: id!, name: 'laptop' }
    assert.match(
      words((await browser.post('/-/settings/keys/delete', fields)).text),
      /Delete this key\? laptop/,
    )
    assert.equal((await allot.as(ann, 'GET', '/user/keys')).body.length, 1)
    const eve = await allot.person('eve', { password: PASSWORD })
    const stranger = await allot.signedIn(eve.name, PASSWORD)
    const confirmed = { ...fields, confirmed: 'yes' }
    assert.equal((await stranger.post('/-/settings/keys/delete', confirmed)).status, 403)
    const deleted = await browser.post('/-/settings/keys/delete', confirmed)
    assert.equal(deleted.headers.get('location'), '/-/settings/keys?done=deleted')
    assert.deepEqual((await allot.as(ann, 'GET', '/user/keys')).body, [])
    for (const gone of [id!, '0', 'x', ''])
      assert.equal((await browser.post('/-/settings/keys/delete', { ...confirmed, id: gone })).status, 404)
  })

  it('list GPG keys with their addresses, add them, and delete them', { skip: lacks('gpg') }, async () => {
    const gpg = gnupg()
    try {
      const fingerprint = gpg.generate('Ann <ann@example.test>')
      const armored = gpg.armored(fingerprint)
      const { text: form } = await browser.get('/-/settings/keys')
      assert.match(form, /The output of <code>gpg --armor --export<\/code>, with your address\./)
      assert.equal((await browser.post('/-/settings/keys/gpg', { armored })).status, 303)
      const { text } = await browser.get('/-/settings/keys')
      assert.match(words(text), new RegExp(`${fingerprint.slice(-16)} ann@example\\.test · made on`))
      assert.equal((await browser.post('/-/settings/keys/gpg', { armored })).status, 422)
      const [[, id]] = [...text.matchAll(/name="id" value="(\d+)"/g)] as [RegExpMatchArray]
      const fields = { kind: 'gpg', id: id!, confirmed: 'yes' }
      assert.equal((await browser.post('/-/settings/keys/delete', fields)).status, 303)
      assert.deepEqual((await allot.as(ann, 'GET', '/user/gpg_keys')).body, [])
    } finally {
      gpg.end()
    }
  })

  it('need the scopes that the API asks for', async () => {
    const reader = await allot.signedIn('', await allot.scoped(ann, 'read:user'))
    for (const [path, form] of [
      ['/-/settings/keys', '/-/settings/keys/ssh'],
      ['/-/settings/keys', '/-/settings/keys/gpg'],
      ['/-/settings/keys', '/-/settings/keys/delete'],
    ] as const) {
      assert.equal((await reader.get(path)).status, 200)
      assert.equal((await reader.post(form, { email: 'x', title: 'x', key: 'x' })).status, 403, form)
    }
    const other = await allot.signedIn('', await allot.scoped(ann, 'read:repository'))
    for (const path of ['keys', 'password'])
      assert.equal((await other.get(`/-/settings/${path}`)).status, 403)
  })
})
