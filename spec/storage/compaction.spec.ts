import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Compaction } from '../../drivers/level/abstract.ts'
import { encodeKey } from '../../lib/records/key-codec.ts'
import { type Account, accounts, type LedgerRecord, ledgerEntries } from '../../lib/records/schema/index.ts'

const deletions = (place: string, count: number) =>
  Array.from(
    { length: count },
    (_, at) => [encodeKey(['repository', 'o', 'trigrams', place, at]), undefined] as const,
  )

/** The requests to a slow database. */
const asked = () => {
  const ranges: string[] = []
  let done = () => {}
  const compaction = new Compaction((start) => {
    ranges.push(Buffer.from(start).toString('latin1').split('\0')[3]!)
    return new Promise((resolve) => {
      done = resolve
    })
  })
  return { compaction, ranges, finish: () => done() }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('Ranges in which much was deleted', () => {
  it('are compacted when deletions there have ended, and no other ranges are', async () => {
    const { compaction, ranges } = asked()
    for (let batch = 0; batch < 30; batch++) compaction.noteChanges(deletions('many', 1000))
    compaction.noteChanges(deletions('rare', 100))
    await turn()
    assert.deepEqual(ranges, ['many'])
    compaction.noteChanges([[encodeKey(['a']), encodeKey(['put'])]])
    await turn()
    assert.deepEqual(ranges, ['many'])
  })

  it('are compacted one after another, and the waiting ones are dropped when the store closes', async () => {
    const { compaction, ranges, finish } = asked()
    for (const place of ['some', 'more']) compaction.noteChanges(deletions(place, 20_000))
    compaction.noteChanges([])
    await turn()
    assert.deepEqual(ranges, ['some'])
    let isStopped = false
    const stopping = compaction.stop().then(() => {
      isStopped = true
    })
    await turn()
    assert.equal(isStopped, false)
    finish()
    await stopping
    assert.deepEqual(ranges, ['some'])
  })

  it('are compacted also when each step of the deletion has records below other prefixes, and other writes come between', async () => {
    const { compaction, ranges } = asked()
    const records = (step: number) =>
      Array.from(
        { length: 50 },
        (_, at) => [encodeKey(['ledger', 'r', 'lfs', `${step}-${at}`.padEnd(30, '0')]), undefined] as const,
      )
    for (let step = 0; step < 400; step++) {
      compaction.noteChanges([...deletions('many', 50), ...records(step)])
      compaction.noteChanges(deletions(`other ${step}`, 1))
    }
    await turn()
    assert.deepEqual(ranges, ['many'])
  })

  it('are those of one owner or repository, when its ledger entries were deleted', async () => {
    for (const index of ['owner', 'repo'] as const) {
      const ranges: Uint8Array[] = []
      const compaction = new Compaction(async (start) => void ranges.push(start))
      const keys = (id: number) =>
        Array.from({ length: 20_000 }, (_, size) => {
          const entry = {
            kind: 'lfs',
            key: `${size}`,
            owner: id,
            repository: id,
            size,
            name: 'a',
          } as LedgerRecord
          const place = ledgerEntries.keyOf(index, entry)
          return [encodeKey(['ledger', 'o', index, ...place]), undefined] as const
        })
      for (const id of [1000, 1001]) compaction.noteChanges(keys(id))
      compaction.noteChanges([])
      await turn()
      assert.equal(ranges.length, 2, index)
    }
  })

  it('are not all that users can be found by, when many of them changed their names', async () => {
    const ranges: Uint8Array[] = []
    const compaction = new Compaction(async (start) => void ranges.push(start))
    const ngrams = accounts.ordered.find(({ prefix }) => prefix[2] === 'ngrams')!
    const letters = [...'abcdefghijklmnopqrstuvwxyz']
    for (let id = 0; id < 1000; id++) {
      const name = letters.map((_, at) => letters[(id * 7 + at * at) % 26]).join('')
      const account = { id, kind: 'user', name, fullName: `${name} ${id}`, visibility: 'public' } as Account
      compaction.noteChanges(ngrams.keysOf(account).map((key) => [key, undefined] as const))
    }
    compaction.noteChanges([])
    await turn()
    assert.deepEqual(ranges, [])
  })
})
