import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import express, { type Response } from 'express'
import type { AllotOptions } from '../../lib/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { type Mount, start } from '../support/test-server.ts'
import { wrappedGit } from '../support/wrapped-git.ts'
import { createPageClient, startPages } from './browser.ts'

/** Starts a host that does something with each response before its pages, and has a page of its own. */
const startHost = (before: (res: Response) => void = () => undefined) => {
  const mount: Mount = (_, { pages }) =>
    express()
      .use((_req, res, next) => {
        before(res)
        next()
      }, pages)
      .get('/ann', (_req, res) => void res.send('from the host'))
  return start({ repositories: false }, { mount })
}

describe('The pages, mounted in a host', () => {
  it('leave other paths to the host', async () => {
    const allot = await startHost()
    assert.equal((await createPageClient(allot.base).get('/ann')).text, 'from the host')
    assert.equal((await createPageClient(allot.base).get('/-/nothing')).status, 404)
  })

  it('keep the cookies that the host has set', async () => {
    const allot = await startHost((res) => res.cookie('theme', 'dark'))
    const names = ({ headers }: { headers: Headers }) =>
      headers.getSetCookie().map((cookie) => cookie.split('=', 1)[0])
    const browser = createPageClient(allot.base)
    assert.deepEqual(names(await browser.get('/-/sign-in')), ['theme', 'allot'])
    const signedIn = await browser.post('/-/sign-in', { name: '', secret: allot.root.token })
    assert.deepEqual([signedIn.status, names(signedIn)], [303, ['theme', 'allot']])
  })

  it('refuse the form of another site, also where the host lets pages of every origin read its responses', async () => {
    const allot = await startHost((res) => res.setHeader('Access-Control-Allow-Origin', '*'))
    const browser = createPageClient(allot.base)
    await browser.get('/-/sign-in')
    const form = { name: '', secret: allot.root.token }
    const { status, text } = await browser.post('/-/sign-in', form, { origin: 'https://elsewhere.test' })
    assert.equal(status, 403)
    assert.match(text, /sent by another site/)
  })

  for (const baseUrl of ['http://git.example.test', 'https://git.example.test'])
    it(`keep the sessions of two mounts of one origin apart: ${baseUrl}`, async () => {
      const cookies = await Promise.all(
        ['/one', '/two'].map(async (path) => {
          const allot = await start(
            { repositories: false, baseUrl: `${baseUrl}${path}` },
            { mount: (_, { pages }) => express().use(path, pages) },
          )
          const { headers } = await createPageClient(`${allot.base}${path}`).get('/-/sign-in')
          await allot.stop()
          const [pair, scope] = headers.getSetCookie()[0]!.split('; ')
          return `${pair!.split('=')[0]} ${scope}`
        }),
      )
      assert.equal(new Set(cookies).size, 2, cookies.join(', '))
    })

  it('are as secure as the trusted proxy in front that speaks https: its cookie, its forms and its links', async () => {
    const allot = await startPages({ trustedProxies: 1 })
    const proxy = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'git.example.test' }
    const browser = allot.browser()
    const { headers } = await browser.get('/-/sign-in', proxy)
    assert.match(headers.getSetCookie()[0]!, /^__Host-allot=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
    const form = { name: '', secret: allot.root.token }
    const from = (origin: string) => browser.post('/-/sign-in', form, { ...proxy, origin })
    assert.equal((await from('https://git.example.test')).status, 303)
    assert.equal((await from('https://elsewhere.test')).status, 403)
    const page = await browser.get('/root', proxy)
    assert.ok(page.text.replaceAll('<wbr/>', '').includes(' https://git.example.test/api/v1/'), page.text)
  })

  it('name the address of the API, which is not below them, in the command that downloads a package', async () => {
    const allot = await start(
      { baseUrl: 'http://git.example.test' },
      { mount: (_, { pages }) => express().use('/console', pages) },
    )
    const version = { owner: 'root', type: 'generic', name: 'tools', version: '1' }
    const content = Readable.from([Buffer.from('built')])
    const viewer = { id: allot.root.id, admin: true }
    await allot.allot.hosting.packages.add(viewer, version, 'built.txt', content, undefined)
    const root = createPageClient(`${allot.base}/console`)
    const { text } = await root.get('/root/-/packages/generic/tools/1')
    assert.match(
      text.replaceAll('<wbr/>', ''),
      / http:\/\/git\.example\.test\/api\/packages\/root\/generic\/tools\/1\/built\.txt<\/code>/,
    )
  })

  it('link items to their `html_url` when the host shows them', async () => {
    const allot = await startPages({ pages: { links: true }, baseUrl: 'http://git.example.test' })
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
      'ann',
      'ann/demo/actions/runs/7',
      'ann/demo/issues/3',
      'ann/-/packages/npm/%22%3E%3Cb%3E/1',
    ])
      assert.ok(text.includes(`href="http://git.example.test/${path}"`), path)
  })
})

describe('The pages of a host with templates for `html_url`', () => {
  const HOST = 'https://code.example.org'

  it('are served where the host says that they are mounted, but not the kinds that it has a template for', async () => {
    const shown = async (htmlUrls: AllotOptions['htmlUrls']) => {
      const mount: Mount = (handler, { pages }) =>
        express()
          .use('/people', pages)
          .use(handler)
          .use((_req, res) => void res.status(404).send('of the host'))
      const allot = await start({ repositories: false, htmlUrls }, { mount })
      const account = (await allot.allot.accounts.byName('root'))!
      await allot.allot.repositories.create(account, account, { name: 'demo' })
      const owner = (await allot.as(allot.root, 'GET', '/users/root')).body.html_url
      const repository = (await allot.as(allot.root, 'GET', '/repos/root/demo')).body.html_url
      const statusOf = async (path: string) => (await fetch(allot.base + path)).status
      return {
        urls: [owner, repository].map((url) => url.replace(allot.base, '')),
        statuses: [await statusOf('/people/root'), await statusOf('/people/root/demo')],
      }
    }
    assert.deepEqual(await shown({ pages: '/people' }), {
      urls: ['/people/root', '/people/root/demo'],
      statuses: [200, 200],
    })
    // The path of the host's own pages ends like that of Allot's.
    assert.deepEqual(await shown({ user: '/people/{username}' }), {
      urls: ['/people/root', '/root/demo'],
      statuses: [404, 200],
    })
  })

  it('link to its pages, below any path, and have no link where the URL of the service is needed and unknown', async () => {
    const htmlUrls = {
      user: `${HOST}/people/{username}`,
      organization: `${HOST}/teams/{org}`,
      repository: `${HOST}/{owner}/{repo}/tree`,
      artifact: `${HOST}/{owner}/{repo}/builds/{run}?name={name}&key={key}`,
    }
    const allot = await start(
      { repositories: false, pages: { links: true }, htmlUrls },
      { mount: (_, { pages }) => express().use('/storage', pages) },
    )
    const { accounts, organizations, repositories, ledger } = allot.allot
    const account = (await accounts.byName('root'))!
    await repositories.create(account, account, { name: 'demo' })
    await organizations.create(account.id, { name: 'acme' })
    const file = { repository: 'root/demo', name: '"><b>', size: 5 }
    await ledger.put({ ...file, kind: 'artifacts', key: 'a&b', run: 7 })
    await ledger.put({ ...file, kind: 'attachments', key: 't', on: 'issue', index: 3 })
    const root = createPageClient(`${allot.base}/storage`)
    await root.signIn('', allot.root.token)
    const linksOf = async (path: string) =>
      [...(await root.get(path)).text.matchAll(/<a (?:class="[^"]*" )?href="(http[^"]*)">/g)].map(
        ([, url]) => url,
      )
    const artifact = `${HOST}/root/demo/builds/7?name=%22%3E%3Cb%3E&amp;key=a%26b`
    assert.deepEqual(await linksOf('/'), [`${HOST}/people/root`, artifact])
    assert.deepEqual(await linksOf('/-/storage/acme'), [`${HOST}/teams/acme`])
    assert.deepEqual(await linksOf('/-/storage/root/repositories/demo'), [`${HOST}/root/demo/tree`])
    assert.deepEqual(await linksOf('/-/storage/root/artifacts'), [`${HOST}/people/root`, artifact])
    assert.deepEqual(await linksOf('/-/storage/root/attachments'), [`${HOST}/people/root`])
  })
})

describe('The form of a path', () => {
  it('redirects a path that ends with a slash to the page, and not to another server', async () => {
    const allot = await startPages()
    const get = (path: string) => fetch(allot.base + path, { redirect: 'manual' })
    const { status, headers } = await get(`/${allot.root.name}/?tab=1`)
    assert.deepEqual([status, headers.get('location')], [301, `/${allot.root.name}?tab=1`])
    assert.equal((await get('//other.test/')).status, 404)
  })
})

describe('The page of a repository', () => {
  it('is served where the share of a client is one git command, and each takes long', async () => {
    // Longer than a command waits for another of the same client.
    const slow = wrappedGit('case "$*" in *for-each-ref*) sleep 1.6;; esac')
    const repositories = { directory: temporaryDirectory(), git: slow }
    const allot = await startPages({ repositories, contents: { maxConcurrent: 1 } })
    const { status } = await allot.as(allot.root, 'POST', '/user/repos', { name: 'app', auto_init: true })
    assert.equal(status, 201)
    assert.equal((await allot.browser().get(`/${allot.root.name}/app`)).status, 200)
  })
})
