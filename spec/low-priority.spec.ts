import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { getPriority } from 'node:os'
import { describe, it } from 'node:test'
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
