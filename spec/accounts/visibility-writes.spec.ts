import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { decodeKey } from '../../lib/records/key-codec.ts'
import { watchTransactions } from '../counted.ts'
import { start } from '../support/test-server.ts'

it('A change of visibility saves only the repositories whose audience it changes', async (t) => {
  const saved = new Set<unknown>()
  const driver = watchTransactions(memory(), ({ changed }) => {
    for (const [collection, kind, id] of changed.map((key) => decodeKey(key)))
      if (collection === 'repository' && kind === 'r') saved.add(id)
  })
  const allot = await start({ driver, repositories: false })
  t.after(() => allot.stop())
  const { root } = allot
  await allot.as(root, 'POST', '/orgs', { username: 'team' })
  const ids: number[] = []
  for (const isPrivate of [true, false, true]) {
    const options = { name: `r${ids.length}`, private: isPrivate }
    ids.push((await allot.as(root, 'POST', '/orgs/team/repos', options)).body.id)
  }
  saved.clear()
  assert.equal((await allot.as(root, 'PATCH', '/orgs/team', { visibility: 'private' })).status, 200)
  assert.deepEqual([...saved], [ids[1]])
})
