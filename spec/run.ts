import { mkdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { routes } from '../lib/api/index.ts'
import { missing, startCluster } from './postgres/cluster.ts'
import { buildProgram } from './support/build.ts'
import { runGroups } from './support/group-runs.ts'
import { groupsOf, specFiles } from './support/groups.ts'
import { createRunFolder, kill, processesOf, RUN_FOLDER } from './support/leftovers.ts'
import { isLong } from './support/long.ts'
import { seed } from './support/seed.ts'
import { COVERAGE_FOLDER, uncoveredStatuses } from './support/status-coverage.ts'
import { onPostgres } from './support/store.ts'
import { Totals } from './support/totals.ts'

/**
 * Runs every spec, or those whose path contains every argument; `a,b` matches either, and `--title TEXT` runs
 * the tests whose title contains a text. Node 20's own `--test` takes a folder without a test for success, so
 * the tests are counted here: none is a failure. When all are run and none is skipped, each status that a
 * route declares must have been answered in one of them.
 */
const words = process.argv.slice(2)
const titleAt = words.indexOf('--title')
const [, title] = titleAt < 0 ? [] : words.splice(titleAt, 2)
const files = specFiles(import.meta.dirname, words)
const isWhole = words.length === 0 && title === undefined

/** A run that takes longer has a part that does not end. */
const RUN_MINUTES = isLong || onPostgres ? 30 : 20
/** A process that blocks runs no timer of its own. */
const GROUP_MINUTES = RUN_MINUTES / 2

const folder = createRunFolder()
const answered = join(folder, 'answered')
const home = join(folder, 'home')
mkdirSync(answered)
mkdirSync(join(home, 'gnupg'), { recursive: true, mode: 0o700 })

// The built program starts in a third of the time that its source takes.
const program = process.env.ALLOT_SPEC_PROGRAM ?? buildProgram()

Object.assign(process.env, {
  ...{
    ALLOT_SPEC_PROGRAM: program,
    ALLOT_SPEC_SEED: `${seed}`,
    [COVERAGE_FOLDER]: answered,
    [RUN_FOLDER]: folder,
    // For caches of compilers.
    ALLOT_SPEC_HOME: process.env.HOME,
  },
  // The same on each machine: texts of programs, times, settings of git, npm and gpg.
  ...{ LC_ALL: 'C', TZ: 'UTC', HOME: home, GNUPGHOME: join(home, 'gnupg'), TMPDIR: folder },
})

/** Ends everything and this process, whatever still runs. */
const end = (code: number): never => {
  for (const { command, file, pid } of kill(processesOf(folder))) {
    process.stdout.write(`\n${file} left process ${pid} behind: ${command}\n`)
    code = 1
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  process.exit(code)
}

const totals = new Totals()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => end(1))
setTimeout(() => {
  process.stdout.write(`\nThe run has not ended in ${RUN_MINUTES} minutes.\n`)
  end(1)
}, RUN_MINUTES * 60_000)

process.stdout.write(`seed ${seed}\n`)
// One database for all specs that need an empty one.
const cluster = onPostgres || (isLong && missing === false) ? await startCluster() : undefined
if (cluster !== undefined) process.env.ALLOT_SPEC_POSTGRES = cluster.url

// The last folders have the longest files: they begin first, so that no core is idle at the end.
await runGroups(groupsOf(import.meta.dirname, files.reverse(), folder), {
  // Two more than there are cores, since many specs wait for a while.
  concurrency: availableParallelism() + 2,
  timeoutMs: GROUP_MINUTES * 60_000,
  title,
  onEnd({ text, events, code }) {
    process.stdout.write(text)
    totals.count(events, code)
  },
})
await cluster?.dispose()
const unanswered = isWhole && !totals.hasSkipped ? uncoveredStatuses(routes, answered) : []
const { text, isPassed } = totals.summary(title === undefined ? files : [], unanswered)
process.stdout.write(text)
end(isPassed ? 0 : 1)
