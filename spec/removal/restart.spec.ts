import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { level } from '../../drivers/level/index.ts'
import { jobs } from '../../lib/records/schema/index.ts'
import { verify } from '../../lib/verify.ts'
import { temporaryFolder } from '../drivers/temporary-folder.ts'
import { output, spawnChild } from '../support/child.ts'
import { isLong } from '../support/long.ts'
import { compare } from './compare.ts'
import { finishJobs, openFixture, type RemovalFixture } from './fixture.ts'
import { emptyModel, forgetAccount, forgetRepository, type Model } from './model.ts'
import { makeAccount, play } from './play.ts'

const BOUNDS = { maxPerTransaction: 5, batchSize: 1 }
const SWEEPING = fileURLToPath(new URL('./job-process.ts', import.meta.url))

/** Three repositories with so many entries each, one of which everybody has starred. */
const fill = async (fixture: RemovalFixture, model: Model, many: number): Promise<number[]> => {
  for (const name of ['ann', 'ben', 'cat', 'guild']) await makeAccount(fixture, model, name)
  for (const owner of ['ann', 'guild', 'cat'] as const)
    await play(fixture, model, { do: 'create', owner, name: 'r1', private: false })
  const ids = [...model.repositories.keys()]
  for (const [at, id] of ids.entries()) {
    for (const relation of ['stars', 'watches'] as const)
      await play(fixture, model, { do: 'relate', which: at, relation, set: true })
    const { owner, name } = model.repositories.get(id)!
    const entries = Array.from({ length: many }, (_, n) => ({ key: `${at} ${n}`, size: n % 4 }))
    await fixture.hosting.ledger.batch(
      entries.map(({ key, size }) => {
        model.entries.set(`artifacts ${key}`, { kind: 'artifacts', key, size, on: undefined, place: id })
        const entry = { kind: 'artifacts' as const, key, name: key, size, run: 1 }
        return { op: 'put' as const, ...entry, repository: `${owner}/${name}` }
      }),
    )
  }
  return ids
}

const killedWhileSweeping = async (folder: string, told: object): Promise<void> => {
  const args = ['--import', import.meta.resolve('tsx'), SWEEPING, folder, JSON.stringify(told)]
  const child = spawnChild(process.execPath, args)
  const { stderr } = await output(child)
  assert.equal(child.signalCode, 'SIGKILL', stderr)
}

const pendingJobs = ({ store }: RemovalFixture): Promise<number> =>
  store.read(async (tx) => {
    let count = 0
    for await (const _ of jobs.all(tx)) count++
    return count
  })

describe('A process that is killed while it runs jobs', () => {
  for (const writes of isLong ? [0, 30] : [30])
    it(`leaves jobs that the next process finishes: killed ${writes} writes after the last response`, async () => {
      const { folder, remove } = await temporaryFolder()
      try {
        const model = emptyModel()
        const before = await openFixture(level(folder), BOUNDS)
        const [deleted, moved] = await fill(before, model, 150)
        await before.close()

        const [to, purged] = ['ben', 'cat'].map((name) => model.accounts.get(name)!.id)
        await killedWhileSweeping(folder, { bounds: BOUNDS, deleted, moved, to, purged, writes })
        model.repositories.get(moved!)!.owner = 'ben'
        forgetRepository(model, deleted!)
        forgetAccount(model, 'cat')

        const fixture = await openFixture(level(folder), BOUNDS)
        assert.ok((await pendingJobs(fixture)) > 0, 'it was killed before the end')
        for (const turn of [0, 1, 2, 3]) await compare(fixture, model, turn)
        assert.deepEqual((await verify(fixture.store.driver)).messages, [])
        await fixture.close()

        const last = await openFixture(level(folder), { maxPerTransaction: 500, batchSize: 50 })
        await finishJobs(last)
        assert.equal(await pendingJobs(last), 0)
        for (const turn of [0, 1, 2, 3]) await compare(last, model, turn)
        assert.deepEqual((await verify(last.store.driver)).messages, [])
        await last.close()
      } finally {
        await remove()
      }
    })
})
