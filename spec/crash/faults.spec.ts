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
import { start } from '../support/test-server.ts'
import { Client } from './client.ts'
import { compare } from './compare.ts'
import { LANDMARKS } from './operation.ts'
import { createRandom, type Random } from './random.ts'
import { recountFolders } from './recount.ts'

const CLIENTS = 4

/**
 * What fails in each round, and how often: a transaction reads many times, and commits once. A client stops at the first
 * failure, so what begins and what commits have a round each: else chance might let only the one of them fail.
 */
const ROUNDS: { calls: Call[]; share: number }[] = [
  { calls: ['get', 'getMany', 'range', 'entry'], share: 0.01 },
  { calls: ['begin'], share: 0.05 },
  { calls: ['commit'], share: 0.05 },
  { calls: ['answer'], share: 0.1 },
]

/** Waits by chance, and fails at some calls. */
class Troubles {
  round: (typeof ROUNDS)[number] | undefined
  readonly met = new Map<Call, number>()
  readonly #chance: Random

  constructor(random: Random) {
    this.#chance = random
  }

  at = async (call: Call): Promise<void> => {
    if (this.round === undefined) return
    if (this.#chance.likely(0.1)) await setImmediate()
    if (this.#chance.likely(0.02)) await setTimeout(this.#chance.below(4))
    if (!this.round.calls.includes(call) || !this.#chance.likely(this.round.share)) return
    this.met.set(call, (this.met.get(call) ?? 0) + 1)
    throw this.#chance.likely(0.5)
      ? new StorageError('failed', 'the disk is gone')
      : new Error('sector 7 is broken')
  }
}

/** Each client writes until it is told of a failure; then all is compared, on the running server and after a start. */
const suffer = async (seed: number, met: Map<string, number>): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'allot-faults-'))
  const random = createRandom(seed)
  const troubles = new Troubles(random)
  const driver = memory()
  const running = await start({ driver: withFaults(driver, troubles.at), ...keptIn(folder) })
  try {
    const { token } = await running.person('ops', { admin: true })
    const server = { ask: running.request, token, killed: false, failing: true }
    for (const path of LANDMARKS)
      await running.request('POST', '/user/repos', { token, body: { name: path.split('/')[1] } })
    const clients = Array.from({ length: CLIENTS }, (_, at) => new Client(`f${at}`, random.fork()))
    for (const client of clients) await client.settle(server)
    for (const round of ROUNDS) {
      troubles.round = round
      await Promise.all(clients.map((client) => client.write(server)))
      troubles.round = undefined
      const how = { ...keptIn(folder).repositories, recounts: true, isStarted: false }
      assert.deepEqual(await compare(clients, server, how), { lost: [], inconsistent: [] }, `seed ${seed}`)
    }
    for (const [call, times] of troubles.met) met.set(call, (met.get(call) ?? 0) + times)
  } finally {
    troubles.round = undefined
    await running.stop()
  }
  await startsInOrder(driver, folder)
  await rm(folder, { recursive: true, force: true })
}

const keptIn = (folder: string) => ({
  repositories: { directory: join(folder, 'repositories') },
  files: { directory: join(folder, 'files') },
})

const startsInOrder = async (driver: StorageDriver, folder: string): Promise<void> => {
  const allot = await createAllot({ driver, ...keptIn(folder) })
  const { faults, named } = await allot.verify()
  assert.equal(faults, 0, named.join('\n'))
  const found = await driver.read(async (tx) => {
    const ids: { id: number }[] = []
    for await (const { id } of repositories.all(tx)) ids.push({ id })
    return ids
  })
  const contradictions: string[] = []
  await recountFolders({ ...keptIn(folder).repositories, repositories: found, contradictions })
  assert.deepEqual(contradictions, [])
  await allot.close()
}

describe('When calls of a transaction fail or are held up', () => {
  it('a write is answered 500, 503 or 507 and done wholly or not at all, and counters, lists and search agree', async () => {
    const met = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(fc.nat(), (seed) => suffer(seed, met)),
      { numRuns: 2, endOnFailure: true, includeErrorInReport: true },
    )
    for (const call of ['begin', 'get', 'commit', 'answer'])
      assert.ok((met.get(call) ?? 0) > 0, `${call} failed`)
  })
})
