import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { assertDeclared } from '../support/declared-answers.ts'
import { generateOpenPgpKey, generateSshKey } from '../support/keygen.ts'
import { type Person, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

/** A request that is authenticated, and whose body has not arrived yet. */
interface LetIn {
  sent: ClientRequest
  response: Promise<IncomingMessage[]>
}

const letIn = async (person: Person, method: string, path: string, api = allot.api): Promise<LetIn> => {
  const headers = {
    authorization: `token ${person.token}`,
    'content-type': 'application/json',
    expect: '100-continue',
  }
  const sent = httpRequest(api + path, { method, headers })
  const response = once(sent, 'response')
  sent.flushHeaders()
  await once(sent, 'continue')
  // In some hosts a request takes several turns of the event loop to its authentication. A later one takes as
  // many.
  await allot.as(person, 'GET', '/user')
  return { sent, response }
}

const answerTo = async ({ sent, response }: LetIn, body: unknown) => {
  sent.end(JSON.stringify(body))
  const [message] = (await response) as [IncomingMessage]
  const text = Buffer.concat(await message.toArray()).toString()
  const headers = new Headers()
  return { status: message.statusCode ?? 0, headers, text, body: text === '' ? undefined : JSON.parse(text) }
}

describe('A request whose account is deleted before the body arrives', () => {
  const CASES: [method: string, path: string, body: (name: string) => unknown, status: number][] = [
    ['POST', '/user/repos', () => ({ name: 'late' }), 401],
    ['POST', '/orgs', (name) => ({ username: `late-${name}` }), 401],
    ['POST', '/user/keys', () => ({ title: 'late', key: generateSshKey('ed25519').key }), 401],
    [
      'POST',
      '/user/gpg_keys',
      async () => ({ armored_public_key: await generateOpenPgpKey('gone@example.test') }),
      401,
    ],
    ['POST', '/org/open/repos', () => ({ name: 'late' }), 401],
    ['POST', '/users/{own}/tokens', () => ({ name: 'late', scopes: ['all'] }), 404],
    ['PATCH', '/repos/{own}/demo', () => ({ description: 'late' }), 404],
    ['POST', '/repos/{own}/demo/transfer', (name) => ({ new_owner: name }), 404],
  ]
  for (const [method, path, body, status] of CASES)
    it(`${method} ${path} answers ${status} and creates nothing`, async () => {
      const { hosting } = allot.allot
      const person = await allot.person()
      await allot.as(allot.root, 'POST', '/orgs', { username: 'open' })
      await allot.as(allot.root, 'PUT', `/orgs/open/members/${person.name}`)
      await allot.as(person, 'POST', '/user/repos', { name: 'demo' })
      const where = path.replace('{own}', person.name)
      const sent = await letIn(person, method, where)
      await hosting.accounts.remove(person.id, { purge: true })
      const answer = await answerTo(sent, await body(person.name))
      assert.equal(answer.status, status, answer.text)
      assertDeclared(method, where, answer)
      assert.deepEqual((await allot.as(allot.root, 'GET', '/repos/search?q=late')).body.data, [])
      assert.equal((await allot.as(allot.root, 'GET', `/orgs/late-${person.name}`)).status, 404)
    })

  it('an upload to the packages of another account answers 404 and adds nothing', async () => {
    const person = await allot.person('uploader', { admin: true })
    const upload = await letIn(person, 'PUT', '/api/packages/root/generic/late/1/file', allot.base)
    await allot.allot.hosting.accounts.remove(person.id)
    upload.sent.end('late')
    const [message] = (await upload.response) as [IncomingMessage]
    message.resume()
    assert.equal(message.statusCode, 404)
    assert.deepEqual((await allot.as(allot.root, 'GET', '/packages/root')).body, [])
  })
})

describe('A request whose account is deleted and whose name is taken by another account', () => {
  it('creates no token for the other account', async () => {
    const { hosting } = allot.allot
    const person = await allot.person('successor')
    const path = '/users/successor/tokens'
    const sent = await letIn(person, 'POST', path)
    await hosting.accounts.remove(person.id)
    const other = await allot.person('successor')
    const answer = await answerTo(sent, { name: 'late', scopes: ['all'] })
    assert.equal(answer.status, 403, answer.text)
    const { body } = await allot.as(other, 'GET', path)
    assert.deepEqual(
      body.map(({ name }: { name: string }) => name),
      ['spec'],
    )
  })
})
