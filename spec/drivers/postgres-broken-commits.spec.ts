import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Batch } from '../../drivers/postgres/batch.ts'
import type { Connections } from '../../drivers/postgres/connections.ts'
import { WriteLimits } from '../../drivers/postgres/deadline.ts'
import { PlainEngine } from '../../drivers/postgres/plain.ts'
import { QueryCache } from '../../drivers/postgres/query-cache.ts'
import { type StorageError, WriteBuffer } from '../../lib/storage/index.ts'

/** Connections that break at each commit, before the database receives it. */
const breakingConnections = () => {
  const counts = { commits: 0 }
  const run = async ({ text }: { text: string }) => {
    if (text !== 'COMMIT' && text !== 'commit') return [['0']]
    counts.commits++
    throw new Error('Connection terminated unexpectedly')
  }
  const session = { run, discard: () => undefined, rollBack: async () => undefined }
  const statements = { commit: { text: 'commit' }, markWrite: { text: 'mark' } }
  const connections = {
    statements,
    withWriter: (body: (session: unknown, writer: object) => unknown) =>
      body(session, { id: '1', lastWrite: 0 }),
    /** The outcome of a lost commit: its number is not the last one that was written. */
    run: async () => [['0']],
  }
  return { counts, connections: connections as unknown as Connections }
}

describe('A write whose connection breaks at each commit, which is not written,', () => {
  const away = { reason: 'away', message: 'the connections to the database break again and again' }

  it('is sent three times in a batch, and ends as `away`', async () => {
    const { counts, connections } = breakingConnections()
    const batch = new Batch(connections, new QueryCache(connections, 1000))
    let conflicts = 0
    const result = await new WriteLimits(10_000).run((deadline) => {
      batch.add(new Map(), new WriteBuffer(), deadline)
      return batch.commit(async () => void conflicts++)
    })
    const { reason, message } = (result as { error: StorageError }).error
    assert.deepEqual({ reason, message, ...counts, conflicts }, { ...away, commits: 3, conflicts: 0 })
  })

  it('is run three times by the plain engine, and ends as `away`', async () => {
    const { counts, connections } = breakingConnections()
    const engine = new PlainEngine(connections, 20)
    const write = new WriteLimits(10_000).run((deadline) => engine.write(async () => 1, deadline))
    await assert.rejects(write, away)
    assert.equal(counts.commits, 3)
  })
})
