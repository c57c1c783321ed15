import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { lowerOwnPriority, lowerPriorityOf, WorkerPool } from '../lib/workers.ts'
import { waitFor } from './support/wait-for.ts'

describe('A low priority', { skip: process.platform !== 'linux' }, () => {
  it('is that of a worker thread alone, and not of the thread that answers requests', async () => {
    const before = getPriority()
    const file = JSON.stringify(new URL('../lib/workers.ts', import.meta.url).href)
    const worker = new Worker(
      `import(${JSON.stringify(import.meta.resolve('tsx/esm/api'))})
        .then(({ register }) => { register(); return import(${file}) })
        .then(({ lowerOwnPriority }) => {
          lowerOwnPriority()
          const { readlinkSync } = require('node:fs')
          const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
          require('node:worker_threads').parentPort.postMessage(require('node:os').getPriority(thread))
        })`,
      { eval: true },
    )
    assert.deepEqual(await once(worker, 'message'), [Math.max(before, 10)])
    lowerOwnPriority()
    assert.equal(getPriority(), before)
    await worker.terminate()
  })

  it('is that of a process, and not being able to lower it is fine', async () => {
    const child = spawn('sleep', ['60'])
    lowerPriorityOf(child.pid!)
    assert.equal(getPriority(child.pid!), Math.max(getPriority(), 10))
    child.kill()
    await once(child, 'exit')
    lowerPriorityOf(child.pid!)
  })
})

describe('A worker of the package', () => {
  // Node refuses to start a worker with either option.
  for (const option of ['--max-old-space-size=300', '--input-type=module'])
    it(`starts in a process with the option ${option}`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'allot-worker-'))
      const worker = join(folder, 'worker.js')
      await writeFile(worker, "require('node:worker_threads').parentPort.postMessage('started')")
      const script = `import(${JSON.stringify(new URL('../lib/workers.ts', import.meta.url).href)})
        .then(({ startWorker }) => startWorker({ file: new URL('${pathToFileURL(worker)}'), maxMemoryMb: 16 }))
        .then((worker) => worker.on('message', console.log))`
      const words = [option, '--import', 'tsx', '--eval', script]
      const { stdout } = await promisify(execFile)(process.execPath, words, { timeout: 120_000 })
      assert.equal(stdout, 'started\n')
      await rm(folder, { recursive: true })
    })
})

describe('A pool of worker threads', () => {
  const DEADLINE_MS = 3000
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'allot-worker-'))
    const workers = JSON.stringify(new URL('../lib/workers.ts', import.meta.url).href)
    await writeFile(
      join(folder, 'worker.mts'),
      `import { setTimeout } from 'node:timers/promises'
      import { threadId } from 'node:worker_threads'
      import { importForTask, serveTasks } from ${workers}
      serveTasks(async ({ loadMs = 0, workMs = 0 }) => {
        await setTimeout(workMs)
        if (loadMs > 0) await importForTask(() => setTimeout(loadMs))
        await setTimeout(workMs)
        return threadId
      })`,
    )
  })
  after(() => rm(folder, { recursive: true }))

  /**
   * Milliseconds that a task takes to import a module, and that it works before the import and again after
   * it.
   */
  interface Times {
    loadMs?: number
    workMs?: number
  }

  /** Tasks return the id of their thread. */
  const poolOf = (options: { maxIdleMs?: number }) =>
    new WorkerPool<Times, number>({
      ...{ file: pathToFileURL(join(folder, 'worker.mts')), deadlineMs: DEADLINE_MS, maxMemoryMb: 64 },
      ...{ messages: { tooSlow: 'too slow', outOfMemory: 'too large' } },
      ...{ budget: { slots: 1, queue: 1, message: 'too many' }, ...options },
    })

  it('keeps a thread for the next task, and ends it when none comes', async () => {
    const [patient, impatient] = [poolOf({}), poolOf({ maxIdleMs: 1 })]
    const run = (pool: typeof patient) => pool.run('client', () => ({}))
    assert.equal(await run(patient), await run(patient))
    const first = await run(impatient)
    let next = first
    await waitFor(async () => {
      next = await run(impatient)
      return next !== first
    })
    assert.notEqual(next, first)
    await Promise.all([patient.close(), impatient.close()])
  })

  it('does not count the time in which a task imports a module against its deadline', async () => {
    const pool = poolOf({})
    assert.equal(typeof (await pool.run('client', () => ({ loadMs: DEADLINE_MS + 200 }))), 'number')
    await pool.close()
  })

  it('counts the time before and after the import together', async () => {
    const pool = poolOf({})
    const times = { loadMs: 1, workMs: DEADLINE_MS * 0.6 }
    await assert.rejects(
      pool.run('client', () => times),
      { code: 'invalid', message: 'too slow' },
    )
    await pool.close()
  })
})
