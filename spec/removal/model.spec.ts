import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import { decodeKey } from '../../lib/records/key-codec.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { verify } from '../../lib/verify.ts'
import { times } from '../support/long.ts'
import { compare } from './compare.ts'
import { finishJobs, openFixture, type RemovalFixture } from './fixture.ts'
import { emptyModel, type Step, step } from './model.ts'
import { makeAccount, play } from './play.ts'

/** So small that nearly everything is left to jobs, which take many steps. */
const BOUNDS = { maxPerTransaction: 2, batchSize: 1 }

/**
 * Keys of records, index entries and counters: where everything is deleted none may be left but the
 * sequences.
 */
const remains = ({ store }: RemovalFixture): Promise<string[]> =>
  store.read(async (tx) => {
    const found: string[] = []
    for await (const [key] of tx.range({ start: new Uint8Array([0]), end: new Uint8Array([255]) }))
      found.push(decodeKey(key).join(' '))
    return found.filter((key) => !/^(sequence|metadata) /.test(key))
  })

const assertAgreement = async (driver: StorageDriver): Promise<void> =>
  assert.deepEqual((await verify(driver)).messages, [])

const run = async (steps: readonly Step[]): Promise<void> => {
  const driver = memory()
  let fixture = await openFixture(driver, BOUNDS)
  const model = emptyModel()
  for (const name of ['ann', 'ben', 'cat', 'guild']) await makeAccount(fixture, model, name)
  for (const [turn, one] of steps.entries()) {
    await play(fixture, model, one)
    if (one.do === 'restart') {
      await fixture.close()
      fixture = await openFixture(driver, BOUNDS)
    }
    if (turn % 8 === 7) await assertAgreement(driver)
    if (!['create', 'put', 'own', 'relate', 'follow'].includes(one.do)) await compare(fixture, model, turn)
  }
  await finishJobs(fixture)
  await assertAgreement(driver)
  for (const turn of [0, 1, 2, 3]) await compare(fixture, model, turn)
  for (const name of ['guild', 'ben', 'cat', 'ann'] as const)
    if (model.accounts.has(name)) await play(fixture, model, { do: 'purge', name })
  await finishJobs(fixture)
  assert.deepEqual(await remains(fixture), [])
  await fixture.close()
}

describe('While jobs of deletions, transfers and visibility changes are pending', () => {
  it('every read returns what it will return afterwards, and no record is left in the end', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 50 }), run), {
      numRuns: times(5, 20),
      includeErrorInReport: true,
    })
  })
})
