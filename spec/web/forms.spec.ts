import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { AllotError, invalid, invalidMember } from '../../lib/errors.ts'
import { errorExamples } from '../../lib/http/failure.ts'
import { failureView } from '../../lib/web/document.tsx'
import { messageOf, refusalOf } from '../../lib/web/parts/labels.ts'
import { madeBefore } from '../support/test-server.ts'
import { createPageClient, startPages, words } from './browser.ts'
import { PASSWORD, startFixture } from './fixture.ts'

describe('A form', () => {
  const allot = madeBefore(() => startPages())
  before(async () => {
    await allot.person('ann', { password: PASSWORD })
  })

  it('is refused without the CSRF token of its own browser session', async () => {
    const [ann, other] = [allot.browser(), allot.browser()]
    await ann.signIn('ann', PASSWORD)
    await ann.get('/')
    await other.get('/-/sign-in')
    const foreign = /name="form" value="([^"]*)"/.exec((await other.get('/-/sign-in')).text)![1]!
    for (const form of ['', 'x', foreign, `${foreign}x`]) {
      const { status, text } = await ann.post('/-/sign-out', { form })
      assert.equal(status, 403)
      assert.match(text, /This form has expired/)
    }
    assert.equal((await ann.get('/')).status, 200)
  })

  it('is refused from another site, even with a valid token', async () => {
    const ann = await allot.signedIn('ann', PASSWORD)
    await ann.get('/')
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.test' },
      { origin: 'null' },
      { origin: allot.base.replace(/\d+$/, '1') },
    ]) {
      const { status, text } = await ann.post('/-/sign-out', {}, headers as Record<string, string>)
      assert.equal(status, 403, JSON.stringify(headers))
      assert.match(text, /This form was sent by another site\./)
    }
    assert.equal((await ann.get('/')).status, 200)
    assert.equal((await ann.post('/-/sign-out', {}, { origin: allot.base })).status, 303)
  })

  it('to sign in is refused without a CSRF token, so that no site can sign a browser in to another account', async () => {
    const fields = new URLSearchParams({ name: 'ann', secret: PASSWORD })
    const answer = await fetch(`${allot.base}/-/sign-in`, {
      method: 'POST',
      body: fields,
      redirect: 'manual',
    })
    assert.equal(answer.status, 403)
  })

  it('redirects to the sign-in page when the session has expired, which says that nothing was saved', async () => {
    const ann = allot.browser()
    await ann.get('/-/sign-in')
    const { status, headers } = await ann.post('/-/admin/rules', { name: 'x' })
    assert.deepEqual([status, headers.get('location')], [303, '/-/sign-in?ended=yes'])
    const tab = await allot.signedIn('ann', PASSWORD)
    const [, opened = ''] = /name="form" value="([^"]*)"/.exec((await tab.get('/-/account')).text)!
    await tab.post('/-/sign-out', {})
    const late = await tab.post('/-/account/tokens', { form: opened, name: 'late', scope: 'read:user' })
    assert.deepEqual([late.status, late.headers.get('location')], [303, '/-/sign-in?ended=yes'])
    const { text } = await ann.get('/-/sign-in?ended=yes')
    assert.match(text, /Your session has ended, and the form was not saved\./)
    assert.doesNotMatch((await ann.get('/-/sign-in')).text, /has ended/)
  })

  it('about what is hidden is answered as one about what does not exist', async () => {
    const { hosting } = allot.allot
    await hosting.organizations.create(allot.root.id, { name: 'hidden', visibility: 'private' })
    const ann = await allot.signedIn('ann', PASSWORD)
    const answers = []
    for (const name of ['hidden', 'absent']) {
      await ann.get('/-/account')
      const form = { item: 'repositories:1', confirmed: 'yes' }
      const sent = await ann.post(`/-/storage/${name}/remove`, form)
      answers.push([sent.status, words(sent.text).replaceAll(name, '#')])
    }
    assert.deepEqual(answers[0], answers[1])
    assert.equal(answers[0]![0], 404)
  })

  it('is refused when it is too large or not URL-encoded', async () => {
    const ann = allot.browser()
    await ann.get('/-/sign-in')
    assert.equal((await ann.post('/-/sign-in', { name: 'x'.repeat(1024 * 1024) })).status, 413)
    const fields = Object.fromEntries(Array.from({ length: 5001 }, (_, index) => [`field${index}`, '']))
    assert.equal((await ann.post('/-/sign-in', fields)).status, 413)
    const json = { 'content-type': 'application/json' }
    assert.equal((await ann.post('/-/sign-in', {}, json)).status, 415)
  })
})

describe('A page', () => {
  const allot = madeBefore(() => startPages())
  before(async () => {
    await allot.person('ann', { password: PASSWORD })
  })

  it('sends headers that forbid inline scripts, other origins, framing and caching', async () => {
    const ann = await allot.signedIn('ann', PASSWORD)
    for (const path of ['/', '/-/sign-in', '/-/storage/nobody', '/-/storage/ann/repositories']) {
      const { headers, text } = await ann.get(path)
      assert.equal(
        headers.get('content-security-policy'),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      )
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('x-frame-options'), 'DENY')
      assert.equal(headers.get('referrer-policy'), 'same-origin')
      assert.doesNotMatch(
        text.replace('<script src="/-/script.js" defer></script>', ''),
        /<script|\son\w+=|\sstyle=|javascript:/i,
        path,
      )
    }
  })

  it('has a stylesheet and an icon that browsers revalidate by their ETag', async () => {
    const { status, headers } = await allot.browser().get('/-/style.css')
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/css;charset=utf-8'])
    const again = await allot.browser().get('/-/style.css', { 'if-none-match': headers.get('etag')! })
    assert.deepEqual([again.status, again.text], [304, ''])
    assert.match((await allot.browser().get('/-/icon.svg')).headers.get('content-type')!, /^image\/svg\+xml/)
  })

  it('answers 405 with the allowed methods to other methods than GET and HEAD', async () => {
    for (const path of ['/', '/-/style.css', '/-/sign-in']) {
      const put = await fetch(allot.base + path, { method: 'PUT' })
      assert.equal(put.status, 405)
      assert.match(put.headers.get('allow')!, /^GET, HEAD/)
      const head = await fetch(allot.base + path, { method: 'HEAD', redirect: 'manual' })
      assert.equal(await head.text(), '')
      assert.ok(head.status < 400)
    }
  })

  it('leads from the address of a form, opened as a page, to the page with the form', async () => {
    const { status, text } = await allot.browser().get('/-/account/tokens')
    assert.equal(status, 405)
    assert.match(text, /This address only takes forms: go back to the page with the form\./)
  })

  it('does not shadow the API, nor answer other paths', async () => {
    assert.equal((await allot.request('GET', '/version')).status, 200)
    assert.equal((await allot.browser().get('/-/nothing')).status, 404)
    assert.equal((await allot.browser().get('/ann/website/none')).status, 404)
    assert.equal((await allot.browser().get('/api/swagger')).status, 200)
  })

  it('binds its cookie to the host behind TLS', async () => {
    const secure = await startPages({ baseUrl: 'https://git.example.test' })
    await secure.person('ann', { password: PASSWORD })
    const ann = secure.browser()
    const { headers } = await ann.signIn('ann', PASSWORD)
    assert.match(
      headers.get('set-cookie')!,
      /^__Host-allot=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=\d+$/,
    )
    const { status } = await ann.get('/')
    assert.equal(status, 200)
    const origin = { origin: 'https://git.example.test' }
    assert.equal((await ann.post('/-/sign-out', {}, { origin: secure.base })).status, 403)
    assert.equal((await ann.post('/-/sign-out', {}, origin)).status, 303)
  })

  it('logs an internal error under an id, and shows the id without the error', async () => {
    const logged: object[] = []
    const failing = await startPages({
      log: { error: (fields) => void logged.push(fields), info: () => undefined },
    })
    const { hosting } = failing.allot
    const broken = () => Promise.reject(new Error('secret detail'))
    Object.assign(hosting.sessions, { find: broken })
    const browser = failing.browser()
    await browser.get('/-/style.css')
    const { status, text } = await createPageClient(failing.base).get('/', {
      cookie: `allot=${'x'.repeat(43)}`,
    })
    assert.equal(status, 500)
    assert.doesNotMatch(text, /secret detail/)
    assert.equal(logged.length, 1)
    const [, id] = /log has it as ([\w-]+)/.exec(text)!
    assert.equal((logged[0] as { requestId: string }).requestId, id)
  })
})

describe('The page of a failure', () => {
  it('has a title for each status that an error has', () => {
    for (const status of Object.keys(errorExamples).map(Number))
      if (status !== 401) assert.notEqual(failureView(status, '').title, 'Request failed', `${status}`)
  })
})

describe('A search field', () => {
  const WORDS = Array.from({ length: 17 }, (_, index) => String.fromCharCode(97 + index)).join(' ')
  const TEXTS = [WORDS, 'x'.repeat(5000), '!', ' ', '\0', '\u{10ffff}', '%', `"'<>&`]

  it('keeps what was entered beside the message when the search is refused, whatever it is', async () => {
    const allot = await startFixture()
    const browser = await allot.signedIn('root', PASSWORD)
    for (const [path, name, refused] of [
      ['/-/admin/owners', 'q', []],
      ['/-/admin/audit', 'subject', []],
      ['/-/admin/audit', 'actor', []],
      ['/-/storage/ann/usage', 'q', []],
      ['/-/storage/ann/usage', 'repository', []],
      ['/-/storage/ann/repositories', 'q', []],
      ['/ann/website/issues', 'q', [WORDS]],
    ] as const)
      for (const text of TEXTS) {
        const page = await browser.get(`${path}?${new URLSearchParams({ [name]: text })}`)
        const isRefused = refused.some((one) => one === text)
        assert.equal(page.status, isRefused ? 422 : 200, `${path}: ${text}`)
        const [field] = new RegExp(`<input[^>]* name="${name}"[^>]*>`).exec(page.text)!
        assert.equal(field.includes('aria-invalid'), isRefused, `${path}: ${text}`)
        if (!isRefused) continue
        assert.ok(field.includes(`value="${text}"`), field)
        assert.match(words(page.text), /Expected at most 16 different words, got 17\./)
      }
  })
})

describe('A field that was refused', () => {
  it('is the one that the error says, named by its label where the field does not show', () => {
    for (const [error, field, problem, message] of [
      [
        invalidMember('fullName', 'must be short'),
        'fullName',
        'must be short',
        'Display name: must be short',
      ],
      [
        invalidMember('groups.a.rules: b[1].rules', 'c is named twice'),
        'rules',
        'c is named twice',
        'Rules: c is named twice',
      ],
      [invalidMember('subjects[0]', 'x is unknown'), 'subjects', 'x is unknown', 'Subjects: x is unknown'],
      [invalidMember('password', 'is short'), 'newPassword', 'is short', 'New password: is short'],
      [new AllotError('conflict', 'it exists', { field: 'name' }), 'name', 'it exists', 'Name: it exists'],
      [invalidMember('other', 'it is wrong'), undefined, 'other: it is wrong', 'other: it is wrong'],
      // The message alone says nothing about fields.
      [invalid('limit: it is wrong'), undefined, 'limit: it is wrong', 'limit: it is wrong'],
    ] as const) {
      const refusal = refusalOf(error, { password: 'newPassword' })
      assert.deepEqual(refusal, { field, problem })
      assert.equal(messageOf(refusal), message)
    }
  })

  it('is known of every error of the services whose message begins with its name', () => {
    const lib = fileURLToPath(new URL('../../lib', import.meta.url))
    const loose = readdirSync(lib, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file))
      .flatMap((file) =>
        [
          ...readFileSync(join(lib, file), 'utf8').matchAll(/\binvalid\(\s*['`"](?:\w+|\$\{member\}): .*/g),
        ].map(([call]) => `${file}: ${call}`),
      )
    assert.deepEqual(loose, [])
  })
})
