import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Paged, startPages, visitorAt } from './browser.ts'

const PASSWORD = 'a long password'

describe('A form', () => {
  let allot: Paged
  before(async () => {
    allot = await startPages()
    await allot.person('ann', { password: PASSWORD })
  })
  after(() => allot.stop())

  it('is refused without the token of the visitor that it was shown to, and nothing is done', async () => {
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

  it('is refused from another site, whatever token it has', async () => {
    const ann = allot.browser()
    await ann.signIn('ann', PASSWORD)
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

  it('to sign in is refused like that, too: nobody is signed in as somebody else unawares', async () => {
    const fields = new URLSearchParams({ name: 'ann', secret: PASSWORD })
    const answer = await fetch(`${allot.base}/-/sign-in`, {
      method: 'POST',
      body: fields,
      redirect: 'manual',
    })
    assert.equal(answer.status, 403)
  })

  it('of a page that has expired leads to signing in', async () => {
    const ann = allot.browser()
    await ann.get('/-/sign-in')
    const { status, headers } = await ann.post('/-/admin/rules', { name: 'x' })
    assert.deepEqual([status, headers.get('location')], [303, '/-/sign-in'])
  })

  it('is refused when it is too large, or no form', async () => {
    const ann = allot.browser()
    await ann.get('/-/sign-in')
    assert.equal((await ann.post('/-/sign-in', { name: 'x'.repeat(1024 * 1024) })).status, 413)
    const json = { 'content-type': 'application/json' }
    assert.equal((await ann.post('/-/sign-in', {}, json)).status, 415)
  })
})

describe('A page', () => {
  let allot: Paged
  before(async () => {
    allot = await startPages()
    await allot.person('ann', { password: PASSWORD })
  })
  after(() => allot.stop())

  it('runs nothing, loads nothing from elsewhere, is framed by nobody and kept by no cache', async () => {
    const ann = allot.browser()
    await ann.signIn('ann', PASSWORD)
    for (const path of ['/', '/-/sign-in', '/-/storage/nobody', '/-/storage/ann/repositories']) {
      const { headers, text } = await ann.get(path)
      assert.equal(
        headers.get('content-security-policy'),
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      )
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('x-frame-options'), 'DENY')
      assert.equal(headers.get('referrer-policy'), 'same-origin')
      assert.doesNotMatch(text, /<script|\son\w+=|\sstyle=|javascript:/i, path)
    }
  })

  it('takes its style from a URL of its own, which has a tag', async () => {
    const { status, headers } = await allot.browser().get('/-/style.css')
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/css;charset=utf-8'])
    const again = await allot.browser().get('/-/style.css', { 'if-none-match': headers.get('etag')! })
    assert.deepEqual([again.status, again.text], [304, ''])
    assert.match((await allot.browser().get('/-/icon.svg')).headers.get('content-type')!, /^image\/svg\+xml/)
  })

  it('is asked for by GET and HEAD, and says so', async () => {
    for (const path of ['/', '/-/style.css', '/-/sign-in']) {
      const put = await fetch(allot.base + path, { method: 'PUT' })
      assert.equal(put.status, 405)
      assert.match(put.headers.get('allow')!, /^GET, HEAD/)
      const head = await fetch(allot.base + path, { method: 'HEAD', redirect: 'manual' })
      assert.equal(await head.text(), '')
      assert.ok(head.status < 400)
    }
  })

  it('is in no way of the API, nor of what a host has beside it', async () => {
    assert.equal((await allot.request('GET', '/version')).status, 200)
    assert.equal((await allot.browser().get('/-/nothing')).status, 404)
    assert.equal((await allot.browser().get('/ann')).status, 404)
    assert.equal((await allot.browser().get('/api/swagger')).status, 200)
  })

  it('finds the same cookies behind TLS, where they are bound to the host', async () => {
    const secure = await startPages({ baseUrl: 'https://git.example.test' })
    try {
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
    } finally {
      await secure.stop()
    }
  })

  it('says nothing of the inside when something fails, and the log has it', async () => {
    const told: object[] = []
    const failing = await startPages({
      log: { error: (fields) => void told.push(fields), info: () => undefined },
    })
    try {
      const { hosting } = failing.allot
      const broken = () => Promise.reject(new Error('the inside'))
      Object.assign(hosting.sessions, { find: broken })
      const browser = failing.browser()
      await browser.get('/-/style.css')
      const { status, text } = await visitorAt(failing.base).get('/', { cookie: `allot=${'x'.repeat(43)}` })
      assert.equal(status, 500)
      assert.doesNotMatch(text, /the inside/)
      assert.equal(told.length, 1)
      const [, id] = /log has it as ([\w-]+)/.exec(text)!
      assert.equal((told[0] as { requestId: string }).requestId, id)
    } finally {
      await failing.stop()
    }
  })
})
