import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { describe, it } from 'node:test'
import express from 'express'
import Koa from 'koa'
import type { OpenAllot } from '../../lib/allot.ts'
import { start } from '../support/test-server.ts'
import { createPageClient } from './browser.ts'

const PASSWORD = 'a long password'

/** Host frameworks with the pages mounted at `/storage`. */
const hosts: Readonly<Record<string, (page: OpenAllot['pages']) => RequestListener>> = {
  Express: (page) => express().use('/storage', page),
  'Express with a body parser': (page) =>
    express()
      .use(express.urlencoded({ extended: true }))
      .use('/storage', page),
  'node:http under a prefix': (page) => (req, res) => {
    if (!/^\/storage(?:$|[/?])/.test(req.url ?? '')) return void res.writeHead(404).end()
    Object.assign(req, { originalUrl: req.url, url: req.url!.slice('/storage'.length) })
    page(req, res)
  },
  Koa: (page) => {
    const app = new Koa()
    app.use((context) => {
      context.respond = false
      const { req, res } = context
      Object.assign(req, { originalUrl: req.url, url: req.url!.replace(/^\/storage/, '') })
      return new Promise((resolve) => {
        res.once('close', resolve)
        page(req, res)
      })
    })
    return app.callback() as RequestListener
  },
}

describe('The pages, mounted in a host', () => {
  for (const [name, host] of Object.entries(hosts))
    it(`have links, redirects and cookies below the mount path: ${name}`, async () => {
      let page: OpenAllot['pages'] | undefined
      const allot = await start(
        { repositories: false },
        { mount: () => host((req, res, next) => page!(req, res, next)) },
      )
      page = allot.allot.pages
      try {
        await allot.person('ann', { password: PASSWORD })
        const ann = createPageClient(`${allot.base}/storage`)
        for (const bare of ['', '/', '?x=y']) {
          const { status, headers } = await ann.get(bare)
          assert.deepEqual([status, headers.get('location')], [303, '/storage/-/sign-in'], bare)
        }
        const signedIn = await ann.signIn('ann', PASSWORD)
        assert.equal(signedIn.headers.get('location'), '/storage/')
        assert.match(signedIn.headers.get('set-cookie')!, /; Path=\/storage;/)
        for (const bare of ['', '/']) {
          const { status, text } = await ann.get(bare)
          assert.equal(status, 200)
          const links = [...text.matchAll(/(?:href|action)="([^"#]+)"/g)].map(([, link]) => link!)
          assert.ok(links.length > 4)
          for (const link of links) assert.match(link, /^\/storage\//)
        }
        assert.equal((await ann.get('/-/style.css')).status, 200)
        assert.equal((await ann.post('/-/sign-out', {})).headers.get('location'), '/storage/-/sign-in')
        assert.equal((await ann.get('/')).status, 303)
      } finally {
        await allot.stop()
      }
    })

  it('leave other paths to the host', async () => {
    let page: OpenAllot['pages'] | undefined
    const app = express()
      .use((req, res, next) => page!(req, res, next))
      .get('/ann', (_req, res) => void res.send('from the host'))
    const allot = await start({ repositories: false }, { mount: () => app })
    page = allot.allot.pages
    try {
      assert.equal((await createPageClient(allot.base).get('/ann')).text, 'from the host')
      assert.equal((await createPageClient(allot.base).get('/-/nothing')).status, 404)
    } finally {
      await allot.stop()
    }
  })

  it('link items to their `html_url` when the host shows them', async () => {
    let page: OpenAllot['pages'] | undefined
    const allot = await start(
      { repositories: false, pages: { links: true }, baseUrl: 'http://git.example.test' },
      { mount: () => (req, res) => page!(req, res) },
    )
    page = allot.allot.pages
    try {
      const ann = await allot.person('ann')
      const { hosting, ledger } = allot.allot
      const account = (await hosting.accounts.byId(ann.id))!
      await hosting.repositories.create(account, account, { name: 'demo' })
      const repository = 'ann/demo'
      await ledger.put({ kind: 'artifacts', key: 'a', repository, name: 'built', size: 5, run: 7 })
      await ledger.put({
        kind: 'attachments',
        key: 't',
        repository,
        name: 'seen',
        size: 4,
        on: 'issue',
        index: 3,
      })
      await ledger.put({
        kind: 'packages',
        key: 'p',
        owner: 'ann',
        name: '"><b>',
        size: 3,
        type: 'npm',
        version: '1',
      })
      const browser = createPageClient(allot.base)
      await browser.signIn('', ann.token)
      const { text } = await browser.get('/')
      for (const path of [
        'ann/demo/actions/runs/7',
        'ann/demo/issues/3',
        'ann/-/packages/npm/%22%3E%3Cb%3E/1',
      ])
        assert.ok(text.includes(`href="http://git.example.test/${path}"`), path)
    } finally {
      await allot.stop()
    }
  })
})

describe("The pages with the host's own login", () => {
  it('show the user that the host names, have no sign-in page, and check CSRF tokens', async () => {
    let page: OpenAllot['pages'] | undefined
    const allot = await start(
      {
        repositories: false,
        authenticate: (req) => {
          const username = req.headers['x-user']
          return typeof username === 'string' ? { username, admin: username === 'chief' } : null
        },
      },
      { mount: () => (req, res) => page!(req, res) },
    )
    page = allot.allot.pages
    try {
      const chief = { 'x-user': 'chief' }
      const browser = createPageClient(allot.base)
      assert.match((await browser.get('/', { 'x-user': 'ann' })).text, /<h1>Storage of ann<\/h1>/)
      const anonymous = await browser.get('/')
      assert.equal(anonymous.status, 403)
      assert.match(anonymous.text, /Sign in first\./)
      assert.equal((await browser.get('/-/sign-in')).status, 404)
      const { text } = await browser.get('/-/admin/rules', chief)
      assert.doesNotMatch(text, /Sign out/)
      const rule = { name: 'small', limit: '5', subject: 'size:all' }
      assert.equal((await browser.post('/-/admin/rules', { ...rule, form: 'x' }, chief)).status, 403)
      const other = createPageClient(allot.base)
      await other.get('/-/admin/rules', chief)
      await browser.get('/-/admin/rules', chief)
      assert.equal((await browser.post('/-/admin/rules', rule, { 'x-user': 'ann' })).status, 403)
      await browser.get('/-/admin/rules', chief)
      assert.equal((await browser.post('/-/admin/rules', rule, chief)).status, 303)
      assert.equal((await allot.allot.quota.rules.list({ offset: 0, limit: 9 })).total, 1)
    } finally {
      await allot.stop()
    }
  })
})
