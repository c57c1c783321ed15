import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, it } from 'node:test'
import express from 'express'
import type { OpenAllot } from '../../lib/allot.ts'
import { routes, streamRoutesFor } from '../../lib/api/index.ts'
import type { AllotOptions } from '../../lib/index.ts'
import { loginRoutes, pageRoutes } from '../../lib/web/page-routes.ts'
import { aCheckout, attempt, git, urlFor } from '../git/client.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore, type Person, peopleBefore, start, type TestServer } from '../support/test-server.ts'
import { createPageClient, startPages } from '../web/browser.ts'

/** The path of a route, with a value for each parameter. */
const filled = (path: string) => path.replaceAll(/\{\w+\}/g, '1')

describe('With requireSignIn', () => {
  const allot = madeBefore(() =>
    startPages({
      repositories: { directory: temporaryDirectory() },
      webhooks: true,
      requireSignIn: true,
    }),
  )
  const [alice] = peopleBefore(allot, 'alice')
  before(async () => {
    await allot.as(alice, 'POST', '/user/repos', { name: 'open', auto_init: true })
    await allot.as(alice, 'PATCH', '/repos/alice/open', { name: 'opened' })
  })

  it('every route of the API answers 401 to clients without credentials, but for the document', async () => {
    for (const { method, path } of routes) {
      const { status } = await fetch(allot.api + filled(path), { method })
      assert.equal(status, path === '/openapi.json' ? 200 : 401, `${method} ${path}`)
    }
  })

  it('so do git, Git LFS, packages and downloads, with a challenge, and avatars stay open', async () => {
    const all = { git: true, contents: true, lfs: true, packages: true, issues: true }
    for (const { method, path } of streamRoutesFor(all)) {
      const own = path.replace('{owner}/{repo}', 'alice/open').replace('{uuid}', randomUUID())
      const url = allot.base + own.replaceAll(/\{\w+\}/g, 'a')
      const { status, headers } = await fetch(url, { method, redirect: 'manual' })
      const expected = path.startsWith('/avatars') ? [200, false] : [401, true]
      assert.deepEqual([status, headers.has('www-authenticate')], expected, `${method} ${path}`)
    }
  })

  it('every page leads to the page to sign in at, which is open as the link that sets a password is', async () => {
    const visitor = allot.browser()
    for (const { method, path } of pageRoutes.filter(({ method }) => method === 'GET')) {
      const { status, headers } = await visitor.get(filled(path))
      assert.deepEqual(
        [status, headers.get('location')?.split('?')[0]],
        [303, '/-/sign-in'],
        `${method} ${path}`,
      )
    }
    for (const { path, auth, method } of loginRoutes)
      if (auth === 'optional' && method === 'GET') assert.ok((await visitor.get(path)).status < 500, path)
    assert.equal((await visitor.get('/-/sign-in')).status, 200)
    assert.equal((await visitor.get('/-/style.css')).status, 200)
  })

  it('signed-in users read what they read without it', async () => {
    const bob = await allot.person('bob')
    assert.equal((await allot.as(bob, 'GET', '/repos/alice/opened')).status, 200)
    const folder = await aCheckout()
    assert.equal((await attempt(folder, ['ls-remote', urlFor(allot, 'alice/opened')])).code, 128)
    assert.match(await git(folder, 'ls-remote', urlFor(allot, 'alice/opened', bob)), /refs\/heads\/main/)
    const browser = allot.browser()
    assert.equal((await browser.signIn('', bob.token)).status, 303)
    assert.equal((await browser.get('/alice/opened')).status, 200)
  })

  it('the document says that each operation needs a login', async () => {
    const { body } = await allot.request('GET', '/openapi.json')
    const { security, responses } = body.paths['/repos/{owner}/{repo}'].get
    assert.deepEqual(
      [security?.some((one: object) => Object.keys(one).length === 0) ?? false, 401 in responses],
      [false, true],
    )
  })

  it('a page at the path of a person is that of the host, where it has one', async () => {
    let pages: OpenAllot['pages'] | undefined
    const app = express()
      .use((req, res, next) => pages!(req, res, next))
      .get('/about', (_req, res) => void res.send('from the host'))
    const mounted = await start({ repositories: false, requireSignIn: true }, { mount: () => app })
    pages = mounted.allot.pages
    const visitor = createPageClient(mounted.base)
    assert.equal((await visitor.get('/about')).text, 'from the host')
    assert.equal((await visitor.get('/root')).status, 404)
    assert.equal((await visitor.get('/-/admin')).status, 303)
  })
})

describe('newRepositories', () => {
  const created = async (options: Partial<AllotOptions>) => {
    const allot = await start(options)
    const alice = await allot.person('alice')
    await allot.as(alice, 'POST', '/orgs', { username: 'acme' })
    const by = async (path: string, body: object) => (await allot.as(alice, 'POST', path, body)).body.private
    const account = (await allot.allot.accounts.byName('alice'))!
    return {
      'of a user': await by('/user/repos', { name: 'a' }),
      'of an organization': await by('/orgs/acme/repos', { name: 'a' }),
      'by the host': (await allot.allot.repositories.create(account, account, { name: 'b' })).private,
      'said to be public': await by('/user/repos', { name: 'c', private: false }),
      'said to be private': await by('/user/repos', { name: 'd', private: true }),
      'a fork of a public one': await by('/repos/alice/c/forks', { organization: 'acme' }),
    }
  }
  const said = { 'said to be public': false, 'said to be private': true, 'a fork of a public one': false }

  for (const [options, isPrivate] of [
    [{}, false],
    [{ newRepositories: 'public' }, false],
    [{ newRepositories: 'private' }, true],
  ] as const)
    it(`is what a repository is whose creator does not say it: ${JSON.stringify(options)}`, async () => {
      const unsaid = { 'of a user': isPrivate, 'of an organization': isPrivate, 'by the host': isPrivate }
      assert.deepEqual(await created(options), { ...unsaid, ...said })
    })
})

describe('repositoryCreators and organizationCreators', () => {
  const asked = async (allot: TestServer, person: Person) => {
    const owner = person.name
    const statuses: Record<string, number> = {}
    for (const [what, path, body] of [
      ['organization', '/orgs', { username: `${owner}s` }],
      ['repository', '/user/repos', { name: 'own' }],
      ['repository of an organization', '/orgs/acme/repos', { name: owner }],
      ['repository at the old path', '/org/acme/repos', { name: `${owner}2` }],
      ['fork', '/repos/root/source/forks', { name: `${owner}3` }],
    ] as const)
      statuses[what] = (await allot.as(person, 'POST', path, body)).status
    return statuses
  }
  const all = (organization: number, repository: number, fork = repository) => ({
    organization,
    repository,
    'repository of an organization': repository,
    'repository at the old path': repository,
    fork,
  })

  for (const [options, users] of [
    [{}, all(201, 201, 202)],
    [{ repositoryCreators: 'administrators' }, all(201, 403)],
    [{ organizationCreators: 'administrators' }, all(403, 201, 202)],
    [{ repositoryCreators: 'administrators', organizationCreators: 'administrators' }, all(403, 403)],
  ] as const)
    it(`decide who creates them: ${JSON.stringify(options)}`, async () => {
      const allot = await startPages({ repositories: { directory: temporaryDirectory() }, ...options })
      const { root } = allot
      await allot.as(root, 'POST', '/orgs', { username: 'acme' })
      await allot.as(root, 'POST', '/user/repos', { name: 'source', auto_init: true })
      const alice = await allot.person('alice')
      await allot.as(root, 'PUT', '/orgs/acme/members/alice')
      assert.deepEqual(await asked(allot, alice), users)
      assert.deepEqual(await asked(allot, root), { ...all(201, 201, 202), fork: 409 })
      const account = (await allot.allot.accounts.byName('alice'))!
      const byHost = await allot.allot.repositories.create(account, account, { name: 'by-the-host' })
      assert.equal(byHost.owner, alice.id)
      const bob = await allot.person('bob')
      const browser = await allot.signedIn('', bob.token)
      const { text } = await browser.get('/bob')
      assert.equal(text.includes('Create one; '), users.repository === 201)
    })
})
