import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { before, describe, it } from 'node:test'
import { temporaryDirectory } from '../support/folder.ts'
import { basic, madeBefore, peopleBefore } from '../support/test-server.ts'
import { aCheckout, attempt, git, urlFor } from './client.ts'
import { startGit } from './served.ts'

let checkout: string
const allot = madeBefore(() => startGit())
const alice = madeBefore(() => allot.person('alice', { password: 'correct horse' }))
const [bob, member] = peopleBefore(allot, 'bob', 'member')
before(async () => {
  await allot.as(alice, 'POST', '/orgs', { username: 'acme' })
  await allot.as(alice, 'PUT', '/orgs/acme/members/member')
  checkout = await aCheckout()
  for (const [path, isPrivate] of [
    ['/user/repos', true],
    ['/user/repos', false],
    ['/orgs/acme/repos', true],
  ] as const)
    await allot.as(alice, 'POST', path, { name: isPrivate ? 'private' : 'public', private: isPrivate })
  for (const path of ['alice/private', 'alice/public', 'acme/private'])
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'main')
})

const refs = (path: string, headers: Record<string, string> = {}, service = 'upload-pack') =>
  fetch(`${allot.base}/${path}/info/refs?service=git-${service}`, { headers })

const token = (who: { token: string }) => ({ authorization: `token ${who.token}` })

describe('Cloning', () => {
  it('is allowed to everyone for a public repository', async () => {
    assert.equal((await refs('alice/public.git')).status, 200)
    assert.equal((await refs('ALICE/Public.git')).status, 200)
  })

  it('is allowed to those who can read a private repository', async () => {
    for (const [path, who, status] of [
      ['alice/private', alice, 200],
      ['alice/private', allot.root, 200],
      ['alice/private', bob, 404],
      ['acme/private', member, 200],
      ['acme/private', bob, 404],
    ] as const)
      assert.equal((await refs(path, token(who))).status, status, `${path} ${who.name}`)
  })

  it('asks anonymous clients to sign in, whether or not a private repository exists', async () => {
    const answers = await Promise.all(
      ['alice/private.git', 'alice/absent.git', 'nobody/absent.git'].map(async (path) => {
        const answer = await refs(path)
        return {
          status: answer.status,
          asks: answer.headers.get('www-authenticate'),
          text: await answer.text(),
        }
      }),
    )
    for (const { status, asks, text } of answers) {
      assert.equal(status, 401)
      assert.match(asks ?? '', /^Basic realm="/)
      assert.equal(text, answers[0]!.text)
    }
  })

  const credentials: [what: string, headers: () => Record<string, string>, status: number][] = [
    ['a password', () => basic('alice', 'correct horse'), 200],
    ['a token as the password', () => basic('alice', alice.token), 200],
    ['a token as the name', () => basic(alice.token, 'x-oauth-basic'), 200],
    ['token', () => token(alice), 200],
    ['Bearer', () => ({ authorization: `Bearer ${alice.token}` }), 200],
    ['a wrong password', () => basic('alice', 'wrong'), 401],
    ['a token that does not exist', () => token({ token: '0'.repeat(40) }), 401],
  ]
  for (const [what, headers, status] of credentials)
    it(`by ${what}: ${status}`, async () => {
      const answer = await refs('alice/private.git', headers())
      assert.equal(answer.status, status)
      assert.equal(answer.headers.has('www-authenticate'), status === 401)
      assert.equal((await refs('alice/public.git', headers())).status, status, 'wrong wherever they are sent')
    })

  it('requires a token with the scope read:repository or write:repository', async () => {
    for (const [scope, status] of [
      ['read:repository', 200],
      ['write:repository', 200],
      ['read:user', 403],
    ] as const) {
      const answer = await refs('alice/public', token({ token: await allot.scoped(alice, scope) }))
      assert.equal(answer.status, status, scope)
      if (status === 403) assert.match(await answer.text(), /read:repository/)
    }
  })
})

describe('Pushing', () => {
  it('is allowed to those who can write', async () => {
    for (const [path, who, status] of [
      ['alice/public', alice, 200],
      ['alice/public', allot.root, 200],
      ['alice/public', bob, 403],
      ['alice/private', bob, 404],
      ['acme/private', member, 200],
    ] as const)
      assert.equal((await refs(path, token(who), 'receive-pack')).status, status, `${path} ${who.name}`)
    assert.equal((await refs('alice/public', {}, 'receive-pack')).status, 401)
  })

  it('requires the scope write:repository', async () => {
    const read = { token: await allot.scoped(alice, 'read:repository') }
    assert.equal((await refs('alice/public', token(read), 'receive-pack')).status, 403)
    const write = { token: await allot.scoped(alice, 'write:repository') }
    assert.equal((await refs('alice/public', token(write), 'receive-pack')).status, 200)
  })

  it('is authorized again for the push itself, after the list of references', async () => {
    const push = (headers: Record<string, string>) =>
      fetch(`${allot.base}/alice/public.git/git-receive-pack`, {
        method: 'POST',
        body: '0000',
        headers: { 'content-type': 'application/x-git-receive-pack-request', ...headers },
      })
    assert.equal((await push({})).status, 401)
    assert.equal((await push(token(bob))).status, 403)
    const answer = await push(token(alice))
    assert.deepEqual([answer.status, await answer.text()], [200, ''])
  })

  it('reports through git why it is refused', async () => {
    const { code, err } = await attempt(checkout, ['push', urlFor(allot, 'alice/public', bob), 'main:bob'])
    assert.equal(code, 128)
    assert.match(err, /remote: bob may not push to this repository[\s\S]*403/)
  })

  it('is refused while the repository is archived', async () => {
    await allot.repository(alice, 'archived')
    await git(checkout, 'push', '--quiet', urlFor(allot, 'alice/archived', alice), 'main')
    await allot.as(alice, 'PATCH', '/repos/alice/archived', { archived: true })
    const { err } = await attempt(checkout, ['push', urlFor(allot, 'alice/archived', alice), 'main:other'])
    assert.match(err, /archived/)
    await git(temporaryDirectory(), 'clone', '--quiet', urlFor(allot, 'alice/archived'))
  })

  it('asks for a password only as often as git does', async () => {
    const { code, err } = await attempt(checkout, ['push', urlFor(allot, 'alice/public'), 'main'])
    assert.equal(code, 128)
    assert.match(err, /could not read Username|terminal prompts disabled/)
  })
})

describe('Authentication', () => {
  it('may be done by the host', async () => {
    const hosted = await startGit({
      authenticate: (req) => (req.headers['x-user'] === 'carol' ? { id: 'carol' } : null),
    })
    const headers = { 'x-user': 'carol' }
    const made = await hosted.request('POST', '/user/repos', {
      headers,
      body: { name: 'demo', private: true },
    })
    assert.equal(made.status, 201)
    const url = urlFor(hosted, 'carol/demo')
    await git(checkout, '-c', 'http.extraHeader=X-User: carol', 'push', '--quiet', url, 'main')
    assert.equal((await attempt(temporaryDirectory(), ['clone', url])).code, 128)
  })
})

describe('A hostile request', () => {
  const tricks = [
    '../alice/private.git',
    'alice/../alice/private.git',
    'alice/..%2fprivate.git',
    '..%2f..%2fetc/passwd.git',
    'alice%2fprivate.git/x',
    'alice/private.git.git',
    'alice//private.git',
    'alice/./private.git',
    'alice/private.git%00',
    'alice/private%2egit/..',
    'alice/private.wiki.git',
    '%2e%2e/private.git',
    'alice/-upload-pack',
    'alice/--upload-pack=touch',
    `alice/${'x'.repeat(300)}`,
    'alice/%ff',
    'alice/%',
  ]
  for (const trick of tricks)
    it(`gets no repository for the path ${trick.slice(0, 40)}`, async () => {
      const { port } = new URL(allot.base)
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined)
      const path = `/${trick}/info/refs?service=git-upload-pack`
      socket.end(
        `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: token ${bob.token}\r\n\r\n`,
      )
      let text = ''
      for await (const chunk of socket) text += chunk
      assert.match(text, /^HTTP\/1\.1 (?:400|404) /)
    })

  it('is answered as without a protocol version when that is malformed', async () => {
    for (const protocol of ['$(touch x)', '../..', `version=2:${'x'.repeat(5000)}`, 'version=2\n'])
      assert.equal((await refs('alice/public', { 'git-protocol': protocol })).status, 200)
  })
})
