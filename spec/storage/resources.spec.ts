import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReadTransaction } from '../../lib/storage/index.ts'
import { below, collect, save } from '../driver-spec/fixture.ts'
import { openObserved } from './opened.ts'

const stopped = new Error('enough')

/** How work may come to its end. */
const endings: { how: string; work: (tx: ReadTransaction) => Promise<unknown> }[] = [
  { how: 'reads a range to its end', work: (tx) => collect(tx.range(below('k'))) },
  {
    how: 'leaves a range early',
    async work(tx) {
      for await (const _ of tx.range(below('k'))) return
    },
  },
  {
    how: 'fails within a range',
    async work(tx) {
      for await (const _ of tx.range(below('k'))) throw stopped
    },
  },
  {
    how: 'fails',
    async work() {
      throw stopped
    },
  },
]

for (const kind of ['read', 'write'] as const)
  for (const { how, work } of endings)
    test(`no snapshot and no iterator stays open after a ${kind} that ${how}`, async (t) => {
      const { driver, held } = await openObserved(t)
      await save(driver, { k1: 'value', k2: 'value', k3: 'value' })
      let most = 0
      await driver[kind](async (tx) => {
        const result = await work({
          ...tx,
          range: async function* (range) {
            for await (const entry of tx.range(range)) {
              most = Math.max(most, held.size)
              yield entry
            }
          },
        })
        return result
      }).catch((error) => assert.equal(error, stopped))
      if (how !== 'fails') assert.ok(most > 0, 'something was held meanwhile')
      assert.equal(held.size, 0)
    })
