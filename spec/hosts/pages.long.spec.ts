import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import { start } from '../support/test-server.ts'
import { createPageClient } from '../web/browser.ts'
import { listenerOf, type Mount, mounts } from './mounts.ts'

const PASSWORD = 'a long password'

const hosts: Readonly<Record<string, Mount>> = {
  ...mounts,
  'Express with body parsers': ({ handler, pages }) => ({
    prefix: '',
    pages: '/storage',
    listener: express()
      .use(express.json(), express.urlencoded({ extended: true }))
      .use('/storage', pages)
      .use(handler),
  }),
  'node:http at the root': (allot) => ({
    prefix: '',
    pages: '',
    listener: allot.listener({ pages: '/' }),
  }),
  'route handlers of Next': ({ fetch }) => {
    const handle = (request: Request) => fetch(request, { pages: '/storage' })
    const server = createAdaptorServer({ fetch: (request) => respondAsNext(request, handle) })
    return { prefix: '', pages: '/storage', listener: listenerOf(server) }
  },
}

/**
 * Next redirects to the path without a slash at its end, and passes what it knows of the path as a second
 * argument.
 */
const respondAsNext = (
  request: Request,
  handle: (request: Request, context: { params: Promise<unknown> }) => Promise<Response>,
): Response | Promise<Response> => {
  const { pathname, search } = new URL(request.url)
  if (/.\/$/.test(pathname))
    return new Response(null, { status: 308, headers: { location: pathname.slice(0, -1) + search } })
  return handle(request, { params: Promise.resolve({ path: pathname.split('/').slice(2) }) })
}

/** Starts a server in a host, with a browser at its pages. */
const startIn = async (host: Mount) => {
  let path = ''
  const server = await start(
    { repositories: false },
    {
      host: async (allot) => {
        const mounted = await host(allot)
        path = mounted.prefix + mounted.pages
        return mounted
      },
    },
  )
  const { origin } = new URL(server.base)
  return { ...server, path, browser: () => createPageClient(origin + path), origin }
}

describe('The pages, mounted in a host', () => {
  for (const [name, host] of Object.entries(hosts))
    it(`have links, redirects, cookies and forms below their path, and answer HEAD like GET: ${name}`, async () => {
      const { allot, path, browser, origin, root, person } = await startIn(host)
      await person('ann', { password: PASSWORD })
      const ann = browser()
      for (const [bare, query] of [
        ['', ''],
        ['?x=y', '?to=%2F%3Fx%3Dy'],
      ] as const) {
        const { status, headers } = await ann.get(path === '' ? `/${bare}` : bare)
        assert.deepEqual([status, headers.get('location')], [303, `${path}/-/sign-in${query}`], bare)
      }
      const signedIn = await ann.signIn('ann', PASSWORD)
      assert.deepEqual([signedIn.status, signedIn.headers.get('location')], [303, `${path}/`])
      const [cookie, ...others] = signedIn.headers.getSetCookie()
      assert.match(cookie!, new RegExp(`^allot=[\\w-]{43}; Path=${path || '/'}; HttpOnly;`))
      assert.deepEqual(others, [])
      const { status, text } = await ann.get(path === '' ? '/' : '')
      assert.equal(status, 200)
      const links = [...text.matchAll(/(?:href|action)="([^"#]+)"/g)].map(([, link]) => link!)
      assert.ok(links.length > 4)
      for (const link of links) assert.ok(link.startsWith(`${path}/`), link)
      const style = await ann.get('/-/style.css')
      assert.equal(style.headers.get('content-type'), 'text/css;charset=utf-8')
      const held = { 'if-none-match': style.headers.get('etag')! }
      assert.equal((await ann.get('/-/style.css', held)).status, 304)
      assert.equal((await ann.get('/-/nothing')).status, 404)
      assert.equal((await ann.post('/-/sign-out', {})).headers.get('location'), `${path}/-/sign-in`)
      assert.equal((await ann.get('/-/storage/ann')).status, 303)

      const admin = browser()
      await admin.signIn('', root.token)
      await admin.get('/-/admin/rules')
      const rule = { name: 'small', limit: '2 GiB', subject: ['size:git:lfs', 'size:assets:artifacts'] }
      assert.equal((await admin.post('/-/admin/rules', rule, { origin: 'https://evil.test' })).status, 403)
      await admin.get('/-/admin/rules')
      const made = await admin.post('/-/admin/rules', rule, { origin })
      assert.ok(made.headers.get('location')!.startsWith(`${path}/-/admin/`))
      const { items } = await allot.quota.rules.list({ offset: 0, limit: 9 })
      assert.deepEqual(
        items.map(({ subjects }) => subjects),
        [rule.subject],
      )

      const url = `${origin}${path}/-/sign-in`
      const [get, head] = [await fetch(url), await fetch(url, { method: 'HEAD' })]
      const { byteLength } = await get.arrayBuffer()
      assert.deepEqual([head.status, await head.text()], [200, ''])
      assert.equal(head.headers.get('content-length'), String(byteLength))
    })
})
