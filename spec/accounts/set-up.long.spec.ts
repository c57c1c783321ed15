import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { postgres } from '../../drivers/postgres/index.ts'
import { type Allot, createAllot } from '../../lib/index.ts'
import { missing } from '../postgres/cluster.ts'
import { emptyStore } from '../postgres/empty-store.ts'

const loginOf = async (allot: Allot, token: string): Promise<{ login: string; is_admin: boolean }> => {
  const headers = { authorization: `token ${token}` }
  const answer = await allot.fetch(new Request('http://localhost/api/v1/user', { headers }))
  return (await answer.json()) as { login: string; is_admin: boolean }
}

describe('setUp on PostgreSQL', { skip: missing }, () => {
  it('returns one token to all servers that share a database', async () => {
    const { url } = await emptyStore()
    const servers = await Promise.all(
      Array.from({ length: 4 }, () =>
        createAllot({ driver: postgres(url, { connections: 2 }), repositories: false }),
      ),
    )
    try {
      const results = await Promise.all(servers.map((allot) => allot.setUp({ admin: 'root' })))
      const tokens = results.map(({ token }) => token).filter((token) => token !== undefined)
      assert.equal(tokens.length, 1)
      for (const allot of servers) assert.equal((await loginOf(allot, tokens[0]!)).login, 'root')
    } finally {
      await Promise.all(servers.map((allot) => allot.close()))
    }
  })
})
