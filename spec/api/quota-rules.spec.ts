import { describe, it } from 'node:test'
import { assertNotFound } from '../support/expectations.ts'
import { startBefore } from '../support/test-server.ts'

// What rules take, and what they refuse, is in the recordings of spec/golden.
const allot = startBefore({ repositories: false })

describe('PATCH /admin/quota/rules/{quotarule}', () => {
  it('answers 404 for an unknown rule before it reads the body', async () => {
    for (const [type, body] of [
      ['application/json', '{"limit":"9"}'],
      ['application/json', '[]'],
      ['application/json', '{"limit":'],
      ['application/json', `{"limit":"${'9'.repeat(2 * 1024 * 1024)}"}`],
      ['text/csv', 'limit'],
    ] as const) {
      const headers = { 'content-type': type }
      const sent = { token: allot.root.token, body, headers }
      assertNotFound(await allot.request('PATCH', '/admin/quota/rules/nothing', sent))
    }
  })
})
