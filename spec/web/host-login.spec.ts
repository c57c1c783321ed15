import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import type { AllotOptions } from '../../lib/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { startPages, words } from './browser.ts'

/** A session cookie of the host, `sid=NAME`; chief administers. */
const authenticate = ({ headers: { cookie = '' } }: IncomingMessage) => {
  const id = /\bsid=(\w+)/.exec(cookie)?.[1]
  return id === undefined ? undefined : { id, admin: id === 'chief' }
}

const CHIEF = { cookie: 'sid=chief' }

const startHost = async (options: Partial<AllotOptions> = {}) => {
  const host = await startPages({
    repositories: { directory: temporaryDirectory() },
    authenticate,
    ...options,
  })
  const get = (path: string, headers: Record<string, string> = {}) => host.browser().get(path, headers)
  /** An empty repository and another account, which have pages of their own. */
  const fill = async () => {
    const made = await host.request('POST', '/user/repos', { headers: CHIEF, body: { name: 'empty' } })
    assert.equal(made.status, 201)
    await host.allot.accounts.createUser({ name: 'other' })
  }
  return { ...host, get, fill }
}

/** Pages that offer credentials, where there are some. */
const PAGES = [
  '/',
  '/chief',
  '/chief/empty',
  '/chief/-/packages',
  '/-/settings',
  '/-/settings/keys',
  '/-/admin',
  '/-/admin/account?name=other',
  '/-/admin/accounts/new?kind=user',
  '/-/storage/chief',
]

const shownIn = async (
  get: (path: string, headers: Record<string, string>) => Promise<{ status: number; text: string }>,
) => {
  const texts = []
  for (const path of PAGES) {
    const { status, text } = await get(path, CHIEF)
    assert.equal(status, 200, path)
    texts.push(text.replace(/<head>.*<\/head>/s, '').replace(/<[^>]*>/g, ' '))
  }
  return texts.join(' ')
}

describe('The pages of a host with its own login', () => {
  it('offer access tokens, and neither passwords nor sessions', async () => {
    const host = await startHost()
    await host.fill()
    const shown = await shownIn(host.get)
    assert.match(shown, /Git asks for your user name, and for an access token\./)
    assert.match(shown, /Create a token for other/)
    assert.doesNotMatch(shown, /password(?! hashes)|sessions/i)
    assert.match((await host.get('/-/account', CHIEF)).text, /<h1>Tokens<\/h1>/)
  })

  it('name no token and no password when tokens are turned off', async () => {
    const host = await startHost({ tokens: false })
    await host.fill()
    assert.doesNotMatch(await shownIn(host.get), /token|password|sessions/i)
    assert.equal((await host.get('/-/account', CHIEF)).status, 404)
    const browser = host.browser()
    await browser.get('/-/admin/account?name=other', CHIEF)
    assert.equal((await browser.post('/-/admin/account/token', { name: 'other' }, CHIEF)).status, 404)
  })

  for (const [ssh, expected] of [
    [{}, false],
    [{ port: 2222 }, true],
  ] as const)
    it(`offer SSH keys only where they sign in: ${JSON.stringify(ssh)}`, async () => {
      const host = await startHost({ ssh })
      const { text } = await host.get('/-/settings/keys', CHIEF)
      assert.equal(text.includes('Add an SSH key'), expected)
      assert.ok(text.includes('Add a GPG key'))
    })
})

describe('The page to sign in of a host', () => {
  const login = { loginUrl: '/login?next={to}', logoutUrl: '/logout?next={to}' }

  for (const [path, expected] of [
    ['/', '/login?next=%2F'],
    ['/-/admin/owners?q=a%20b&sort=name', '/login?next=%2F-%2Fadmin%2Fowners%3Fq%3Da%2520b%26sort%3Dname'],
    ['/-/storage/chief', '/login?next=%2F-%2Fstorage%2Fchief'],
  ] as const)
    it(`is where ${path} leads without a session`, async () => {
      const host = await startHost({ pages: login })
      const { status, headers } = await host.get(path)
      assert.deepEqual([status, headers.get('location')], [303, expected])
      assert.equal((await host.get(path, CHIEF)).status, 200)
    })

  it('gets the URL to come back to when it is at another origin', async () => {
    const host = await startHost({ pages: { loginUrl: 'https://sso.example.org/in?to={to}' } })
    const back = encodeURIComponent(`${host.base}/-/settings`)
    const { headers } = await host.get('/-/settings')
    assert.equal(headers.get('location'), `https://sso.example.org/in?to=${back}`)
  })

  it('is where a form that is sent without a session leads, and then the first page', async () => {
    const host = await startHost({ pages: login })
    const { status, headers } = await host.browser().post('/-/admin/rules', {})
    assert.deepEqual([status, headers.get('location')], [303, '/login?next=%2F'])
  })

  it('is linked from the pages that everybody sees, as that to sign out is from those of a user', async () => {
    const host = await startHost({ pages: login })
    await host.fill()
    const anonymous = (await host.get('/chief/empty')).text
    assert.match(anonymous, /<a class="account" href="\/login\?next=%2Fchief%2Fempty">Sign in<\/a>/)
    assert.doesNotMatch(anonymous, /Sign out/)
    const own = (await host.get('/-/settings', CHIEF)).text
    assert.match(own, /<a href="\/logout\?next=%2F-%2Fsettings">.*Sign out<\/a>/s)
    assert.doesNotMatch(own, /Sign in/)
  })

  it('never gets the address of another site to come back to', async () => {
    const host = await startHost({ pages: login })
    for (const path of ['//evil.example/x', '/\\evil.example', '/%0d%0a']) {
      const { text } = await host.get(path)
      for (const [, to = ''] of text.matchAll(/\/login\?next=([^"]*)"/g)) {
        const next = decodeURIComponent(to)
        assert.equal(new URL(next, 'http://host.example').host, 'host.example', path)
        assert.doesNotMatch(next, /[\r\n]/, path)
      }
    }
  })

  it('is not there without the option: the page says so', async () => {
    const host = await startHost()
    const { status, text } = await host.get('/')
    assert.equal(status, 403)
    assert.match(words(text), /Sign in first\./)
    assert.equal((await host.get('/-/sign-in')).status, 404)
  })
})
