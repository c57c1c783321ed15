import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertError } from '../support/expectations.ts'
import { times } from '../support/long.ts'
import { basic, madeBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore()
const alice = madeBefore(() =>
  allot.person('alice', { password: 'open: sesame', email: 'alice@example.test' }),
)

const whoami = (authorization: string) => allot.request('GET', '/user', { headers: { authorization } })

describe('Credentials', () => {
  it('say that the access token does not exist, also when Basic has it as the password', async () => {
    const wrong = '0'.repeat(40)
    for (const authorization of [`token ${wrong}`, basic('alice', wrong).authorization!])
      assertError(await whoami(authorization), 401, /^the access token does not exist$/)
  })

  it('with an unknown scheme, or without exactly one value, are answered 401 on every path, also outside the API', async () => {
    const name = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/)
    const scheme = name.filter((one) => !/^(?:token|bearer|basic)$/i.test(one))
    const known = fc.constantFrom('token', 'Bearer', 'Basic')
    const header = fc.oneof(
      fc.tuple(scheme, fc.stringMatching(/^[\x21-\x7e]{0,40}$/)).map(([one, value]) => `${one} ${value}`),
      known,
      known.map((one) => `${one} ${alice.token} more`),
      fc.constant(alice.token),
    )
    const paths = ['/version', '/user', '/no/such/path', '../../alice/demo/info/refs?service=git-upload-pack']
    await fc.assert(
      fc.asyncProperty(header, fc.constantFrom(...paths), async (authorization, path) => {
        const answer = await fetch(`${allot.api}/${path}`, { headers: { authorization } })
        assert.equal(answer.status, 401, authorization)
        await answer.text()
      }),
      { numRuns: times(40, 100) },
    )
  })

  it('say how to send a token that is sent alone, and do not repeat it', async () => {
    for (const token of [alice.token, '0'.repeat(40), `  ${alice.token}`])
      for (const path of ['/user', '/version', '/no/such/path']) {
        const answer = await allot.request('GET', path, { headers: { authorization: token } })
        assertError(answer, 401, /a token without its scheme: send `Authorization: token …`/)
        assert.ok(!answer.text.includes(token.trim()))
      }
    assertError(await whoami('token'), 401, /a scheme and one value, as in `Authorization: token …`/)
  })

  it('are absent when the header is empty', async () => {
    assertError(await whoami(''), 401, /token is required/)
    assert.equal((await allot.request('GET', '/version', { headers: { authorization: '' } })).status, 200)
  })

  it('are not repeated in the response', async () => {
    const { text } = await whoami(basic('alice', 'a wrong secret').authorization!)
    assert.ok(!text.includes('secret'))
  })
})
