import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

/**
 * Runs every spec, or those whose path holds a word of the command line. Node 20's own `--test` takes a folder without
 * a test for success, so the tests are counted here: none is a failure.
 */
const words = process.argv.slice(2)
const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.spec.ts') && words.every((word) => file.includes(word)))
  .map((file) => join(import.meta.dirname, file))
  .sort()

let [passed, failed, skipped] = [0, 0, 0]
const stream = run({ files, concurrency: Math.max(2, availableParallelism()), timeout: 10 * 60_000 })
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
  if (passed + failed === 0) {
    process.stdout.write(`no test ran: ${files.length} spec files\n`)
    process.exitCode = 1
  }
  process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`)
})
