import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { refuseOver } from '../../lib/index.ts'
import { aCheckout, attempt, commit, git, urlFor } from '../git/client.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { start } from '../support/test-server.ts'
import { createPageClient } from '../web/browser.ts'
import { mounts } from './mounts.ts'

describe('The login of a host signs in to the pages and the API, tokens to git, and what does not fit is refused', () => {
  for (const [name, mount] of Object.entries(mounts))
    it(`in ${name}`, async () => {
      let pages = ''
      const server = await start(
        {
          repositories: { directory: temporaryDirectory() },
          authenticate: ({ headers: { cookie = '' } }) =>
            cookie.includes('sid=anna') ? { id: '4711', username: 'anna' } : undefined,
          pages: { loginUrl: '/login?next={to}' },
          quota: { defaultTotal: 200_000 },
          onBeforeStore: refuseOver(),
        },
        {
          async host(allot) {
            const mounted = await mount(allot)
            pages = mounted.prefix + mounted.pages
            return mounted
          },
        },
      )
      const cookie = { cookie: 'sid=anna' }
      const { origin } = new URL(server.base)
      const anonymous = await fetch(`${origin}${pages}/-/settings`, { redirect: 'manual' })
      const back = encodeURIComponent(`${pages}/-/settings`)
      assert.deepEqual([anonymous.status, anonymous.headers.get('location')], [303, `/login?next=${back}`])
      const made = await server.request('POST', '/user/repos', { headers: cookie, body: { name: 'demo' } })
      assert.equal(made.status, 201)
      const browser = createPageClient(origin + pages)
      await browser.get('/-/account', cookie)
      const fields = { name: 'laptop', scope: 'write:repository' }
      // The page has cookies of its own beside that of the host.
      const headers = { cookie: `${browser.cookie}; sid=anna` }
      const { status, text } = await browser.post('/-/account/tokens', fields, headers)
      assert.equal(status, 200)
      const token = /\b[0-9a-f]{40}\b/.exec(text)![0]
      const checkout = await aCheckout()
      const url = urlFor(server, 'anna/demo', { name: 'anna', token })
      await git(checkout, 'push', '--quiet', url, 'main')
      const { body } = await server.request('GET', '/repos/anna/demo', { token })
      assert.equal(body.empty, false)
      const large = randomBytes(200_000)
      const content = large.toString('base64')
      const put = { token, body: { content, message: 'large' } }
      const refused = await server.request('POST', '/repos/anna/demo/contents/large', put)
      assert.equal(refused.status, 413)
      assert.match(refused.body.message, /^nothing was stored: this needs 196/)
      await commit(checkout, { large })
      const { code, err } = await attempt(checkout, ['push', url, 'main'])
      assert.equal(code, 1)
      assert.match(err, /^remote: nothing was stored: this needs 196/m)
    })
})
