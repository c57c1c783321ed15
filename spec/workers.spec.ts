import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { buildSync } from 'esbuild'
import { lowerOwnPriority, lowerPriorityOf, reportPriority } from '../lib/priority.ts'
import { WorkerPool } from '../lib/workers.ts'
import { run, spawnChild } from './support/child.ts'
import { atEnd } from './support/cleanup.ts'
import { temporaryDirectory } from './support/folder.ts'
import { waitFor } from './support/wait-for.ts'

/** Holds the compiled module under test, since a thread that compiles TypeScript starts for a second. */
const folder = temporaryDirectory()
writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
/** @returns the URL of a module of `lib` that is compiled, in quotes */
const compile = (name: string): string => {
  const compiled = join(folder, `${name}.js`)
  buildSync({
    ...{ entryPoints: [fileURLToPath(new URL(`../lib/${name}.ts`, import.meta.url))], outfile: compiled },
    ...{ bundle: true, packages: 'external', platform: 'node', format: 'esm' },
  })
  return JSON.stringify(pathToFileURL(compiled).href)
}
const module = compile('workers')

describe('A low priority', { skip: process.platform !== 'linux' }, () => {
  it('is that of a worker thread alone, and not of the thread that answers requests', async () => {
    const before = getPriority()
    const worker = new Worker(
      `import(${compile('priority')})
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
    const child = spawnChild('sleep', ['60'])
    lowerPriorityOf(child.pid!)
    assert.equal(getPriority(child.pid!), Math.max(getPriority(), 10))
    child.kill()
    await once(child, 'exit')
    lowerPriorityOf(child.pid!)
  })
})

describe('A system that does not permit to lower a priority', () => {
  const logged = (): string[] => {
    const lines: string[] = []
    reportPriority({ error: (_fields, text) => void lines.push(text) })
    return lines
  }

  it('is logged when a server starts, and one that permits it is not', (t) => {
    assert.deepEqual(logged(), [])
    const refusal = Object.assign(new Error('setpriority: operation not permitted'), { code: 'EPERM' })
    const { mock } = t.mock.method(createRequire(import.meta.url)('node:os'), 'setPriority', () => {
      throw refusal
    })
    t.after(() => {
      mock.restore()
      syncBuiltinESMExports()
    })
    syncBuiltinESMExports()
    assert.match(logged().join(), /^git and the worker threads run at the priority of the server, /)
  })
})

describe('A worker of the package', () => {
  // Node refuses to start a worker with either option.
  for (const option of ['--max-old-space-size=300', '--input-type=module'])
    it(`starts in a process with the option ${option}`, async () => {
      const plain = join(folder, 'plain')
      mkdirSync(plain, { recursive: true })
      writeFileSync(join(plain, 'package.json'), '{"type":"commonjs"}')
      const worker = join(plain, 'worker.js')
      writeFileSync(worker, "require('node:worker_threads').parentPort.postMessage('started')")
      const script = `import(${module})
        .then(({ startWorker }) => startWorker({ file: new URL('${pathToFileURL(worker)}'), maxMemoryMb: 16 }))
        .then((worker) => worker.on('message', console.log))`
      const { stdout } = await run(process.execPath, [option, '--eval', script])
      assert.equal(stdout, 'started\n')
    })
})

/** Parts of a task, in order. */
const [BEFORE, IMPORTING, AFTER] = [1, 2, 3]

/** The part that a task is in, and the last one that it may end. */
type Gate = Int32Array<SharedArrayBuffer>

/** A task that waits before the import of a module, in it, and after it. */
const gatedTask = () => {
  const gate: Gate = new Int32Array(new SharedArrayBuffer(8))
  return {
    gate,
    isIn: (part: number) => Atomics.load(gate, 0) === part,
    endPart(part: number) {
      Atomics.store(gate, 1, part)
      Atomics.notify(gate, 1)
    },
  }
}

writeFileSync(
  join(folder, 'worker.js'),
  `import { threadId } from 'node:worker_threads'
  import { importForTask, serveTasks } from ${module}
  serveTasks(async ({ gate }) => {
    if (gate === undefined) return threadId
    const pass = (part) => {
      Atomics.store(gate, 0, part)
      for (let last; (last = Atomics.load(gate, 1)) < part; ) Atomics.wait(gate, 1, last)
    }
    pass(${BEFORE})
    await importForTask(async () => pass(${IMPORTING}))
    pass(${AFTER})
    return threadId
  })`,
)

/** The timers of this process that run, without the passing of time. */
const observedTimers = (t: TestContext) => {
  const timers = new Map<object, { ms: number; end: () => void }>()
  // Keeps the process alive in their place.
  const alive = setInterval(() => undefined, 60_000)
  t.after(() => clearInterval(alive))
  t.mock.method(globalThis, 'setTimeout', (end: () => void, ms: number) => {
    const timer = { unref: () => timer }
    timers.set(timer, { ms, end })
    return timer
  })
  t.mock.method(globalThis, 'clearTimeout', (timer: object) => timers.delete(timer))
  return {
    within: (limitMs: number) => [...timers.values()].find(({ ms }) => ms <= limitMs),
  }
}

describe('A pool of worker threads', () => {
  const DEADLINE_MS = 3000

  /** Tasks return the id of their thread. */
  const poolOf = () => {
    const pool = new WorkerPool<{ gate?: Gate }, number>({
      ...{ file: pathToFileURL(join(folder, 'worker.js')), deadlineMs: DEADLINE_MS, maxMemoryMb: 64 },
      ...{ messages: { tooSlow: 'too slow', outOfMemory: 'too large' } },
      ...{ budget: { slots: 1, queue: 1, message: 'too many' } },
    })
    atEnd(() => pool.close())
    return pool
  }

  it('keeps a thread for the next task, and ends it when none comes for five minutes', async (t) => {
    const timers = observedTimers(t)
    const pool = poolOf()
    const run = () => pool.run('client', () => ({}))
    const first = await run()
    assert.equal(await run(), first)
    const idle = timers.within(5 * 60_000)!
    assert.equal(idle.ms, 5 * 60_000)
    idle.end()
    assert.notEqual(await run(), first)
  })

  it('does not count the time in which a task imports a module against its deadline', async (t) => {
    const timers = observedTimers(t)
    const task = gatedTask()
    const result = poolOf().run('client', () => ({ gate: task.gate }))
    await waitFor(() => task.isIn(BEFORE))
    assert.equal(timers.within(DEADLINE_MS)?.ms, DEADLINE_MS)
    task.endPart(BEFORE)
    await waitFor(() => task.isIn(IMPORTING) && timers.within(DEADLINE_MS) === undefined)
    task.endPart(AFTER)
    assert.equal(typeof (await result), 'number')
  })

  it('counts the time before and after the import together', async (t) => {
    const timers = observedTimers(t)
    let passedMs = 0
    const { now } = performance
    t.mock.method(performance, 'now', () => now.call(performance) + passedMs)
    const task = gatedTask()
    const result = poolOf().run('client', () => ({ gate: task.gate }))
    const refused = assert.rejects(result, { code: 'invalid', message: 'too slow' })
    await waitFor(() => task.isIn(BEFORE))
    passedMs = DEADLINE_MS * 0.6
    task.endPart(IMPORTING)
    await waitFor(() => task.isIn(AFTER) && timers.within(DEADLINE_MS * 0.4) !== undefined)
    timers.within(DEADLINE_MS * 0.4)!.end()
    await refused
  })
})
