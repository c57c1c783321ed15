import assert from 'node:assert/strict'
import { after, before, describe, mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { endAll, setLoading } from './cleanup.ts'
import { kill, processesOf, RUN_FOLDER } from './leftovers.ts'
import { isLong } from './long.ts'
import { lacksForFile } from './requirements.mjs'
import { seed } from './seed.ts'
import { endTracking } from './untracked.mjs'

fc.configureGlobal({ seed })

// For an assertion without a message, Node 20 parses the TypeScript of the spec as JavaScript, line by line:
// in a large file this blocks the process for a minute.
const { ok } = assert
Object.assign(assert, { ok: (value: unknown, message = 'the value is not true') => ok(value, message) })

/**
 * How long the tests of a file may take, together: four times what the slowest takes on two quiet cores. The
 * long suite repeats, and runs beside the coverage.
 */
const FILE_MS = isLong ? 600_000 : 120_000

/** Says what a file waits for, shortly before it is ended. */
const watch = (file: string): NodeJS.Timeout =>
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ')
    console.error(`${file} has not ended in ${FILE_MS / 1000} s. Open in its process: ${open}`)
  }, FILE_MS - 500).unref()

/**
 * Runs spec files in this process, each as a suite of its own: its hooks apply to its tests alone, and
 * afterwards everything that it started has ended, and environment and clock are as before.
 * @param files their URLs by their paths
 */
export const runFiles = async (files: Readonly<Record<string, string>>): Promise<void> => {
  const loads: Promise<unknown>[] = []
  let begin = () => {}
  const loaded = new Promise<void>((resolve) => {
    begin = resolve
  })
  setLoading(true)
  for (const [file, url] of Object.entries(files)) specFile(file, url, { loads, loaded })
  await Promise.allSettled(loads)
  setLoading(false)
  setImmediate(() => {
    endTracking()
    begin()
  })
}

/**
 * @param loads takes the promise of the module
 * @param loaded resolves when the modules of all files are loaded
 */
const specFile = (
  file: string,
  url: string,
  { loads, loaded }: { loads: Promise<unknown>[]; loaded: Promise<void> },
): Promise<void> => {
  const skip = lacksForFile(file)
  if (skip !== false) return describe(file, { skip })
  return describe(file, { timeout: FILE_MS }, async () => {
    let environment: NodeJS.ProcessEnv
    let timer: NodeJS.Timeout
    const load = import(url)
    loads.push(load)
    before(async () => {
      await loaded
      environment = { ...process.env }
      // Inherited by all processes that the file starts: spec/run.ts names those that it leaves behind.
      process.env.ALLOT_SPEC_FILE = file
      timer = watch(file)
    })
    await load
    after(async () => {
      clearTimeout(timer)
      mock.reset()
      for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
      Object.assign(process.env, environment)
      await endAll()
      await assertNothingLeft(file)
    })
  })
}

/** How long a process may take to end after its signal. */
const ENDING_MS = 10_000

/** @throws Error with the processes that a file has left behind, which are killed */
const assertNothingLeft = async (file: string): Promise<void> => {
  const folder = process.env[RUN_FOLDER]
  if (folder === undefined) return
  const left = () => processesOf(folder, file)
  for (let waited = 0; waited < ENDING_MS && left().length > 0; waited += 50) await sleep(50)
  const commands = kill(left()).map(({ command }) => command)
  if (commands.length > 0) throw new Error(`left behind and killed: ${commands.join('; ')}`)
}
