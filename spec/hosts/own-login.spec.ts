import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { aCheckout, git, urlFor } from '../git/client.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { start } from '../support/test-server.ts'
import { createPageClient } from '../web/browser.ts'
import { mounts } from './mounts.ts'

describe('The login of a host signs in to the pages and the API, and tokens to git', () => {
  for (const [name, mount] of Object.entries(mounts))
    it(`in ${name}`, async (test) => {
      let pages = ''
      const server = await start(
        {
          repositories: { directory: temporaryDirectory() },
          authenticate: ({ headers: { cookie = '' } }) =>
            cookie.includes('sid=anna') ? { id: '4711', username: 'anna' } : undefined,
          pages: { loginUrl: '/login?next={to}' },
        },
        {
          async host(allot) {
            const mounted = await mount(allot)
            pages = mounted.prefix + mounted.pages
            return mounted
          },
        },
      )
      test.after(server.stop)
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
      await git(
        await aCheckout(),
        'push',
        '--quiet',
        urlFor(server, 'anna/demo', { name: 'anna', token }),
        'main',
      )
      const { body } = await server.request('GET', '/repos/anna/demo', { token })
      assert.equal(body.empty, false)
    })
})
