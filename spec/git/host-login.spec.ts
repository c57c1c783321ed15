import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AllotOptions } from '../../lib/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { aCheckout, attempt, git, urlFor } from './client.ts'
import { startGit } from './served.ts'

/** A session cookie of the host. */
const authenticate: AllotOptions['authenticate'] = ({ headers: { cookie } }) =>
  cookie === 'sid=anna' ? { id: '4711', username: 'anna.b@example.org' } : undefined

describe('Git beside the login of a host', () => {
  it('signs in with an access token that a session of the host has made', async () => {
    const host = await startGit({ authenticate })
    const withSession = async (path: string, body: object) => {
      const answer = await host.request('POST', path, { headers: { cookie: 'sid=anna' }, body })
      assert.equal(answer.status, 201, answer.text)
      return answer.body
    }
    await withSession('/user/repos', { name: 'demo', private: true })
    const scopes = ['write:repository']
    const { sha1 } = await withSession('/users/anna.b/tokens', { name: 'laptop', scopes })
    const checkout = await aCheckout()
    const url = urlFor(host, 'anna.b/demo', { name: 'anna.b', token: sha1 })
    await git(checkout, 'push', '--quiet', url, 'main')
    await git(temporaryDirectory(), 'clone', '--quiet', url)
    assert.equal((await attempt(temporaryDirectory(), ['clone', urlFor(host, 'anna.b/demo')])).code, 128)
    // A rename at the host keeps the token, and the former URL.
    await host.allot.accounts.rename((await host.allot.accounts.byHostId('4711'))!.id, 'anna')
    await git(checkout, 'push', '--quiet', url, 'main:second')
    await host.allot.accounts.edit((await host.allot.accounts.byHostId('4711'))!.id, { active: false })
    assert.match((await attempt(temporaryDirectory(), ['clone', url])).err, /not allowed to sign in|403/)
  })
})

describe('A client without credentials', () => {
  const MODES: [who: string, options: Partial<AllotOptions>, api: string, stream: string][] = [
    ['Allot', {}, 'token is required', 'sign in with a password or a token'],
    ['a host', { authenticate }, 'token is required', 'sign in with an access token as the password'],
    ['a host alone', { authenticate, tokens: false }, 'sign in first', 'sign in first'],
  ]
  for (const [who, options, api, stream] of MODES)
    it(`is asked for nothing that does not sign in: at ${who}`, async () => {
      const host = await startGit(options)
      assert.equal((await host.request('GET', '/user')).body.message, api)
      const refs = await fetch(`${host.base}/a/b/info/refs?service=git-upload-pack`)
      const upload = await fetch(`${host.base}/api/packages/a/generic/b/1/c`, { method: 'PUT', body: 'x' })
      for (const answer of [refs, upload]) {
        assert.equal(answer.status, 401)
        assert.equal(await answer.text(), `${stream}\n`)
      }
      const batch = await fetch(`${host.base}/a/b/info/lfs/objects/batch`, {
        method: 'POST',
        headers: { 'content-type': 'application/vnd.git-lfs+json' },
        body: JSON.stringify({ operation: 'download', objects: [] }),
      })
      assert.deepEqual([batch.status, await batch.json()], [401, { message: stream }])
    })

  for (const [name, realm] of [
    [undefined, 'Allot'],
    ['Example Code', 'Example Code'],
    ['J\u00fcrgens "Code" \\ 1', 'Jurgens \\"Code\\" \\\\ 1'],
    ['\u5c71', 'code'],
  ] as const)
    it(`is asked in the name of ${name ?? 'Allot'}`, async () => {
      const host = await startGit(name === undefined ? {} : { pages: { name } })
      const expected = `Basic realm="${realm}", charset="UTF-8"`
      const refs = await fetch(`${host.base}/a/b/info/refs?service=git-upload-pack`)
      assert.equal(refs.headers.get('www-authenticate'), expected)
      const locks = await fetch(`${host.base}/a/b/info/lfs/locks`)
      assert.equal(locks.headers.get('lfs-authenticate'), expected)
      assert.equal(locks.headers.get('www-authenticate'), expected)
    })
})
