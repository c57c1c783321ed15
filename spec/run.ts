import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { routes } from '../lib/api/index.ts'
import { startCluster } from './postgres/cluster.ts'
import { buildProgram } from './support/build.ts'
import { groupsOf, specFiles } from './support/groups.ts'
import { COVERAGE_FOLDER, uncoveredStatuses } from './support/status-coverage.ts'
import { onPostgres } from './support/store.ts'

/**
 * Runs every spec, or those whose path contains every argument; `a,b` matches either. Node 20's own `--test`
 * takes a folder without a test for success, so the tests are counted here: none is a failure. When all are
 * run, each status that a route declares must have been answered in one of them.
 */
const words = process.argv.slice(2)
const files = specFiles(import.meta.dirname, words)
const folder = mkdtempSync(join(tmpdir(), 'allot-produced-'))
process.env[COVERAGE_FOLDER] = folder

// The built program starts in a third of the time that its source takes.
process.env.ALLOT_PROGRAM ??= buildProgram()

// One database for all of them, where all of them use one.
const cluster = onPostgres ? await startCluster() : undefined
if (cluster !== undefined) process.env.ALLOT_SPEC_POSTGRES = cluster.url

let [passed, failed, skipped] = [0, 0, 0]
// The last folders have the longest files: they begin first, so that no core is idle at the end.
const groups = groupsOf(import.meta.dirname, files.reverse(), folder)
// Against a test that hangs.
const timeout = 40 * 60_000
// One more than there are cores, since many specs wait for a while.
const stream = run({ files: groups, concurrency: availableParallelism() + 1, timeout })
stream.on('test:pass', ({ skip, details }) => {
  if (details.type === 'suite') return
  if (skip === undefined) passed++
  else skipped++
})
stream.on('test:fail', ({ details }) => {
  if (details.type !== 'suite') failed++
  process.exitCode = 1
})
const report = stream.compose(new spec())
report.pipe(process.stdout)
report.on('end', () => {
  void cluster?.dispose()
  if (passed + failed === 0) {
    process.stdout.write(`no test ran: ${files.length} spec files\n`)
    process.exitCode = 1
  }
  const missing = words.length === 0 ? uncoveredStatuses(routes, folder) : []
  rmSync(folder, { recursive: true })
  if (missing.length > 0) {
    process.stdout.write(
      `\ndeclared, and answered in no spec:\n${missing.map((line) => `  ${line}\n`).join('')}`,
    )
    process.exitCode = 1
  }
  process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`)
})
