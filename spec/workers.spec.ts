import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { lowerOwnPriority, lowerPriorityOf } from '../lib/workers.ts'

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
