import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import { createAllot, type StorageDriver } from '../../lib/index.ts'
import { repositories } from '../../lib/records/schema/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { type Call, withFaults } from '../driver-spec/fault-injection.ts'
import { isLong, times } from '../support/long.ts'
import { start } from '../support/test-server.ts'
import { Client } from './client.ts'
import { compare } from './compare.ts'
import { SHARED_REPOSITORIES } from './operation.ts'
import { createRandom, type Random } from './random.ts'
import { recountFolders } from './recount.ts'

const CLIENTS = 4

/**
 * The calls that fail in each round, and how often. Reads fail rarely, since a transaction has many of them.
 * A client stops at its first failure, so each other call has its own round; in one round, a call might never
 * come to fail.
 */
const ROUNDS: { calls: Call[]; share: number }[] = [
  { calls: ['get', 'getMany', 'range', 'entry'], share: 0.01 },
  { calls: ['begin'], share: 0.05 },
  { calls: ['commit'], share: 0.05 },
  { calls: ['answer'], share: 0.1 },
]

/** Delays and fails calls of the driver at random. */
class FaultInjector {
  round: (typeof ROUNDS)[number] | undefined
  readonly counts = new Map<Call, number>()
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  at = async (call: Call): Promise<void> => {
    if (this.round === undefined) return
    if (this.#random.likely(0.1)) await setImmediate()
    if (this.#random.likely(0.02)) await setTimeout(this.#random.below(4))
    if (!this.round.calls.includes(call) || !this.#random.likely(this.round.share)) return
    this.counts.set(call, (this.counts.get(call) ?? 0) + 1)
    throw this.#random.likely(0.5)
      ? new StorageError('failed', 'the disk is gone')
      : new Error('sector 7 is broken')
  }
}

/**
 * Lets clients write until a failure in each round, and checks the data on the running server and after a
 * start.
 */
const runWithFaults = async (seed: number, met: Map<string, number>): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'allot-faults-'))
  const random = createRandom(seed)
  const troubles = new FaultInjector(random)
  const driver = memory()
  const running = await start({ driver: withFaults(driver, troubles.at), ...directoriesIn(folder) })
  try {
    const { token } = await running.person('ops', { admin: true })
    const server = { ask: running.request, token, killed: false, failing: true }
    for (const path of SHARED_REPOSITORIES)
      await running.request('POST', '/user/repos', { token, body: { name: path.split('/')[1] } })
    const clients = Array.from({ length: CLIENTS }, (_, index) => new Client(`f${index}`, random.fork()))
    for (const client of clients) await client.createAccounts(server)
    for (const round of ROUNDS) {
      troubles.round = round
      await Promise.all(clients.map((client) => client.write(server)))
      troubles.round = undefined
      // Damage does not go away, so the last recount finds it.
      const recounts = isLong || round === ROUNDS.at(-1)
      const how = { ...directoriesIn(folder).repositories, recounts, isStarted: false }
      assert.deepEqual(await compare(clients, server, how), { lost: [], inconsistent: [] }, `seed ${seed}`)
    }
    for (const [call, times] of troubles.counts) met.set(call, (met.get(call) ?? 0) + times)
  } finally {
    troubles.round = undefined
    await running.stop()
  }
  await assertRestarts(driver, folder)
  await rm(folder, { recursive: true, force: true })
}

const directoriesIn = (folder: string) => ({
  repositories: { directory: join(folder, 'repositories') },
  files: { directory: join(folder, 'files') },
})

const assertRestarts = async (driver: StorageDriver, folder: string): Promise<void> => {
  const allot = await createAllot({ driver, ...directoriesIn(folder) })
  const { faults, messages } = await allot.verify()
  assert.equal(faults, 0, messages.join('\n'))
  const found = await driver.read(async (tx) => {
    const ids: { id: number }[] = []
    for await (const { id } of repositories.all(tx)) ids.push({ id })
    return ids
  })
  const contradictions: string[] = []
  await recountFolders({ ...directoriesIn(folder).repositories, repositories: found, contradictions })
  assert.deepEqual(contradictions, [])
  await allot.close()
}

describe('When calls of a transaction fail or are delayed', () => {
  it('a write answers 500, 503 or 507 and is done wholly or not at all, and counters, lists and search agree', async () => {
    const met = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(fc.nat(), (seed) => runWithFaults(seed, met)),
      { numRuns: times(1, 2), endOnFailure: true, includeErrorInReport: true },
    )
    for (const { calls } of ROUNDS)
      assert.ok(
        calls.some((call) => met.has(call)),
        `${calls} failed`,
      )
  })
})
