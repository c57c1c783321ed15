import { after, before, describe, mock } from 'node:test'
import fc from 'fast-check'
import { endAll } from './cleanup.ts'
import { isLong } from './long.ts'
import { seed } from './seed.ts'

fc.configureGlobal({ seed })

/** How long the tests of a file may take, together. The long suite repeats, and runs beside the coverage. */
const FILE_MS = isLong ? 600_000 : 120_000

/** Says what a file waits for, shortly before it is ended. */
const watch = (file: string): NodeJS.Timeout =>
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ')
    console.error(`${file} has not ended in ${FILE_MS / 1000} s. Open in its process: ${open}`)
  }, FILE_MS - 500).unref()

/**
 * A spec file as a suite of its own in a process that runs several: its hooks apply to its tests alone, and
 * afterwards everything that it started has ended, and environment and clock are as before.
 */
export const specFile = (file: string, load: () => Promise<unknown>): Promise<void> =>
  describe(file, { timeout: FILE_MS }, async () => {
    let environment: NodeJS.ProcessEnv
    let timer: NodeJS.Timeout
    before(() => {
      environment = { ...process.env }
      // Inherited by all processes that the file starts: spec/run.ts names those that it leaves behind.
      process.env.ALLOT_SPEC_FILE = file
      timer = watch(file)
    })
    await load()
    after(async () => {
      clearTimeout(timer)
      mock.reset()
      mock.timers.reset()
      for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
      Object.assign(process.env, environment)
      await endAll()
    })
  })
