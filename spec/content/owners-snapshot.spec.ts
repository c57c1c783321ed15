import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type OwnerSummary, OwnersSnapshot } from '../../lib/content/usage/owners-snapshot.ts'
import { noUsage, type Subject } from '../../lib/quota/subjects.ts'

const ownerNamed = (name: string, id: number): OwnerSummary => ({
  ...{ id, name, fullName: '', kind: 'user', active: true, admin: false, usage: { ...noUsage, lfs: id } },
  ...{ used: id, binding: undefined, state: 'unlimited', share: 0, groups: [], text: name },
})

describe('The owners regarding the limits of one subject', () => {
  const snapshot = new OwnersSnapshot(['cid', 'ann', 'bob'].map(ownerNamed), 0.9)

  it('are compared once for each of the subjects that are kept, however often these are asked for', () => {
    const kept: Subject[] = ['size:all', 'size:repos:all', 'size:assets:all']
    const found = kept.map((subject) => snapshot.regarding(subject))
    for (const _ of kept)
      for (const [index, subject] of kept.entries())
        assert.equal(snapshot.regarding(subject), found[index], subject)
    snapshot.regarding('size:git:lfs')
    assert.equal(snapshot.regarding(kept[2]!), found[2], 'a further subject replaces the oldest alone')
    assert.notEqual(snapshot.regarding(kept[0]!), found[0])
  })

  it('have the order and the total of the scan, which are not computed again', async () => {
    const regarding = await snapshot.regarding('size:all')
    assert.deepEqual(
      regarding.owners.map(({ name }) => name),
      ['ann', 'bob', 'cid'],
    )
    assert.equal(regarding.total, snapshot.total)
  })
})
